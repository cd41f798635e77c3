"""The plain view of a graph: an order, what waits for itself, and when nodes are alive."""

import numpy as np
import pytest
from cluster_graphs import graph_of

from xlabench.graphs.wiring import Wiring

DIAMOND = "a = Relu(x)\nx = Stop()\nb = Stop(a)\nc = MatMul(a, b)"
SWITCHED = """
x = Stop()
p = Stop()
s = Switch(x, p)
t = Relu(s:1)
f = Relu(s:0)
m = Merge(t, f)
w = Relu(x, ^t)
"""


def test_nodes_come_behind_what_they_take():
    order = Wiring(graph_of(DIAMOND)).order
    assert sorted(order) == ["a", "b", "c", "x"]
    assert order.index("x") < order.index("a") < order.index("b") < order.index("c")


@pytest.mark.parametrize(
    ("members", "waits"), [(["a", "c"], {"b", "cluster k"}), (["a", "b", "c"], set()), (["b", "c"], set()), ([], set())]
)
def test_a_cluster_that_something_outside_stands_in_waits_for_itself(members, waits):
    assert set(Wiring(graph_of(DIAMOND)).waiting(dict.fromkeys(members, "k"))) == waits


def test_every_combination_of_conditions_is_tried():
    alive = Wiring(graph_of(SWITCHED)).alive
    assert alive["t", -1].tolist() == alive["w", -1].tolist() == alive["s", 1].tolist()
    assert sorted(alive["t", -1].tolist()) == [False, True]
    assert np.array_equal(alive["f", -1], ~alive["t", -1])
    assert alive["m", -1].all()


def test_what_leads_to_a_node_is_known():
    before = Wiring(graph_of(SWITCHED)).before
    assert before["w"] == {"x", "p", "s", "t"}
    assert before["x"] == set()
