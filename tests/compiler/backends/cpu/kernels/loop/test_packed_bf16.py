"""Loops of bf16 in pairs of lanes: whatever is read in order, at any length, bit for bit the reference's."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.ir.types import TYPES
from tests.compiler.backends.cpu.kernels.forms import spelled, strategies
from xlabench.judging.differ import Agreement, compare

BF16 = TYPES["bf16"].dtype
HEAD = "HloModule m\nENTRY e {{ x = bf16[{dims}] parameter(0)\n y = bf16[{dims}] parameter(1)\n"
# What is computed of `x` and `y`, B being their shape and F that of f32; whether it is taken in pairs.
BODIES = {
    "sums and products": ("a = B multiply(x, y)  b = B add(a, x)  ROOT c = B subtract(b, y)", True),
    "in f32": (
        "a = F convert(x)  b = F convert(y)  c = F multiply(a, b)  d = F add(c, a)  ROOT r = B convert(d)",
        True,
    ),
    "two results": ("a = B add(x, y)  b = B maximum(x, y)  ROOT r = (B, B) tuple(a, b)", True),
    "choices": ("p = P compare(x, y), direction=LT  a = B select(p, x, y)  ROOT r = B negate(a)", True),
    "constants": ("k = bf16[] constant(3)  b = B broadcast(k), dimensions={}  ROOT r = B multiply(x, b)", True),
    "a column": ("s = bf16[3] parameter(2)  b = B broadcast(s), dimensions={0}  ROOT r = B multiply(x, b)", True),
    "a row": ("s = bf16[N] parameter(2)  b = B broadcast(s), dimensions={1}  ROOT r = B multiply(x, b)", True),
    "a scalar": ("s = bf16[] parameter(2)  b = B broadcast(s), dimensions={}  ROOT r = B add(x, b)", True),
    "a truth value": ("ROOT r = P compare(x, y), direction=LT", False),
    "an array of f32": ("s = F parameter(2)  a = F convert(x)  c = F add(a, s)  ROOT r = B convert(c)", False),
    "a result of f32": ("a = F convert(x)  ROOT r = F negate(a)", False),
    "out of order": ("a = B add(x, y)  ROOT r = B reverse(a), dimensions={1}", False),
}


@pytest.mark.parametrize("length", [256, 257, 271, 1000, 4099])
@pytest.mark.parametrize("body", BODIES)
def test_halves_are_what_the_reference_computes(body, length):
    text, expected = BODIES[body]
    dims = f"3,{length}"
    shapes = {"B": f"bf16[{dims}]", "F": f"f32[{dims}]", "P": f"pred[{dims}]"}
    lines = spelled(text.replace("[N]", f"[{length}]"), shapes)
    module = compiler.parse(HEAD.format(dims=dims) + " " + lines + " }")
    random = np.random.default_rng(length)
    inputs = [
        np.asarray(random.integers(0, 1 << 16, p.array.dims), np.uint16).view(BF16).astype(p.array.element_type.dtype)
        for p in module.entry.parameters
    ]
    assert (strategies(module) == ["pairs of bf16"]) is expected
    wanted = compiler.interpret(module, *inputs)
    for threads in (1, 2):
        found = compiler.compile(module, options=CompileOptions(threads=threads))(*inputs)
        # What a product is joined with is rounded once.
        enough = (Agreement.BITWISE, Agreement.WITHIN) if body == "in f32" else (Agreement.BITWISE,)
        assert compare(wanted, found).agreement in enough


def test_short_loops_are_left_to_llvm():
    text = HEAD.format(dims="3,85") + " ROOT r = bf16[3,85] add(x, y) }"
    assert strategies(text) == ["loops"]
