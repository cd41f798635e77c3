"""Passes of shared memory, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from nvptx_lanes import LANES, lanes_of

from compiler.backends.nvptx.simulator.banks import BankCounter


@pytest.mark.parametrize(
    ("places", "size", "passes", "least"),
    [
        (LANES * 4, 4, 1, 1),
        (LANES * 0, 4, 1, 1),
        (LANES * 8, 4, 2, 1),
        (LANES * 128, 4, 32, 1),
        (LANES * 132, 4, 1, 1),
        (LANES, 1, 1, 1),
        (LANES * 8, 8, 2, 2),
        (LANES * 16, 16, 4, 4),
        (LANES * 64, 16, 16, 4),
        (LANES // 8 * 512 + LANES % 8 * 80, 16, 4, 4),
    ],
)
def test_lanes_that_want_different_words_of_a_bank_wait(places: object, size: int, passes: int, least: int) -> None:
    counter = BankCounter()
    counter.count(lanes_of(1), np.asarray(places, np.uint64), size)
    assert (counter.passes, counter.least) == (passes, least)


def test_warps_do_not_wait_for_each_other() -> None:
    counter = BankCounter()
    counter.count(lanes_of(2), np.repeat([0, 128], 32).astype(np.uint64), 4)
    assert (counter.passes, counter.least) == (2, 2)


@pytest.mark.parametrize("size", [1, 4, 8, 16])
def test_what_is_remembered_of_an_access_is_true_wherever_it_stands(size: int) -> None:
    draw, remembered = np.random.default_rng(size), BankCounter()
    places = [draw.integers(0, 64, 32) * size for _ in range(3)]
    for at in draw.integers(0, 1 << 10, 40):
        alone, moved = BankCounter(), places[at % 3] + at * max(size, 4)
        before = remembered.passes, remembered.least
        for counter in (alone, remembered):
            counter.count(lanes_of(1), moved.astype(np.uint64), size)
        assert (remembered.passes - before[0], remembered.least - before[1]) == (alone.passes, alone.least)
