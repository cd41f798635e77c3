"""Stages of a pipeline get scopes of their own; without stages nothing is written."""

from cluster_graphs import graph_of

from compiler.jit.attributes import INTERNAL_SCOPE, text_of
from compiler.jit.cluster_scoping import scope_clusters

STAGES = """
    x = Placeholder()
    a = Abs(x)
    s = Stage(a) {dtypes=float32}
    u = Unstage() {dtypes=float32}
    b = Neg(u)
    c = Add(b, a)
"""


def scopes(text):
    graph = graph_of(text)
    scope_clusters(graph)
    return {node.name: text_of(node, INTERNAL_SCOPE) for node in graph.nodes}


def test_each_side_has_its_scope_and_what_is_on_two_sides_has_both():
    found = scopes(STAGES)
    assert found["a"] == found["x"] != ""
    assert found["b"] == found["c"] != ""
    assert found["a"] != found["b"]
    both = scopes(STAGES.replace("Stage(a)", "Stage(b)"))
    assert "&" in both["b"]


def test_without_stages_there_are_none():
    assert set(scopes("x = Placeholder()\na = Abs(x)").values()) == {""}
