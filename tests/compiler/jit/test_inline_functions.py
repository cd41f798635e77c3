"""Calls written out: the graph computes the same, waits for the same, and what must stay stays."""

import numpy as np
import pytest
from cluster_graphs import BOOL, FLOAT, INT, graph_of, node_of
from graph_nodes import const, function, node
from graph_runs import Run

from compiler.diagnostics import UnsupportedError
from compiler.graph import Argument, Function, PlaceholderName, verify
from compiler.jit import cluster_of, for_execution, inline_functions, optimize, parse_flags
from compiler.tf2xla import output_count

INNER = function("inner", {"a": FLOAT}, {"b": FLOAT}, [node_of("n = Neg(a)")], {"b": "n:y:0"})
OUTER = function(
    "outer",
    {"a": FLOAT, "v": FLOAT},
    {"b": FLOAT, "same": FLOAT},
    [
        const("k", 3, "float32"),
        node_of("r = ReadVariableOp(v)"),
        node_of("c = PartitionedCall(a) {f=@inner}"),
        node_of("s = AddV2(c:output:0, r:value:0)"),
        node_of("m = Mul(s:z:0, k:output:0)"),
        node_of("w = AssignVariableOp(v, m:z:0, ^r)"),
    ],
    {"b": "m:z:0", "same": "a"},
    control_returns={"w": "w"},
)
GRAPH = """
    x = Placeholder()
    v = VarHandleOp()
    y = outer(x, v)
    z = Exp(y)
    t = AddV2(y:1, z)
    l = ReadVariableOp(v, ^y)
    u = Mul(t, l)
"""
X = np.array([[1, -2], [0.5, 3]], np.float32)


RUN = for_execution(graph_of(GRAPH, INNER, OUTER), ["x"], ["u"])


def _ran(graph):
    """What is fetched, and what the variable holds."""
    ran = Run(graph, {"v": X + 1})
    found = ran.values(graph, {RUN.feeds[0]: [X]})
    return found[RUN.fetches[0]][0], ran.variables["v"]


def test_what_is_written_out_computes_the_same():
    written = inline_functions(RUN.graph)
    verify(written, output_count)
    assert not {one.op for one in written.nodes} & {"outer", "inner", "PartitionedCall"}
    assert "y/c/n" in {one.name for one in written.nodes}
    for one, other in zip(_ran(RUN.graph), _ran(written), strict=True):
        np.testing.assert_array_equal(one, other)


def test_programs_of_one_call_are_clustered():
    flags = parse_flags("--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")
    marking = optimize(RUN.graph, flags).marking
    assert "variables inside of a function" in marking.reasons["y"]
    clustered = optimize(inline_functions(RUN.graph), flags)
    assert {"y/m", "y/w", "z"} <= clustered.marking.clusters.keys()
    for one, other in zip(_ran(RUN.graph), _ran(clustered.graph), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("line", "inputs"),
    [
        ("u = Neg(p)", {"u": ("p/n",)}),
        ("u = NoOp(^p)", {"u": ("^p/output_control_node",), "p/output_control_node": ("^p/n", "^q")}),
    ],
)
def test_waiting_goes_on(line, inputs):
    graph = inline_functions(graph_of(f"x = Placeholder()\nq = NoOp()\np = inner(x, ^q)\n{line}", INNER))
    inputs = {**inputs, "p/n": ("x", "^q")}
    assert {name: graph.node(name).inputs for name in inputs} == inputs


def test_what_is_handed_through_is_found_through_several_calls():
    same = function("same", {"a": FLOAT}, {"b": FLOAT}, [], {"b": "a"})
    graph = inline_functions(graph_of("x = Placeholder()\na = same(x)\nb = same(a)\nc = Neg(b)", same))
    assert [(one.name, one.inputs) for one in graph.nodes] == [("x", ()), ("c", ("x",))]


def test_attributes_of_the_call_reach_the_body():
    body = [node("n", "Neg", "a", T=PlaceholderName("T"))]
    generic = Function(
        "generic", (Argument("a", type_attribute="T"),), (Argument("b", type_attribute="T"),), body, {"b": "n:y:0"}
    )
    graph = inline_functions(graph_of("x = Placeholder() {dtype=int32}\ny = generic(x) {T=int32}", generic))
    assert graph.node("y/n").attributes["T"] == INT


def _staying(**attributes):
    return function("f", {"a": FLOAT}, {"b": FLOAT}, INNER.nodes, INNER.returns, attributes=attributes)


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("y = f(x)", _staying(_XlaMustCompile=True)),
        ("y = f(x)", _staying(_noinline=True)),
        ("y = f(x) {_XlaCompile=true}", _staying()),
        ("y = f(x)", function("f", {"a": FLOAT}, {"b": FLOAT}, [node("w", "Wild", "a")], {"b": "w:out:0"})),
        ("y = f(x, x)", _staying()),
    ],
)
def test_what_must_stay_stays(text, called):
    graph = graph_of(f"x = Placeholder()\n{text}", called)
    assert inline_functions(graph) is graph


def test_a_function_that_must_be_compiled_is_a_cluster_of_its_own():
    graph = inline_functions(graph_of("x = Stop()\ny = f(x)", _staying(_XlaMustCompile=True)))
    marking = optimize(graph, parse_flags("--tf_xla_auto_jit=1 --tf_xla_cpu_global_jit")).marking
    assert marking.clusters == {"y": "cluster_0"}
    assert cluster_of(graph.node("y")) == ""


def test_functions_that_call_themselves_are_refused():
    endless = function("endless", {"a": FLOAT}, {"c": BOOL}, [node("e", "endless", "a")], {"c": "e:c:0"})
    with pytest.raises(UnsupportedError, match=r"function endless.*calls itself"):
        inline_functions(graph_of("x = Placeholder()\ny = endless(x)", endless))
