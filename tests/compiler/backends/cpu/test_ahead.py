"""Programs as object files: linked by a C compiler and run on files, they compute what the reference does."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler import inputs
from compiler.backends.cpu.machines import MACHINES, target_for
from compiler.codegen import llvm
from compiler.diagnostics import InputError
from xlabench.judging.differ import Agreement, compare

SUITE = Path(__file__).parents[4] / "suites" / "smoke"
LESS = "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }"
PROGRAMS = {
    "softmax": (SUITE / "softmax_1k.sim.hlo").read_text(),
    "step": (SUITE / "mnist_softmax_step.sim.hlo").read_text(),
    "f64": (SUITE / "haversine_f64.sim.hlo").read_text(),
    "matmul": (SUITE / "matmul_64.hlo").read_text(),
    "halves": """ENTRY e { x = f16[50] parameter(0) y = bf16[50] parameter(1)
      a = f16[50] tanh(x) b = f32[50] convert(a) c = bf16[50] exponential(y) d = f32[50] convert(c)
      s = f32[50] add(b, d) ROOT r = bf16[50] convert(s) }""",
    "integers": """ENTRY e { x = s8[8,8] parameter(0) y = u64[30] parameter(1)
      d = s32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} k = u64[] constant(7)
      b = u64[30] broadcast(k), dimensions={} q = u64[30] remainder(y, b) ROOT t = (s32[8,8], u64[30]) tuple(d, q) }""",
    "sort": f"""{LESS} ENTRY e {{ x = f32[300] parameter(0) ROOT s = f32[300] sort(x), dimensions={{0}},
      to_apply=less }}""",
    "nothing": "ENTRY e { ROOT c = f32[0] constant({}) }",
    "no parameters": """ENTRY e { c = f32[] constant(3) d = s8[2] iota(), iota_dimension=0
      ROOT t = (f32[], s8[2]) tuple(c, d) }""",
    "no arrays": "ENTRY e { ROOT t = () tuple() }",
    "sizes": "ENTRY e { x = f32[<=6] parameter(0) ROOT y = f32[<=6] negate(x) }",
}
COMPILERS = {"x86_64": ("gcc", ()), "aarch64": ("aarch64-linux-gnu-gcc", ("qemu-aarch64",))}
CPUS = [("x86_64", ""), ("x86_64", "x86-64-v3"), ("aarch64", ""), ("aarch64", "neoverse-v1")]


def linked(folder: Path, machine: str, files: dict[str, bytes], symbol: str = "model") -> list[str]:
    """The command that runs what was compiled; skips the test where this machine cannot."""
    cc, runner = COMPILERS[machine]
    missing = [tool for tool in (cc, *runner) if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    strict = ["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c99", "-static"]
    subprocess.run([cc, *strict, "-o", "model", "main.c", f"{symbol}.o", "-lm"], cwd=folder, check=True)
    return [*runner, str(folder / "model")]


def runs_here(cpu: str) -> bool:
    return target_for("x86_64", cpu).present <= llvm.Target.host().present


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "cpu"), CPUS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_linked_program_computes_what_the_reference_does(tmp_path: Path, name: str, machine: str, cpu: str) -> None:
    if machine == "x86_64" and not runs_here(cpu):
        pytest.skip(f"this machine is no {cpu}")
    module = compiler.parse(PROGRAMS[name])
    command = linked(tmp_path, machine, dict(compiler.compile_ahead(module, machine, cpu, name="model")))
    given = inputs.draw(module, 3)
    expected = compiler.interpret(module, *given)
    if name == "sizes":
        given, expected = [*given, np.int32(6)], [*expected, np.int32(6)]
    reads, writes = [f"p{k}" for k in range(len(given))], [f"r{k}" for k in range(len(expected))]
    for path, array in zip(reads, given, strict=True):
        (tmp_path / path).write_bytes(np.asarray(array).tobytes())
    subprocess.run([*command, *reads, *writes], cwd=tmp_path, check=True)
    wanted = [np.asarray(array) for array in expected]
    got = [
        np.frombuffer((tmp_path / path).read_bytes(), array.dtype).reshape(array.shape)
        for path, array in zip(writes, wanted, strict=True)
    ]
    assert compare(wanted, got).agreement in (Agreement.BITWISE, Agreement.WITHIN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("main", "main_"),
        ("double", "double_"),
        ("exp", "exp_"),
        ("room", "room_"),
        ("program", "program"),
        ("e_r", "e_r"),
        ("a*/b", "a__b"),
    ],
)
def test_a_module_may_have_any_name(tmp_path: Path, name: str, symbol: str) -> None:
    text = """ENTRY e { x = s32[8,8] parameter(0)
      ROOT r = s32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
    command = linked(tmp_path, "x86_64", dict(compiler.compile_ahead(text, name=name)), symbol)
    given = np.arange(64, dtype=np.int32).reshape(8, 8)
    (tmp_path / "p").write_bytes(given.tobytes())
    subprocess.run([*command, "p", "r"], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "r", np.int32).reshape(8, 8), given @ given)


