"""Rows reduced in lanes find what a row at a time finds, at every length around the lanes' number."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

ARGMAX = """HloModule m
greater {{
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  equal = pred[] compare(a, b), direction=EQ
  earlier = pred[] compare(i, j), direction=LT
  first = pred[] and(equal, earlier)
  chosen = pred[] or(above, first)
  value = f32[] select(chosen, a, b)
  index = s32[] select(chosen, i, j)
  ROOT both = (f32[], s32[]) tuple(value, index)
}}
ENTRY e {{
  x = f32[{rows},{length}] parameter(0)
  i = s32[{rows},{length}] iota(), iota_dimension=1
  least = f32[] constant(-inf)
  none = s32[] constant(0)
  ROOT r = (f32[{rows}], s32[{rows}]) reduce(x, i, least, none), dimensions={{1}}, to_apply=greater
}}
"""


@pytest.mark.parametrize("length", [1, 63, 127, 128, 129, 191, 192, 1000, 4097])
def test_argmax_takes_the_first_of_the_greatest(length):
    x = np.random.default_rng(length).integers(-20, 20, (5, length)).astype(np.float32)

    values, indices = compiler.compile(ARGMAX.format(rows=5, length=length))(x)

    assert np.array_equal(values, x.max(1))
    assert np.array_equal(indices, x.argmax(1))
