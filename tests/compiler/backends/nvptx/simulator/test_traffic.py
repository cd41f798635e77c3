"""Sectors of global memory, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.backends.nvptx.simulator.traffic import KeySet, Reach, TrafficCounter

LANES = np.arange(32)
WARP = np.zeros(32, np.int64)


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
    counter.count(np.asarray(places, np.uint64), size, WARP, WARP)
    assert (counter.sectors, counter.least) == (sectors, least)


def test_what_was_touched_before_is_nearer() -> None:
    counter = TrafficCounter()
    at = np.asarray(LANES * 4, np.uint64)
    assert counter.count(at, 4, WARP, WARP) is Reach.DRAM
    assert counter.count(at, 4, WARP, WARP) is Reach.L1
    assert counter.count(at, 4, WARP + 1, WARP + 1) is Reach.L2
    assert (counter.sectors, counter.block_sectors, counter.launch_sectors) == (12, 8, 4)


def test_a_set_of_keys_is_one_however_they_come() -> None:
    keys, known = KeySet(), set[int]()
    for seed in range(50):
        some = np.unique(np.random.default_rng(seed).integers(0, 500, 40))
        keys.add(some)
        known |= set(some.tolist())
    assert len(keys) == len(known)
    assert not keys.add(np.array(sorted(known)))
