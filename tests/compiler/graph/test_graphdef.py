"""Graphs come back from their messages as they were, with what nobody knows here."""

import pytest

from compiler.graph import BY_NAME, Argument, Function, Graph, Node
from compiler.graph.graphdef import graph_of, message_of
from compiler.graph.messages import from_bytes, to_bytes

FLOAT = BY_NAME["float32"]
UNKNOWN = bytes([0xF8, 0x7F, 7])
CALLED = Function(
    "f",
    (Argument("a", FLOAT), Argument("b", type_attribute="T", number_attribute="N"), Argument("c", list_attribute="L")),
    (Argument("r", FLOAT),),
    [Node("n", "Neg", ("a",), "", {"T": FLOAT})],
    {"r": "n:y:0"},
)


@pytest.mark.parametrize(
    "graph",
    [
        Graph([]),
        Graph([Node("a", "A"), Node("b", "B", ("a:1", "^a"), "/device:CPU:0", {"n": 3})], [], 1482, 12),
        Graph([Node("a", "f", ())], [CALLED]),
    ],
    ids=["empty", "nodes", "functions"],
)
def test_a_graph_comes_back(graph):
    assert graph_of(message_of(graph), "f") == graph


@pytest.mark.parametrize("kind", ["rest", "library_rest", "versions_rest"])
def test_what_is_not_known_goes_back_where_it_was(kind):
    graph = Graph([Node("a", "A", rest=UNKNOWN)], **{kind: UNKNOWN})
    written = to_bytes(message_of(graph))
    again = graph_of(from_bytes("GraphDef", written, "f"), "f")
    assert again == graph
    assert to_bytes(message_of(again)) == written
    assert written.count(UNKNOWN) == 2
