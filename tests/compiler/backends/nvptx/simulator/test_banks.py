"""Passes of shared memory, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.backends.nvptx.simulator.banks import BankCounter

LANES = np.arange(32)


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
    counter.count(np.asarray(places, np.uint64), size, np.zeros(32, np.int64), LANES)
    assert (counter.passes, counter.least) == (passes, least)


def test_warps_do_not_wait_for_each_other() -> None:
    counter = BankCounter()
    lanes = np.concatenate([LANES, LANES])
    counter.count(np.repeat([0, 128], 32).astype(np.uint64), 4, np.repeat([0, 1], 32), lanes)
    assert (counter.passes, counter.least) == (2, 2)
