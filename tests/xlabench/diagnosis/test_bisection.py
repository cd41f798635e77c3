"""Neighbours of which the first is right and the second is wrong."""

import pytest

from xlabench.diagnosis.bisection import nearest


@pytest.mark.parametrize("first_bad", [1, 2, 7, 10])
def test_the_neighbours_are_where_it_begins_to_be_wrong(first_bad):
    assert nearest(0, 10, lambda number: number >= first_bad) == (first_bad - 1, first_bad)
