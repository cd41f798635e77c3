"""The first of the greatest in each window; what is beyond the edges, and NaN, is greater than nothing."""

import numpy as np
import pytest
from graph_nodes import FLOAT, const, node, placeholder, run

from compiler.graph import BY_NAME, AttributeList, Graph
from compiler.tf2xla import lower

ONES = AttributeList("i", (1, 1, 1, 1))
NAN, LEAST = np.nan, np.finfo(np.float32).min
ROWS = {
    "the first of equal ones": ([2, 5, 5, 1], [5, 5, 5, 1], [1, 1, 2, 3]),
    "less than 0 at the edge": ([-3, -2, -4, -5], [-2, -2, -4, -5], [1, 1, 2, 3]),
    "NaN only where it is first": ([1, NAN, 2, NAN], [1, NAN, 2, NAN], [0, 1, 2, 3]),
    "the least of all": ([-np.inf] * 4, [-np.inf] * 4, [0, 1, 2, 3]),
}


@pytest.mark.parametrize("what", ROWS)
def test_a_pool_says_which_is_the_greatest(what):
    row, greatest, places = ROWS[what]
    stated = {"ksize": AttributeList("i", (1, 1, 2, 1)), "strides": ONES, "padding": b"SAME"}
    pool = node("y", "MaxPoolWithArgmax", "x", T=FLOAT, Targmax=BY_NAME["int64"], **stated)
    x = np.array(row, np.float32).reshape(1, 1, 4, 1)
    values, found = run(lower(Graph([placeholder("x"), pool]), {"x": x}, ["y", "y:1"]))
    np.testing.assert_array_equal(values.reshape(-1), greatest)
    np.testing.assert_array_equal(found.reshape(-1), places)


def test_of_a_filter_only_what_is_greater_than_the_least_counts():
    stated = {"strides": ONES, "rates": ONES, "padding": b"SAME", "T": FLOAT}
    nodes = [
        *(placeholder("x"), placeholder("g"), const("w", np.zeros((1, 2, 1)), np.float32)),
        node("y", "Dilation2D", "x", "w", **stated),
        node("back", "Dilation2DBackpropInput", "x", "w", "g", **stated),
    ]
    x, g = (np.array(one, np.float32).reshape(1, 1, 4, 1) for one in ([NAN, 3, -np.inf, NAN], [1, 2, 4, 8]))
    y, back = run(lower(Graph(nodes), {"x": x, "g": g}, ["y", "back"]))
    np.testing.assert_array_equal(y.reshape(-1), np.array([3, 3, LEAST, LEAST], np.float32))
    np.testing.assert_array_equal(back.reshape(-1), [0, 3, 0, 0])
