"""Long loops whose vectors the kernel writes: where it does, and that bits are those of LLVM's vectors."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.loop import written_vectors
from compiler.ir.types import TYPES
from tests.compiler.backends.cpu.kernels.forms import strategies

SIZE = 1 << 20
CHAINS = {
    "function": ("f32", ["a = {t} tanh(x)", "r = {t} multiply(a, y)"]),
    "clamped": ("f32", ["a = {t} multiply(x, y)", "b = {t} add(a, y)", "c = {t} maximum(b, x)", "r = {t} logistic(c)"]),
    "chosen": ("f32", ["p = pred[N] compare(x, y), direction=LT", "e = {t} exponential(x)", "r = {t} select(p, e, y)"]),
    "integers": ("u32", ["a = {t} multiply(x, y)", "b = {t} xor(a, x)", "c = {t} multiply(b, a)", "d = {t} add(c, b)",
                         "e = {t} multiply(d, a)", "f = {t} xor(e, d)", "r = {t} multiply(f, e)"]),
    "doubles": ("f64", ["a = {t} log(x)", "b = {t} multiply(a, y)", "r = {t} exponential(b)"]),
}  # fmt: skip


def program(chain: str, size: int = SIZE) -> str:
    type_, lines = CHAINS[chain]
    array = f"{type_}[{size}]"
    *others, last = [line.format(t=array).replace("[N]", f"[{size}]") for line in lines]
    text = "\n".join([f"x = {array} parameter(0)", f"y = {array} parameter(1)", *others, f"ROOT {last}"])
    return f"ENTRY e {{ {text} }}"


def inputs(chain: str, size: int = SIZE) -> list[np.ndarray]:
    dtype = TYPES[CHAINS[chain][0]].dtype
    generator = np.random.default_rng(1)
    if dtype.kind == "u":
        return [generator.integers(0, 1 << 32, size, dtype) for _ in range(2)]
    found = [generator.normal(size=size).astype(dtype) * dtype.type(30) for _ in range(2)]
    specials = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-41, -3e38], dtype)
    found[0][:7], found[1][:7], found[0][-7:] = specials, specials[::-1], specials
    return found


@pytest.mark.parametrize("chain", CHAINS)
def test_bits_are_those_of_llvms_vectors(chain, monkeypatch):
    text, given = program(chain), inputs(chain)
    assert strategies(text) == ["written vectors"]
    found = [compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*given)[0] for threads in (1, 2)]

    monkeypatch.setattr(written_vectors, "unlike", lambda _: "it is asked not to")
    assert strategies(text) == ["loops"]
    (wanted,) = compiler.compile(text, options=compiler.CompileOptions(threads=1))(*given)

    assert [one.tobytes() for one in found] == [wanted.tobytes()] * 2


@pytest.mark.parametrize(
    "lines",
    [
        ["a = {t} multiply(x, y)", "b = {t} multiply(x, x)", "c = {t} add(a, b)", "r = {t} tanh(c)"],
        ["a = {t} multiply(x, y)", "b = {t} multiply(x, x)", "n = {t} negate(b)", "c = {t} subtract(a, n)",
         "r = {t} tanh(c)"],
        ["a = {t} sine(x)", "b = {t} cosine(x)", "c = {t} add(a, b)", "r = {t} tanh(c)"],
        ["a = {t} tanh(x)", "r = {t} asinh(a)"],
        ["a = {t} tanh(x)", "r = {t} reverse(a), dimensions={{0}}"],
    ],
    ids=["two products", "a product less another", "cheaper form", "long", "moved"],
)  # fmt: skip
def test_what_llvm_does_better_or_otherwise_is_left_to_it(lines, monkeypatch):
    monkeypatch.setitem(CHAINS, "other", ("f32", lines))
    assert strategies(program("other")) == ["loops"]


@pytest.mark.parametrize(("size", "expected"), [(SIZE, "written vectors"), (SIZE - 16, "loops"), (128, "loops")])
def test_loops_are_of_whole_blocks(size, expected):
    assert strategies(program("function", size)) == [expected]
