"""A graph finds its nodes and functions by name, and counts its ops."""

import pytest

from compiler.diagnostics import InputError
from compiler.graph import Function, Graph, Node


@pytest.fixture
def graph():
    inner = Function("f", (), (), nodes=[Node("n", "Abs"), Node("m", "Neg")])
    return Graph([Node("a", "Abs", ("x:1", "^b"), "/cpu:0", {"T": 3}), Node("b", "NoOp")], [inner])


def test_a_node_says_what_it_is(graph):
    assert str(graph.node("a")) == "a = Abs(x:1, ^b) {T=3} on /cpu:0"
    assert graph.node("a").data_inputs == ("x:1",)
    assert str(graph.node("b")) == "b = NoOp()"


def test_what_is_not_there_is_said_with_what_was_meant(graph):
    with pytest.raises(InputError, match="no node 'aa' in the graph"):
        graph.node("aa")
    with pytest.raises(InputError, match="no function 'ff' in the graph"):
        graph.function("ff")
    assert graph.function("f").name == "f"


def test_ops_are_counted_in_functions_too_the_most_frequent_first(graph):
    assert list(graph.counts().items()) == [("Abs", 2), ("Neg", 1), ("NoOp", 1)]
    assert Graph([], []).counts() == {}
