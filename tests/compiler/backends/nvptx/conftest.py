"""Kernels of one instruction: every lane loads operands, executes it and stores what comes out."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import LaunchOptions, Machine, parse_ptx

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
STORE = "st.global.u32 [%a], %x;"
STORAGE = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def bits_of(type_: str) -> int:
    return 32 if type_.endswith("x2") or type_ == "pred" else int("".join(c for c in type_ if c.isdigit()))


def instruction_kernel(text: str, inputs: Sequence[str], outputs: Sequence[str], name: str = "k") -> str:
    """A kernel that loads `%a`, `%b`, ..., executes `text` and stores `%x`, `%y`, ...; `%p`, `%q` are predicates."""
    letters = "abcdef"[: len(inputs)]
    results = "xyzw"[: len(outputs)]
    widths = {16: "b16", 32: "b32", 64: "b64", 8: "b16"}
    lines = [f".visible .entry {name}("]
    lines.append(",\n".join(f".param .u64 {name}_{c}" for c in letters + results))
    lines += [")", "{", ".reg .b64 %at, %base;", ".reg .b32 %i, %t, %n;", ".reg .pred %p, %q, %r;"]
    for letter, type_ in (*zip(letters, inputs, strict=True), *zip(results, outputs, strict=True)):
        lines.append(f".reg .{widths[bits_of(type_)]} %{letter};")
    lines += ["mov.u32 %i, %ctaid.x;", "mov.u32 %n, %ntid.x;", "mov.u32 %t, %tid.x;"]
    lines += ["mad.lo.s32 %i, %i, %n, %t;"]
    for letter, type_ in zip(letters, inputs, strict=True):
        size = bits_of(type_) // 8
        lines += [f"ld.param.u64 %base, [{name}_{letter}];", f"mul.wide.u32 %at, %i, {size};"]
        lines += ["add.u64 %at, %at, %base;", f"ld.global.b{bits_of(type_)} %{letter}, [%at];"]
    lines.append(text)
    for letter, type_ in zip(results, outputs, strict=True):
        size = bits_of(type_) // 8
        lines += [f"ld.param.u64 %base, [{name}_{letter}];", f"mul.wide.u32 %at, %i, {size};"]
        lines += ["add.u64 %at, %at, %base;", f"st.global.b{bits_of(type_)} [%at], %{letter};"]
    lines += ["ret;", "}"]
    return "\n".join(lines) + "\n"


def run_instruction(
    text: str, inputs: Sequence[str], outputs: Sequence[str], operands: Sequence[np.ndarray], threads: int = 64
) -> list[np.ndarray]:
    """The results of an instruction on raw bit patterns; operands are padded to whole blocks."""
    count = operands[0].size
    blocks = -(-count // threads)
    machine = Machine()
    arguments = []
    for type_, operand in zip(inputs, operands, strict=True):
        padded = np.resize(operand.astype(STORAGE[bits_of(type_)]), blocks * threads)
        address = machine.allocate(padded.nbytes)
        machine.write(address, padded)
        arguments.append(address)
    sizes = [blocks * threads * bits_of(type_) // 8 for type_ in outputs]
    results = [machine.allocate(size) for size in sizes]
    module = parse_ptx(HEADER + instruction_kernel(text, inputs, outputs))
    machine.launch(module, "k", (blocks, 1, 1), (threads, 1, 1), [*arguments, *results])
    raw = [machine.read(address, size) for address, size in zip(results, sizes, strict=True)]
    return [np.frombuffer(r, STORAGE[bits_of(t)])[:count] for r, t in zip(raw, outputs, strict=True)]


def run_kernel(
    text: str,
    *arrays: np.ndarray | int,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    **options: object,
) -> list[np.ndarray]:
    """Launch kernel `k` with copies of arrays (NaN-free truth: what comes back) and plain integers as arguments."""
    machine = Machine()
    arguments: list[int] = []
    for array in arrays:
        if isinstance(array, np.ndarray):
            address = machine.allocate(array.nbytes)
            machine.write(address, array)
            arguments.append(address)
        else:
            arguments.append(array)
    shared = int(options.pop("shared_bytes", 0))  # type: ignore[call-overload]
    module = parse_ptx(text if ".version" in text else HEADER + text)
    launch_options = LaunchOptions(**options)  # type: ignore[arg-type]
    machine.launch(module, "k", grid, block, arguments, shared_bytes=shared, options=launch_options)
    return [
        np.frombuffer(machine.read(address, array.nbytes), array.dtype).reshape(array.shape)
        for address, array in zip(arguments, arrays, strict=True)
        if isinstance(array, np.ndarray)
    ]


def body_kernel(body: str, ending: str = STORE) -> str:
    """A kernel of some lines and what they end with.

    They find the address of the one array in `%o`, the number of their thread in `%t`, of all in `%i`, and the address
    of its own 32 bits in `%a`, where the usual ending stores `%x`.
    """
    return f"""
