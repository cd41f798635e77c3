"""Two accesses of one granule by threads that nothing orders, one of them a plain write, are a race; others are not."""

import tracemalloc

import numpy as np
import pytest

from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.races import RaceDetector

THREADS, BLOCKS = 64, 2
ALL = np.arange(THREADS)
EVERYBODY = np.arange(THREADS * BLOCKS)


def detector(space="shared", granule=4):
    return RaceDetector(space, 1024, granule, THREADS, BLOCKS)


def at(*lanes):
    return np.array(lanes, np.int64)


def values(*numbers):
    return np.array(numbers, np.uint32)[:, None]


def act(watching, kind, lane, offset=0):
    """One thread does something of four bytes at an offset."""
    if kind == "write":
        watching.write(at(offset), values(lane), at(lane))
    else:
        getattr(watching, kind)(at(offset), 4, at(lane))


@pytest.mark.parametrize(
    ("first", "second", "is_race"),
    [
        ("write", "write", True),
        ("write", "read", True),
        ("read", "write", True),
        ("read", "read", False),
        ("write", "peek", True),
        ("peek", "write", False),
        ("write", "update", True),
        ("read", "update", True),
        ("update", "update", False),
        ("peek", "update", False),
    ],
)
def test_what_two_threads_may_not_do_to_one_granule(first, second, is_race):
    watching = detector()
    act(watching, first, 1)
    if is_race:
        with pytest.raises(Fault, match="no barrier between") as caught:
            act(watching, second, 40)
        assert caught.value.kind == "race"
    else:
        act(watching, second, 40)


@pytest.mark.parametrize("second", ["write", "read"])
def test_one_thread_may_do_what_it_likes_and_so_may_all_to_granules_of_their_own(second):
    watching = detector()
    act(watching, "write", 1)
    act(watching, second, 1)
    act(watching, second, 2, offset=4)


def test_a_barrier_of_the_block_orders_all_its_threads_and_no_other_blocks():
    watching = detector()
    act(watching, "write", 1)
    watching.pass_block_barrier(ALL)
    act(watching, "write", 63)
    watching = detector("global")
    act(watching, "write", 1)
    watching.pass_block_barrier(EVERYBODY)
    act(watching, "read", 63)
    with pytest.raises(Fault, match="of block 0"):
        act(watching, "read", THREADS + 1)


def test_a_barrier_of_a_warp_orders_that_warp_only():
    watching = detector()
    act(watching, "write", 1)
    act(watching, "write", 2, offset=4)
    watching.pass_warp_barrier(np.arange(32))
    act(watching, "read", 31)
    with pytest.raises(Fault, match="that thread 2"):
        act(watching, "read", 32, offset=4)


def test_threads_that_write_one_value_with_one_instruction_are_let_pass():
    detector().write(at(0, 0), values(7, 7), at(3, 50))
    with pytest.raises(Fault, match="wrote another value to"):
        detector().write(at(0, 0), values(7, 8), at(3, 50))


def test_an_access_wider_than_a_granule_meets_each_that_it_covers():
    watching = detector()
    act(watching, "write", 1, offset=12)
    with pytest.raises(Fault):
        watching.read(at(0), 16, at(2))
    detector(granule=16).read(at(0), 16, at(2))


def test_a_fault_says_whose_access_it_is_and_by_which_lane():
    watching = detector()
    act(watching, "write", 5, offset=8)
    with pytest.raises(Fault, match=r"reads shared memory that thread 5 \(by number\) of its block wrote") as caught:
        watching.read(at(0, 4, 8), 4, at(1, 2, 3))
    assert caught.value.position == 2


def test_what_is_kept_of_a_large_memory_is_three_stamps_for_each_granule_as_long_as_no_warp_meets():
    size, mark = 1 << 20, 1
    tracemalloc.start()
    try:
        detector = RaceDetector("global", size, 1, 32, 1)
        lanes = np.arange(32)
        detector.write(lanes, np.zeros((32, 1), np.uint8), lanes)
        assert tracemalloc.get_traced_memory()[1] < (3 * np.dtype(np.int64).itemsize + mark + 1) * size
    finally:
        tracemalloc.stop()
