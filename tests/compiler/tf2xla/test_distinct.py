"""Slices that are the same, in the order in which they are first seen."""

import numpy as np
import pytest

from compiler.tf2xla.distinct import first_seen


@pytest.mark.parametrize(
    ("x", "axis", "first", "number"),
    [
        ([3, 1, 3, 0], 0, [0, 1, 3], [0, 1, 0, 2]),
        ([[3, 1, 3], [0, 0, 0]], 1, [0, 1], [0, 1, 0]),
        ([[2, 2], [1, 1], [2, 2]], 0, [0, 1], [0, 1, 0]),
        ([0.0, -0.0, np.nan, np.nan], 0, [0, 2, 3], [0, 0, 1, 2]),
        (np.zeros(0), 0, [], []),
    ],
)
def test_each_is_seen_first_somewhere(x, axis, first, number):
    assert [one.tolist() for one in first_seen(np.array(x), axis)] == [first, number]