.visible .entry k(.param .u64 k_out)
{{
 .reg .b64 %o, %a, %b, %rd<8>;
 .reg .b32 %t, %i, %n, %x, %y, %z, %w, %r<8>;
 .reg .b16 %rs<8>;
 .reg .pred %p, %q;
 ld.param.u64 %o, [k_out];
 mov.u32 %t, %tid.x;
 mov.u32 %i, %ctaid.x;
 mov.u32 %n, %ntid.x;
 mad.lo.u32 %i, %i, %n, %t;
 mul.wide.u32 %a, %i, 4;
 add.u64 %a, %o, %a;
{body}
 {ending}
 ret;
}}
"""


def run_body(
    body: str,
    array: np.ndarray | None = None,
    *,
    threads: int = 64,
    block: int = 32,
    prelude: str = "",
    ending: str = STORE,
    **options: object,
) -> np.ndarray:
    """What is left in the array, 0 for each thread where none is given, when all threads have run the lines."""
    given = np.zeros(threads, np.uint32) if array is None else array
    text = prelude + body_kernel(body, ending)
    (left,) = run_kernel(text, given, grid=(threads // block, 1, 1), block=(block, 1, 1), **options)
    return left


@pytest.fixture(name="body_kernel")
def _body_kernel() -> Callable[..., str]:
    return body_kernel


@pytest.fixture(name="run_body")
def _run_body() -> Callable[..., np.ndarray]:
    return run_body


@pytest.fixture(name="run_instruction")
def _run_instruction() -> Callable[..., list[np.ndarray]]:
    return run_instruction


@pytest.fixture(name="run_kernel")
def _run_kernel() -> Callable[..., list[np.ndarray]]:
    return run_kernel


@pytest.fixture
def assemble(tmp_path: Path) -> Callable[..., str]:
    """What ptxas says about PTX: empty if all is well; skips where there is no ptxas."""
    if shutil.which("ptxas") is None:
        pytest.skip("no ptxas")

    def run(text: str, arch: str = "sm_90") -> str:
        source = tmp_path / "kernel.ptx"
        source.write_text(text)
        command = ["ptxas", f"-arch={arch}", str(source), "-o", str(tmp_path / "kernel.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    return run


@pytest.fixture
def one_kernel_each() -> Callable[[Sequence[tuple[str, Sequence[str], Sequence[str]]]], str]:
    """One module with a kernel for each instruction."""

    def build(cases: Sequence[tuple[str, Sequence[str], Sequence[str]]]) -> str:
        return HEADER + "\n".join(
            instruction_kernel(text, inputs, outputs, f"k{number}")
            for number, (text, inputs, outputs) in enumerate(cases)
        )

    return build


def round_exactly(value, precision: int, lowest: int, largest: float, mode: str) -> float:
    """The truth about rounding: a fraction to a binary format, by integer arithmetic alone."""
    if value == 0:
        return 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < (2**exponent if exponent >= 0 else type(magnitude)(1, 2**-exponent))
    place = max(exponent - precision + 1, lowest)
    unit = type(magnitude)(2) ** place
    steps, rest = divmod(magnitude, unit)
    goes_up = {
        "rn": rest * 2 > unit or (rest * 2 == unit and steps % 2 == 1),
        "rz": False,
        "rm": rest > 0 and value < 0,
        "rp": rest > 0 and value > 0,
    }[mode]
    result = (steps + goes_up) * unit
    if result > type(magnitude)(largest):
        overflows = mode == "rn" or mode == ("rp" if value > 0 else "rm")
        return math.copysign(math.inf if overflows else largest, 1 if value > 0 else -1)
    return math.copysign(float(result), 1 if value > 0 else -1)


@pytest.fixture(name="round_exactly")
def _round_exactly() -> Callable[..., float]:
    return round_exactly
