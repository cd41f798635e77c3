"""Fuel is taken down to nothing, and clusters are numbered graph by graph."""

import pytest

from compiler.jit.flags import UNLIMITED
from compiler.jit.options import Options, Progress


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_fuel_ends(limit):
    progress = Progress()
    assert [progress.take_fuel(limit) for _ in range(5)] == [True] * limit + [False] * (5 - limit)


def test_without_a_limit_it_never_does():
    progress = Progress()
    assert all(progress.take_fuel(UNLIMITED) for _ in range(5))
    assert progress.fuel is None


def test_the_first_graph_says_how_much_there_is():
    progress = Progress()
    progress.take_fuel(2)
    assert [progress.take_fuel(100), progress.take_fuel(100)] == [True, False]


def test_numbers_are_of_the_graph_that_asks():
    progress = Progress()
    assert [progress.next_number(name) for name in ("a", "a", "b", "a")] == [0, 1, 0, 2]


def test_options_share_no_progress_unless_they_are_told_to():
    assert Options().progress is not Options().progress
