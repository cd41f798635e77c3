"""Long loops of functions with a cheaper form, in vectors: where they are written, with the bits of LLVM's vectors."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.loop import fast_vectors
from compiler.backends.strategy import Declined
from compiler.ir.types import TYPES
from tests.compiler.backends.cpu.kernels.forms import strategies

SIZE = 1 << 16
CHAINS = {
    "one": ["r = {t} sine(x)"],
    "two": ["a = {t} sine(x)", "b = {t} cosine(y)", "r = {t} multiply(a, b)"],
    "with others": ["a = {t} tan(x)", "b = {t} exponential(y)", "r = {t} add(a, b)"],
    "products": ["a = {t} sine(x)", "b = {t} cosine(y)", "c = {t} multiply(a, a)", "d = {t} multiply(b, b)",
                 "r = {t} subtract(c, d)"],
    "called": ["a = {t} sine(x)", "b = {t} cosine(y)", "c = {t} add(x, y)", "d = {t} tan(c)", "e = {t} atan2(a, d)",
               "f = {t} sqrt(b)", "r = {t} add(e, f)"],
}  # fmt: skip


def program(lines: list[str], type_: str, size: int = SIZE) -> str:
    array = f"{type_}[{size}]"
    *others, last = [line.format(t=array) for line in lines]
    return " ".join(
        ["ENTRY e {", f"x = {array} parameter(0)", f"y = {array} parameter(1)", *others, f"ROOT {last}", "}"]
    )


def inputs(type_: str, size: int = SIZE) -> list[np.ndarray]:
    """Numbers of which all are small in most blocks, and some are large, infinite or none in others."""
    dtype = TYPES[type_].dtype
    generator = np.random.default_rng(1)
    found = [generator.normal(size=size).astype(dtype) * dtype.type(30) for _ in range(2)]
    specials = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-41, -3e38, 2.0**17, -(2.0**20), 1e6], dtype)
    for array in found:
        array[2048 : 2048 + len(specials)] = array[-len(specials) :] = specials
    found[1][5000] = 1e9
    return found


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("chain", CHAINS)
def test_bits_are_those_of_llvms_vectors(chain, type_, monkeypatch):
    text, given = program(CHAINS[chain], type_), inputs(type_)
    assert strategies(text) == ["fast vectors"]
    found = [compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*given)[0] for threads in (1, 2)]

    monkeypatch.setattr(fast_vectors, "_width", lambda _: Declined("it is asked not to"))
    assert strategies(text) == ["loops"]
    (wanted,) = compiler.compile(text, options=compiler.CompileOptions(threads=1))(*given)

    assert [one.tobytes() for one in found] == [wanted.tobytes()] * 2


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize(("chain", "calls"), [("two", False), ("called", True)])
def test_many_functions_are_called(chain, calls, type_):
    (kernel,) = compiler.decide(program(CHAINS[chain], type_)).kernels
    assert kernel.details["calls"] is calls


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        (["r = {t} sine(x)"], SIZE - 8),
        (["a = {t} sine(x)", "b = {t} cosine(x)", "r = {t} add(a, b)"], SIZE),
        (["a = {t} sine(x)", "r = {t} reverse(a), dimensions={{0}}"], SIZE),
        (["a = {t} remainder(x, y)", "r = {t} sine(a)"], SIZE),
    ],
    ids=["no whole blocks", "the same argument", "moved", "no form in vectors"],
)
def test_what_llvm_does_better_or_otherwise_is_left_to_it(lines, size):
    assert strategies(program(lines, "f64", size)) == ["loops"]
