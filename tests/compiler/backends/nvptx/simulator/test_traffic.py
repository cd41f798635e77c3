"""Sectors of global memory, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from nvptx_lanes import LANES, lanes_of

from compiler.backends.nvptx.simulator.memory import GLOBAL_BASE
from compiler.backends.nvptx.simulator.traffic import Reach, TrafficCounter


@pytest.mark.parametrize(
    ("places", "size", "sectors", "least"),
    [
        (LANES * 4, 4, 4, 4),
        (LANES * 4 + 4, 4, 5, 4),
        (LANES * 0, 4, 1, 1),
        (LANES * 32, 4, 32, 4),
        (LANES[::-1] * 4, 4, 4, 4),
        (LANES * 16, 16, 16, 16),
        (LANES, 1, 1, 1),
    ],
)
def test_a_warp_takes_a_transaction_for_each_sector(places: object, size: int, sectors: int, least: int) -> None:
    counter = TrafficCounter()
    counter.count(lanes_of(1), np.asarray(places, np.uint64), size)
    assert (counter.sectors, counter.least) == (sectors, least)


def test_what_was_touched_before_is_nearer() -> None:
    counter = TrafficCounter()
    at = np.asarray(LANES * 4, np.uint64)
    assert counter.count(lanes_of(1), at, 4) is Reach.DRAM
    assert counter.count(lanes_of(1), at, 4) is Reach.L1
    counter.begin()
    assert counter.count(lanes_of(1, first_block=1), at, 4) is Reach.L2
    assert (counter.sectors, counter.block_sectors, counter.launch_sectors) == (12, 8, 4)


@pytest.mark.parametrize("base", [0, GLOBAL_BASE, GLOBAL_BASE + 96])
def test_each_warp_takes_its_own_transactions_wherever_memory_lies(base: int) -> None:
    counter = TrafficCounter()
    counter.count(lanes_of(8, blocks=4), np.uint64(base) + np.tile(LANES * 4, 8).astype(np.uint64), 4)
    assert (counter.sectors, counter.least) == (8 * 4, 8 * 4)
    assert (counter.block_sectors, counter.launch_sectors) == (4 * 4, 4)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_what_is_remembered_of_an_access_is_true_wherever_it_stands(size: int) -> None:
    draw, remembered = np.random.default_rng(size), TrafficCounter()
    places = [draw.integers(0, 256, 32) * size for _ in range(3)]
    for at in draw.integers(0, 1 << 10, 40):
        alone, moved = TrafficCounter(), (places[at % 3] + at * size).astype(np.uint64)
        before = remembered.sectors, remembered.least, remembered.bytes
        for counter in (alone, remembered):
            counter.count(lanes_of(1), moved, size)
        after = remembered.sectors, remembered.least, remembered.bytes
        assert [b - a for a, b in zip(before, after, strict=True)] == [alone.sectors, alone.least, alone.bytes]
