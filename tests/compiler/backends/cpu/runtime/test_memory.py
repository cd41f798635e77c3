"""Recycled memory: warm, aligned, bounded, and returned when the last view dies."""

import gc
import itertools
import threading
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from compiler.backends.cpu.runtime import memory

F32 = np.dtype(np.float32)
U8 = np.dtype(np.uint8)
MIB = 1 << 20


@pytest.fixture
def limit() -> Iterator[None]:
    before = memory.statistics().limit_bytes
    yield
    memory.set_limit(before)


def address(array: np.ndarray) -> int:
    return array.ctypes.data


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 5), (7,), (2, 3, 4), (1 << 14,), (3, 1 << 16), (1 << 20, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.complex128, ml_dtypes.bfloat16, ml_dtypes.int4])
def test_an_array_has_its_shape_and_can_be_written(shape: tuple[int, ...], dtype: type) -> None:
    array = memory.empty(shape, np.dtype(dtype))
    array[...] = 1
    assert (array.shape, array.dtype, array.flags.carray) == (shape, np.dtype(dtype), True)
    assert np.all(array == np.ones((), dtype))


@pytest.mark.parametrize("size", [1 << 16, 100_000, MIB, MIB + 1, 3 * MIB, 5_000_000, 33 * MIB])
def test_a_large_array_is_page_aligned_and_its_memory_used_again(size: int) -> None:
    array = memory.empty((size,), U8)
    array[:] = 255
    first = address(array)
    del array
    again = memory.empty((size,), U8)
    assert (address(again), first % 4096) == (first, 0)


def test_a_view_keeps_the_memory() -> None:
    before = memory.statistics().blocks_in_use
    array = memory.empty((MIB,), F32)
    array[:] = np.arange(MIB, dtype=F32)
    view = array.reshape(1024, 1024)[5, ::2]
    del array
    other = memory.empty((MIB,), F32)
    other[:] = -1
    assert memory.statistics().blocks_in_use == before + 2
    assert view[1] == 5 * 1024 + 2
    del view, other
    assert memory.statistics().blocks_in_use == before


@pytest.mark.slow
def test_an_array_in_a_cycle_is_returned_by_the_collector() -> None:
    before = memory.statistics().blocks_in_use
    cycle: list[object] = [memory.empty((MIB,), F32)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert memory.statistics().blocks_in_use == before


def test_arrays_in_use_never_share_memory() -> None:
    sizes = [1 << 16, 70_000, 1 << 17, 300_000, MIB, 2 * MIB, 2 * MIB + 1] * 5
    arrays = [memory.empty((size,), U8) for size in sizes]
    spans = sorted((address(array), address(array) + array.nbytes) for array in arrays)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.usefixtures("limit")
def test_free_memory_stays_below_the_limit_and_other_sizes_go_first() -> None:
    memory.set_limit(20 * MIB)
    for size in (8 * MIB, 6 * MIB, 10 * MIB, 100_000, 16 * MIB):
        arrays = [memory.empty((size,), U8) for _ in range(3)]
        del arrays
        assert memory.statistics().cached_bytes <= 20 * MIB
    first = address(memory.empty((16 * MIB,), U8))
    assert address(memory.empty((16 * MIB,), U8)) == first


@pytest.mark.usefixtures("limit")
def test_a_limit_of_zero_keeps_nothing() -> None:
    memory.set_limit(0)
    for size in (100_000, 4 * MIB):
        array = memory.empty((size,), U8)
        del array
    assert memory.statistics().cached_bytes == 0


@pytest.mark.usefixtures("limit")
def test_cold_blocks_are_used_before_new_memory_is_mapped() -> None:
    memory.set_limit(0)
    arrays = [memory.empty((MIB,), U8) for _ in range(8)]
    mapped = memory.statistics().mapped_bytes
    del arrays
    again = [memory.empty((MIB,), U8) for _ in range(8)]
    assert (memory.statistics().mapped_bytes, len(again)) == (mapped, 8)


def test_repeated_use_maps_nothing_new() -> None:
    def use() -> int:
        for size in (80_000, MIB, 3 * MIB):
            memory.empty((size,), U8)
            with memory.lease(size) as first, memory.lease(size) as second:
                assert first != second
        return memory.statistics().mapped_bytes

    assert use() == [use() for _ in range(200)][-1]


def test_a_lease_is_aligned_and_none_is_needed_for_nothing() -> None:
    with memory.lease(1) as small, memory.lease(0) as none:
        assert (small % 64, none) == (0, 0)


def test_a_lease_ends_with_an_exception() -> None:
    before = memory.statistics().blocks_in_use
    with pytest.raises(KeyError), memory.lease(MIB):
        raise KeyError
    assert memory.statistics().blocks_in_use == before


@pytest.mark.parametrize("size", [1 << 50, 1 << 62])
def test_impossible_sizes_are_memory_errors(size: int) -> None:
    with pytest.raises(MemoryError):
        memory.empty((size,), U8)
    with pytest.raises(MemoryError, match=str(size)), memory.lease(size):
        pass


@pytest.mark.parametrize("size", [10, MIB])
def test_poison_fills_what_nobody_wrote(size: int) -> None:
    memory.set_poison(0xA5)
    try:
        assert np.all(memory.empty((size,), U8) == 0xA5)
    finally:
        memory.set_poison(None)


@pytest.mark.slow
def test_threads_take_and_return_at_once() -> None:
    before = memory.statistics().blocks_in_use
    wrong: list[int] = []

    def use(mark: int) -> None:
        for _ in range(200):
            array = memory.empty((70_000,), U8)
            array[:] = mark
            if array.min() != mark or array.max() != mark:
                wrong.append(mark)

    users = [threading.Thread(target=use, args=(mark,)) for mark in range(8)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert (wrong, memory.statistics().blocks_in_use) == ([], before)
