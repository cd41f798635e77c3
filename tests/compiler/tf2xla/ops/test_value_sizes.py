"""Sizes that follow from values: where these are known they are, and else are refused by name."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, INT, const, node, placeholder, run

import compiler
from compiler.graph import BY_NAME, Graph
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32
from compiler.tf2xla import lower

NUMBERS = [3, 1, 3, 2, 1]
LONG = BY_NAME["int64"]


def test_places_are_known_of_what_is_known():
    graph = Graph([const("c", [[True, False], [False, True]], bool), node("y", "Where", "c", T=BOOL)])
    np.testing.assert_array_equal(run(lower(graph, {}, ["y"]))[0], [[0, 0], [1, 1]])


@pytest.mark.parametrize("op", ["Unique", "UniqueV2"])
def test_elements_stand_once_in_the_order_in_which_they_are_seen(op):
    nodes = [const("x", NUMBERS), const("axis", [0])]
    takes = ("x", "axis") if op == "UniqueV2" else ("x",)
    graph = Graph([*nodes, node("y", op, *takes, T=INT, out_idx=LONG, **({"Taxis": INT} if len(takes) > 1 else {}))])
    values, places = run(lower(graph, {}, ["y:0", "y:1"]))
    np.testing.assert_array_equal(values, [3, 1, 2])
    np.testing.assert_array_equal(places, [0, 1, 0, 2, 1])


def test_no_two_of_what_is_no_number_are_the_same():
    graph = Graph([const("x", [np.nan, 1, np.nan], np.float32), node("y", "Unique", "x", T=FLOAT)])
    np.testing.assert_array_equal(run(lower(graph, {}, ["y:1"]))[0], [0, 1, 2])


@pytest.mark.parametrize("op", ["Where", "Unique"])
def test_what_is_not_known_is_refused(op):
    graph = Graph([placeholder("x"), node("y", op, "x", T=FLOAT)])
    with pytest.raises(compiler.UnsupportedError, match=rf"op {op} \(node 'y'\) .*the sizes of its results depend"):
        lower(graph, {"x": ArrayShape(F32, (3,))}, ["y"])


def test_a_feed_of_which_they_are_is_known_where_its_value_is_given():
    graph = Graph(
        [placeholder("x"), placeholder("z"), node("y", "Where", "x", T=FLOAT), node("w", "Neg", "z", T=FLOAT)]
    )
    lowered = lower(graph, {"x": np.array([0, 1, 2], np.float32), "z": ArrayShape(F32, (3,))}, ["y", "w"])
    assert lowered.inputs == ("z",)
    np.testing.assert_array_equal(run(lowered, np.zeros(3, np.float32))[0], [[1], [2]])
