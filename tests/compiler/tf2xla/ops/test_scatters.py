"""Rows of several arrays in one, by their numbers."""

import numpy as np
import pytest
from graph_nodes import FLOAT, const, node, run

from compiler.graph import Graph
from compiler.tf2xla import lower

ROWS = np.arange(1, 9, dtype=np.float32).reshape(4, 2)


def _stitched(op, numbers):
    indices = [const(f"i{n}", one) for n, one in enumerate(numbers)]
    ends = np.cumsum([len(one) for one in numbers])
    data = [const(f"x{n}", one, np.float32) for n, one in enumerate(np.split(ROWS[: ends[-1]], ends[:-1]))]
    names = [one.name for one in (*indices, *data)]
    graph = Graph([*indices, *data, node("y", op, *names, N=len(numbers), T=FLOAT)])
    return run(lower(graph, {}, ["y"]))[0]


@pytest.mark.parametrize("op", ["DynamicStitch", "ParallelDynamicStitch"])
@pytest.mark.parametrize(
    ("numbers", "rows"),
    [
        ([[0, 1], [2]], [1, 2, 3]),
        ([[0, 3], [4]], [1, 0, 0, 2, 3]),
        ([[2]], [0, 0, 1]),
        ([[1, 1], [0, 1]], [3, 4]),
        ([[3, 1], [3]], [0, 2, 0, 3]),
    ],
)
def test_the_last_row_of_a_number_counts_and_zeros_where_there_is_none(op, numbers, rows):
    expected = [[0, 0] if not row else ROWS[row - 1] for row in rows]
    np.testing.assert_array_equal(_stitched(op, numbers), expected)
