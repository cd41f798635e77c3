"""On this interpreter fields lie where native code looks for them."""

import ctypes

import numpy as np
import pytest

from compiler.backends.cpu.runtime import layout


def test_the_layouts_hold_here():
    assert layout.layouts_hold()


@pytest.mark.parametrize("array", [np.zeros((2, 3), np.float32), np.zeros(0, np.int8), np.zeros((), complex)])
def test_an_array_is_read_as_it_says_of_itself(array):
    base = id(array)
    assert ctypes.c_int64.from_address(base + layout.DATA).value == array.ctypes.data
    assert ctypes.c_int32.from_address(base + layout.RANK).value == array.ndim
    assert ctypes.c_int32.from_address(base + layout.FLAGS).value & layout.BEHAVED == layout.BEHAVED


def test_an_array_that_may_not_be_written_is_not_taken_for_one_of_ours():
    array = np.zeros(3)
    array.flags.writeable = False
    assert ctypes.c_int32.from_address(id(array) + layout.FLAGS).value & layout.BEHAVED != layout.BEHAVED