@pytest.mark.slow
def test_main_says_what_is_wrong_with_its_files(tmp_path: Path) -> None:
    command = linked(tmp_path, "x86_64", dict(compiler.compile_ahead(PROGRAMS["sort"], name="model")))
    (tmp_path / "short").write_bytes(b"1234")
    for arguments, message in (
        (["short", "r"], "short: not a file of 1200 bytes"),
        (["short"], "1 files to read, 1 to write"),
    ):
        result = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (result.returncode, message in result.stderr) == (2, True)


@pytest.mark.slow
def test_an_object_needs_nothing_but_libc_and_libm(tmp_path: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    (tmp_path / "model.o").write_bytes(compiler.compile_ahead(PROGRAMS["step"], "x86_64", "x86-64-v3", name="m")["m.o"])
    lines = subprocess.run(["nm", "model.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-2:] for line in lines.splitlines()]
    assert {name for kind, name in symbols if kind == "U"} <= {"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"}
    assert [name for kind, name in symbols if kind == "T"] == ["m"]


@pytest.mark.slow
def test_the_facts_are_those_of_the_program() -> None:
    files = compiler.compile_ahead(PROGRAMS["halves"], name="2 halves")
    assert set(files) == {"_2_halves.o", "_2_halves.h", "main.c", "_2_halves.json"}
    facts = json.loads(files["_2_halves.json"])
    assert facts["parameters"] == [{"shape": "f16[50]", "bytes": 100}, {"shape": "bf16[50]", "bytes": 100}]
    assert facts["results"] == [{"shape": "bf16[50]", "bytes": 100}]


def test_the_facts_say_which_number_is_the_size_of_what() -> None:
    files = compiler.compile_ahead(
        "ENTRY e { k = token[] parameter(0)  s = f32[3] parameter(1)  x = f32[<=6,2,<=4] parameter(2)"
        "  y = f32[<=6,2,<=4] negate(x)  ROOT t = (f32[3], token[], f32[<=6,2,<=4]) tuple(s, k, y) }",
        name="model",
    )
    facts, header = json.loads(files["model.json"]), files["model.h"].decode()
    for kind in ("parameters", "results"):
        assert [array["shape"] for array in facts[kind]] == ["f32[3]", "f32[6,2,4]", "s32[]", "s32[]"]
        sizes = [array.get("size_of") for array in facts[kind]]
        assert sizes == [None, None, {"array": 1, "dimension": 0}, {"array": 1, "dimension": 2}]
        assert f"{kind}[3]: s32[], 4 bytes, how much of dimension 2 of {kind}[1] counts" in header


def test_unknown_machines_are_refused() -> None:
    with pytest.raises(InputError, match="targets are: x86_64, aarch64"):
        compiler.compile_ahead(PROGRAMS["sort"], "riscv64")
    with pytest.raises(InputError, match="known are: generic, "):
        compiler.compile_ahead(PROGRAMS["sort"], "aarch64", "znver4")


@pytest.mark.parametrize(("machine", "cpu"), [(machine, cpu) for machine, known in MACHINES.items() for cpu in known])
def test_every_cpu_is_known_to_llvm_with_its_features(machine: str, cpu: str) -> None:
    files = compiler.compile_ahead(PROGRAMS["sizes"], machine, cpu, name="model")
    assert files["model.o"].startswith(b"\x7fELF")
