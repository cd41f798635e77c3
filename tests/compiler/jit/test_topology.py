"""A graph by numbers: edges both ways, users first, and groups in an order in which uses come later."""

import pytest
from cluster_graphs import graph_of

from compiler.jit.topology import SINK, SOURCE, Topology

DIAMOND = """
    x = Placeholder()
    b = Abs(x)
    a = Neg(x)
    s = Add(a, b, ^x)
"""
LOOP = """
    e = Enter(x) {frame_name=loop}
    m = Merge(e, n)
    n = NextIteration(m)
    x = Placeholder()
"""


def named(topology, numbers):
    return [topology.nodes[number].name for number in numbers]


def test_numbers_follow_the_order_of_nodes_behind_source_and_sink():
    topology = Topology(graph_of(DIAMOND))
    assert named(topology, topology.numbers) == ["x", "b", "a", "s"]
    assert [topology.number[name] for name in ("_SOURCE", "_SINK", "x")] == [SOURCE, SINK, 2]


def test_what_takes_nothing_waits_for_the_source_and_what_nobody_uses_is_waited_for_by_the_sink():
    topology = Topology(graph_of(DIAMOND))
    assert named(topology, [edge.target for edge in topology.outputs[SOURCE]]) == ["x"]
    assert named(topology, [edge.source for edge in topology.inputs[SINK]]) == ["s"]
    (waits,) = (edge for edge in topology.inputs[topology.number["s"]] if edge.is_control)
    assert topology.nodes[waits.source].name == "x"


def test_every_edge_is_there_once_with_those_of_the_ends_last():
    edges = list(Topology(graph_of(DIAMOND)).edges())
    assert len(edges) == len(set(edges)) == 7
    assert [SOURCE in edge[:3:2] or SINK in edge[:3:2] for edge in edges] == [False] * 5 + [True] * 2


@pytest.mark.parametrize("text", [DIAMOND, LOOP, ""])
def test_users_come_first_but_over_back_edges(text):
    topology = Topology(graph_of(text))
    order = topology.post_order()
    assert sorted(order) == list(range(len(topology.nodes)))
    for edge in topology.edges():
        if not topology.is_back_edge(edge):
            assert order.index(edge.target) < order.index(edge.source)


def test_groups_come_in_the_order_of_their_uses_even_in_a_circle():
    topology = Topology(graph_of(DIAMOND))
    groups = topology.grouped(lambda number: "ab" if topology.nodes[number].name in "ab" else str(number))
    keys = list(groups)
    assert sorted(named(topology, groups["ab"])) == ["a", "b"]
    assert keys.index("2") < keys.index("ab") < keys.index("5")
    circle = topology.grouped(lambda number: "xs" if topology.nodes[number].name in "xs" else str(number))
    assert sorted(named(topology, [n for one in circle.values() for n in one])) == sorted(
        node.name for node in topology.nodes
    )


def test_what_one_reaches_is_found_once():
    topology = Topology(graph_of(DIAMOND))
    forwards = topology.reached(topology.number["x"], lambda one: [edge.target for edge in topology.outputs[one]])
    assert sorted(named(topology, forwards)) == ["_SINK", "a", "b", "s", "x"]


def test_frames_are_those_of_the_nodes_names():
    frames = Topology(graph_of(LOOP)).frames()
    assert [frames.name(name) for name in ("e", "m", "x", "_SINK")] == ["loop", "loop", "", ""]
