"""Nodes run where their inputs are there; a Merge ends a branch, and is refused where it does not take two sides."""

import numpy as np
import pytest
from cluster_graphs import graph_of

from compiler.diagnostics import CompilerError
from compiler.graph import tensor_of
from compiler.graph.frames import in_order
from compiler.tf2xla.deadness import DEEPEST, Paths

NESTED = """
    x = Placeholder()
    p = Placeholder() {dtype=bool}
    pred_id = Identity(p) {T=bool}
    q = Placeholder() {dtype=bool}
    s = Switch(x, p)
    r = Switch(s:1, q)
    a = Neg(r)
    c = Const(^a)
    i = Merge(a, r:1)
    pivot = Switch(p, pred_id)
    b = Const(^low)
    low = Identity(pivot)
    m = Merge(b, i)
    t = ControlTrigger(^a, ^b)
    y = _Retval(a)
"""
P, Q = ("p", True), ("q", False)
WHERE = {
    "x": (),
    "s": (),
    "r": (P,),
    "a": (P, Q),
    "c": (P, Q),
    "i": (P,),
    "b": (("p", False),),
    "m": (),
    "t": (),
    "y": (),
}


def test_a_node_runs_where_its_inputs_are_there():
    paths = Paths(in_order(graph_of(NESTED).nodes))
    assert {name: paths.of[name] for name in WHERE} == WHERE
    assert paths.predicates == {"s": "p", "r": "q", "pivot": "p"}
    assert paths.ends == {"i": ("q", 1), "m": ("p", 1)}
    assert (paths.at("s"), paths.at("s:1"), paths.at("^s")) == ((("p", False),), (P,), ())
    nodes = {node.name: node for node in graph_of(NESTED).nodes}
    assert {name: paths.first(nodes[name]) for name in ("x", "s", "r", "m", "t")} == {
        "x": "", "s": "p", "r": "p", "m": "p", "t": ""
    }  # fmt: skip
    assert [paths.holds(nodes[name]) for name in ("a", "b", "m")] == [True, False, None]


@pytest.mark.parametrize(("number", "sides"), [(0, [True, False]), (1, [False, True])])
def test_which_side_a_merge_has_taken_is_asked_as_what_was_asked_there(number, sides):
    text = f"{NESTED} n = Const() {{dtype=int32}}\n e = Equal(m:1, n)\n g = Switch(x, e)"
    graph = graph_of(text)
    graph.node("n").attributes["value"] = tensor_of(np.int32(number))
    paths = Paths(in_order(graph.nodes))
    assert paths.predicates["g"] == "p"
    assert [paths.at(output) for output in ("g", "g:1")] == [(("p", side),) for side in sides]


def test_branches_stand_so_deep_in_each_other():
    lines = [f"p{n} = Placeholder() {{dtype=bool}}\n s{n} = Switch(s{n - 1}, p{n})" for n in range(1, DEEPEST + 3)]
    with pytest.raises(CompilerError, match="branches stand more than 64 deep"):
        Paths(in_order(graph_of("\n".join(["s0 = Placeholder()", *lines])).nodes))


BEGIN = "p = Placeholder() {dtype=bool}\n q = Placeholder() {dtype=bool}\n x = Placeholder()\n s = Switch(x, p)\n"
BROKEN = {
    "m = Merge(s:1, x)": r"op Merge \(node 'm'\) is not supported .*not the two sides of a Switch",
    "m = Merge(s, s)": "not the two sides of a Switch",
    "m = Merge(s)": "not the two sides of a Switch",
    "r = Switch(x, q)\n m = Merge(s, r:1)": "not the two sides of a Switch",
    "r = Switch(s:1, q)\n m = Merge(s, r:1)": "not the two sides of a Switch",
    "a = AddV2(s, s:1)": r"node 'a' \(AddV2\): it needs both sides of a Switch, and never runs",
    "a = NoOp(^b, ^c)\n b = Neg(s)\n c = Neg(s:1)": "node 'a' .*both sides",
}


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_branch_is_refused(text):
    with pytest.raises(CompilerError, match=BROKEN[text]):
        Paths(in_order(graph_of(BEGIN + text).nodes))
