"""Which clusters a run of a case has, without running it."""

import numpy as np
from cluster_graphs import SETTLED, graph_of

from compiler.jit import parse_flags
from xlabench.graphs.case import GraphCase
from xlabench.graphs.clustered import clustered

X = np.array([1, -2], np.float32)
TEXT = """
    x = Placeholder()
    a = Abs(x)
    b = Neg(a)
    s = Stop(b)
    c = Exp(b)
    unused = Exp(x)
"""


def case(*fetches):
    return GraphCase(graph_of(TEXT), {"x": X}, fetches, {})


def test_what_runs_is_in_clusters_and_what_is_not_fetched_is_not():
    found = clustered(case("c"), parse_flags(SETTLED))
    (members,) = found.members.values()
    assert set(members) == {"a", "b", "c"}
    assert found.listing.splitlines()[0].endswith(": 3 nodes")
    assert "  c (Exp)" in found.listing
    assert [one.tolist() for one in found.case.values.values()] == [[1, -2]]


def test_the_graph_of_the_case_stays_as_it_was():
    given = case("c")
    before = [dict(node.attributes) for node in given.graph.nodes]
    clustered(given, parse_flags(SETTLED))
    assert [dict(node.attributes) for node in given.graph.nodes] == before


def test_without_flags_there_are_none():
    found = clustered(case("c"), parse_flags(""))
    assert (found.members, found.listing) == ({}, "")
