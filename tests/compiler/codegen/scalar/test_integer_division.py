"""Integers divided as floats: exact next to every edge of the types and to multiples of the divisor."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

PROGRAM = """ENTRY main {{
  x = {type}[{count}] parameter(0)
  y = {type}[{count}] parameter(1)
  quotient = {type}[{count}] divide(x, y)
  rest = {type}[{count}] remainder(x, y)
  ROOT both = ({type}[{count}], {type}[{count}]) tuple(quotient, rest)
}}
"""


def _numbers(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of edges, multiples of random numbers with their neighbours, and numbers of every length."""
    info, rng = np.iinfo(dtype), np.random.default_rng(5)
    near = [info.max - n for n in range(3)] + [info.min + n for n in range(3)] + [info.max // n for n in (2, 3, 5)]
    edges = np.array([*near, *range(4), *([-1, -2, -3] if info.min else [])], dtype)
    pairs = [side.ravel() for side in np.meshgrid(edges, edges)]
    half = 1 << info.bits // 2 - 1
    divisor = rng.integers(1, half, 5000).astype(dtype)
    multiple = divisor * rng.integers(half // 2, half, 5000).astype(dtype)
    beside = [multiple - dtype.type(1), multiple, multiple + dtype.type(1)]
    drawn = rng.integers(info.min, info.max, (2, 20000), dtype) >> rng.integers(0, info.bits, (2, 20000), dtype)
    return np.concatenate([pairs[0], *beside, drawn[0]]), np.concatenate([pairs[1], *[divisor] * 3, drawn[1]])


@pytest.mark.parametrize("name", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
def test_quotients_and_remainders_are_those_of_the_reference(name):
    kind = {"s": "i", "u": "u"}[name[0]]
    with np.errstate(over="ignore"):
        x, y = _numbers(np.dtype(f"{kind}{int(name[1:]) // 8}"))
    text = PROGRAM.format(type=name, count=x.size)

    expected = compiler.interpret(compiler.parse(text), x, y)

    for got, want in zip(compiler.compile(text)(x, y), expected, strict=True):
        assert np.array_equal(got, want)
