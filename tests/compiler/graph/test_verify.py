"""Rules of graphs: each is broken by the smallest graph that breaks it, and said with the node's name."""

import pytest

import compiler
from compiler.graph import Argument, Function, Graph, Node, verify
from compiler.graph.types import BY_NAME
from compiler.graph.verify import violations

FLOAT = BY_NAME["float32"]


def nodes(*rows):
    return [Node(name, op, tuple(inputs)) for name, op, *inputs in rows]


def function(*rows, returns=None, inputs=("x",), outputs=("y",), control=None):
    arguments, results = (tuple(Argument(name, FLOAT) for name in names) for names in (inputs, outputs))
    return Function("f", arguments, results, nodes(*rows), returns or {"y": "a:z:0"}, control or {})


LOOP = nodes(
    ("start", "Enter"),
    ("entry", "Merge", "start", "next"),
    ("body", "AddV2", "entry", "entry"),
    ("next", "NextIteration", "body"),
)
LONG = nodes(*((f"n{i}", "Identity", f"n{(i + 1) % 3000}") for i in range(3000)))
BROKEN = [
    ("name", "node 'a b'", Graph(nodes(("a b", "NoOp")))),
    ("name", "node ''", Graph(nodes(("", "NoOp")))),
    ("name", "node 'a'", Graph(nodes(("a", "")))),
    ("name", "the library", Graph(functions=[Function("")])),
    ("duplicate-name", "node 'a'", Graph(nodes(("a", "NoOp"), ("a", "NoOp")))),
    ("duplicate-name", "function 'f'", Graph(functions=[Function("f"), Function("f")])),
    ("duplicate-name", "function 'f', node 'x'", Graph(functions=[function(("x", "NoOp"), ("a", "Neg", "x"))])),
    ("duplicate-name", "function 'f'", Graph(functions=[function(("a", "Neg", "x"), inputs=("x", "x"))])),
    ("input-form", "node 'a', input 0", Graph(nodes(("a", "Neg", "b:c")))),
    ("input-form", "node 'a', input 0", Graph(nodes(("a", "Neg", "")))),
    ("input-form", "node 'a', input 0", Graph(nodes(("a", "Neg", "b:-1")))),
    ("input-form", "node 'a', input 0", Graph(nodes(("a", "Neg", "^b:0"), ("b", "NoOp")))),
    ("input-form", "node 'a', input 0", Graph(nodes(("a", "Neg", "b:00"), ("b", "NoOp")))),
    ("input-form", "node 'a'", Graph(nodes(("a", "Neg", "^b", "b"), ("b", "Const")))),
    ("unknown-input", "node 'a', input 0", Graph(nodes(("a", "Neg", "b")))),
    ("unknown-input", "node 'a', input 1", Graph(nodes(("a", "Neg", "b", "^c"), ("b", "Const")))),
    ("port", "node 'a', input 0", Graph(nodes(("a", "Neg", "b:1"), ("b", "Const")))),
    (
        "port",
        "node 'a', input 0",
        Graph(nodes(("a", "Neg", "b:1"), ("b", "f", "a2"), ("a2", "Const")), [function(("a", "Neg", "x"))]),
    ),
    ("port", "function 'f', node 'a', input 0", Graph(functions=[function(("a", "Neg", "x:1"))])),
    ("cycle", "node 'a'", Graph(nodes(("a", "Neg", "a")))),
    ("cycle", "node 'a'", Graph(nodes(("a", "Neg", "b"), ("b", "Neg", "^a")))),
    ("cycle", "node 'n0'", Graph(LONG)),
    ("cycle", "function 'f', node 'a'", Graph(functions=[function(("a", "Neg", "a:y:0"))])),
    ("return", "function 'f', output 'y'", Graph(functions=[function(("a", "Neg", "x"), returns={"q": "a:y:0"})])),
    ("unknown-input", "function 'f', output 'y'", Graph(functions=[function(returns={"y": "b:y:0"})])),
    ("input-form", "function 'f', output 'y'", Graph(functions=[function(returns={"y": "^x"})])),
    (
        "unknown-input",
        "function 'f', control output 'c'",
        Graph(functions=[function(("a", "Neg", "x"), control={"c": "b"})]),
    ),
]


def one_output(node):
    return 0 if node.op == "NoOp" else 1


@pytest.mark.parametrize(("rule", "where", "graph"), BROKEN, ids=[f"{rule}-{n}" for n, (rule, *_) in enumerate(BROKEN)])
def test_a_broken_rule_is_said_with_the_node(rule, where, graph):
    found = {(finding.rule, finding.where) for finding in violations(graph, one_output)}
    assert (rule, where) in found
    with pytest.raises(compiler.VerifyError, match="invalid graph, ") as error:
        verify(graph, one_output, "g.pb")
    assert str(error.value).startswith("g.pb: ")
    assert f"{where}: " in str(error.value)


def test_every_rule_of_the_table_is_broken_once():
    stated = {line.split("`")[1] for line in verify.__globals__["__doc__"].splitlines() if line.startswith("| `")}
    assert stated == {rule for rule, *_ in BROKEN}


def test_loops_go_around_through_their_next_iteration():
    verify(Graph(LOOP))
    LOOP[2].inputs = ("entry", "body")
    with pytest.raises(compiler.VerifyError, match="it waits for itself: body -> body"):
        verify(Graph(LOOP))


def test_a_long_cycle_is_shown_in_part():
    with pytest.raises(compiler.VerifyError, match=r"-> \(3000 nodes\) ->"):
        verify(Graph(LONG))


def test_names_that_are_nearly_there_are_suggested():
    with pytest.raises(compiler.VerifyError, match="did you mean weights"):
        verify(Graph(nodes(("a", "Neg", "weight"), ("weights", "Const"))))


def test_what_functions_may_say_is_valid():
    body = function(
        ("a", "Neg", "x"), ("b", "Split", "a:y:0", "x", "^a"), returns={"y": "b:output:3"}, control={"c": "b"}
    )
    verify(Graph(nodes(("in", "Const"), ("call", "f", "in"), ("out", "Neg", "call:0")), [body]))
