"""Contraction without cycles, against a search of the whole graph."""

import random

import pytest
from cluster_graphs import graph_of

from compiler.jit.cycles import GraphCycles, cycle_graph
from compiler.jit.topology import Topology


def _reaches(edges, source, target):
    seen, stack = set(), [source]
    while stack:
        node = stack.pop()
        if node == target:
            return True
        new = {b for a, b in edges if a == node} - seen
        seen |= new
        stack += new
    return False


@pytest.mark.parametrize("seed", range(8))
def test_edges_and_contractions_are_refused_exactly_where_a_cycle_would_be(seed):
    draw = random.Random(seed)
    cycles, edges = GraphCycles(12), set()
    for _ in range(40):
        source, target = draw.randrange(12), draw.randrange(12)
        allowed = source != target and not _reaches(edges, target, source)
        assert cycles.insert_edge(source, target) is allowed
        edges |= {(source, target)} if allowed else set()
        assert cycles.is_reachable(source, target) == (_reaches(edges, source, target) or source == target)
    while edges:
        source, target = draw.choice(sorted(edges))
        edges.discard((source, target))
        kept = cycles.contract_edge(source, target)
        assert (kept is None) is _reaches(edges, source, target)
        if kept is not None:
            gone = {source, target} - {kept}
            edges = {tuple(kept if node in gone else node for node in edge) for edge in edges}
        order = cycles.post_order()
        assert all(order.index(a) > order.index(b) for a, b in edges)


def test_the_way_around_an_edge_is_found():
    cycles = GraphCycles(4)
    for edge in ((0, 1), (1, 2), (2, 3), (0, 3)):
        assert cycles.insert_edge(*edge)
    assert cycles.path(0, 3) == [0, 1, 2, 3]
    assert cycles.contract_edge(0, 3) is None
    assert cycles.has_edge(0, 3)


LOOP = """
    a = Placeholder()
    c = Relu(a)
    enter = Enter(c) {frame_name=outer}
    iv = Merge(enter, next)
    going = LoopCond(stop)
    stop = Stop(iv)
    latch = Switch(iv, going)
    inner = Enter(latch:1) {frame_name=inner}
    back = Exit(inner)
    next = NextIteration(back)
    exit = Exit(latch)
    d = AddV2(c, exit)
"""


def test_a_loop_is_one_node_for_those_around_it():
    topology = Topology(graph_of(LOOP))
    cycles, number = cycle_graph(topology), topology.number
    assert cycles is not None
    assert cycles.contract_edge(number["c"], number["d"]) is None, "d waits for c through the loop"


def test_loops_that_take_from_each_other_have_no_graph_of_cycles():
    crossed = """
        a = Placeholder()
        e = Enter(a) {frame_name=f}
        x = Exit(e)
        e2 = Enter(x) {frame_name=f}
        x2 = Exit(e2)
    """
    assert cycle_graph(Topology(graph_of(crossed))) is None
