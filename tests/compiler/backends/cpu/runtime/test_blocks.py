"""The native allocator: sizes by classes, the block given back last comes first, and arrays own their blocks."""

import ctypes

import numpy as np
import pytest

from compiler.backends.cpu.runtime.blocks import RECYCLED_FROM_BYTES, blocks

CLASS_BITS, PAGE = 12, 4096


def acquire(size):
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(blocks().acquire)(size)


def release(token):
    ctypes.PYFUNCTYPE(None, ctypes.c_int64)(blocks().release)(token)


def new_array(size):
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
    return make(blocks().new_array)(np.dtype(np.uint8), 1, (ctypes.c_ssize_t * 1)(size), size)


def size_of(token):
    """The size of a token's class: four for each power of two."""
    quarters = token % (1 << CLASS_BITS)
    return (5 + quarters % 4) << (quarters // 4 - 2)


@pytest.mark.parametrize("size", [1, 16384, 16385, 1 << 16, (1 << 16) + 1, 100_000, 3 << 20, (1 << 21) + 1])
def test_a_block_is_as_large_as_asked_by_less_than_a_quarter_more_and_starts_at_a_page(size):
    token = acquire(size)
    try:
        assert size <= size_of(token) < max(size * 1.25 + 1, 16385)
        assert token >> CLASS_BITS << CLASS_BITS == token - token % PAGE
    finally:
        release(token)


def test_blocks_in_use_are_apart_and_the_last_given_back_is_the_next():
    first, second = acquire(100_000), acquire(100_000)
    assert abs(first - second) >= 100_000
    release(first)
    release(second)
    assert acquire(99_000) == second
    release(second)


def test_statistics_count_what_is_in_use():
    statistics = (ctypes.c_int64 * 4).from_address(blocks().statistics)
    before = statistics[3]
    token = acquire(RECYCLED_FROM_BYTES)
    assert statistics[3] == before + 1
    release(token)
    assert statistics[3] == before


def test_an_array_gives_its_block_back_when_its_last_view_dies():
    array = new_array(RECYCLED_FROM_BYTES)
    address, view = array.ctypes.data, array[5:]
    del array
    other = acquire(RECYCLED_FROM_BYTES)
    assert other - other % PAGE != address
    del view
    again = acquire(RECYCLED_FROM_BYTES)
    assert again - again % PAGE == address
    release(again)
    release(other)


def test_what_is_small_is_numpys_own():
    statistics = (ctypes.c_int64 * 4).from_address(blocks().statistics)
    before = statistics[3]
    array = new_array(RECYCLED_FROM_BYTES - 1)
    assert statistics[3] == before
    assert array.flags.owndata


def test_there_is_one_allocator_for_a_process():
    assert blocks() is blocks()
