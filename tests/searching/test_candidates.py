"""Candidates for seeds take arrays of known sizes, are small, and are the programs that they were made of."""

import numpy as np
import pytest
from searching.candidates import _MOST_ELEMENTS, _read

import compiler

UNKNOWN = """ENTRY e { x = f32[<=6,<=3] parameter(0) y = f32[] parameter(1)
  n = f32[<=6,<=3] negate(x) ROOT r = (f32[<=6,<=3], f32[]) tuple(n, y) }"""


@pytest.mark.parametrize("sizes", [(2, 3), (6, 0), (99, -1)])
def test_sizes_that_are_not_known_are_given_beside_arrays(sizes):
    (module,) = _read(UNKNOWN)
    x, y = np.arange(18, dtype=np.float32).reshape(6, 3), np.float32(1)
    result, _ = compiler.interpret(module, x, y, *map(np.int32, sizes))
    rows, columns = np.clip(sizes, 0, (6, 3))
    assert np.array_equal(result, -x[:rows, :columns])


def test_large_arrays_are_made_small_and_small_ones_are_left():
    (small,) = _read("ENTRY e { x = f32[4096,4096] parameter(0) ROOT r = f32[4096,4096] negate(x) }")
    assert small.entry.root.array.size < _MOST_ELEMENTS
    assert len(_read("ENTRY e { x = f32[3,4] parameter(0) ROOT r = f32[3,4] negate(x) }")) == 1


def test_what_does_more_than_give_results_is_none():
    assert _read("ENTRY e { t = token[] after-all() ROOT i = (f32[2], token[]) infeed(t) }") == []
    assert _read("ENTRY e { x = (f32[2]) parameter(0) ROOT r = f32[2] get-tuple-element(x), index=0 }") == []
    assert _read("no program") == []
