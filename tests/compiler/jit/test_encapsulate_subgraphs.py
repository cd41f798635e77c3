"""Clusters as functions: arguments, results, what waits for what; and what of it is a constant or a variable."""

import numpy as np
import pytest
from cluster_graphs import graph_of
from graph_nodes import FLOAT, function, node

import compiler
from compiler.graph import verify
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32
from compiler.jit import Options
from compiler.jit.encapsulate_subgraphs import encapsulate_subgraphs
from compiler.tf2xla import lower_function, output_count

ONE = "{_XlaCluster=cluster_1}"
TWO = "{_XlaCluster=cluster_2}"


def _encapsulated(text, *functions):
    graph = encapsulate_subgraphs(graph_of(text, *functions), Options())
    verify(graph, output_count)
    return graph


def test_a_graph_without_clusters_stays():
    graph = graph_of("a = Placeholder()\nb = Neg(a)")
    assert encapsulate_subgraphs(graph, Options()) is graph


def test_one_cluster():
    graph = _encapsulated(
        f"a = Placeholder()\nb = Placeholder()\nc = Neg(a) {ONE}\nd = Mul(b, c) {ONE}\ne = AddV2(d, d)"
    )
    assert str(graph.function("cluster_1")).splitlines() == [
        "function cluster_1(a_0_arg: float32, b_0_arg: float32) -> (d_0_retval: float32) {",
        "  c = Neg(a_0_arg) {T=float32}",
        "  d = Mul(b_0_arg, c:y:0) {T=float32}",
        "  return d_0_retval = d:z:0",
        "}",
    ]
    call = graph.node("cluster_1")
    assert (call.op, call.inputs, graph.node("e").inputs) == ("cluster_1", ("a", "b"), ("cluster_1", "cluster_1"))
    assert call.attributes == {
        "_XlaCompiledKernel": True,
        "_XlaHasReferenceVars": False,
        "_XlaNumConstantArgs": 0,
        "_XlaNumResourceArgs": 0,
    }
    assert call.device == "/job:localhost/replica:0/task:0/device:CPU:0"


def test_two_clusters_take_from_each_other():
    graph = _encapsulated(
        f"a = Placeholder()\nb = Neg(a) {ONE}\nc = Exp(b) {ONE}\nd = Mul(b, a) {TWO}\ne = AddV2(c, d) {TWO}\nr = Neg(e)"
    )
    assert graph.node("cluster_1").inputs == ("a",)
    assert graph.node("cluster_2").inputs == ("cluster_1", "a", "cluster_1:1")
    assert [one.name for one in graph.function("cluster_1").outputs] == ["b_0_retval", "c_0_retval"]


def test_what_is_taken_twice_is_one_argument():
    graph = _encapsulated(f"a = Placeholder()\nb = AddV2(a, a) {ONE}\nc = Mul(b, a) {ONE}\nd = Neg(c)\ne = Exp(c)")
    assert graph.node("cluster_1").inputs == ("a",)
    assert len(graph.function("cluster_1").outputs) == 1


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (f"n = NoOp()\na = Const(^n) {ONE}\nb = Neg(a) {ONE}\nc = Exp(b)", {"cluster_1": ("^n",), "c": ("cluster_1",)}),
        (f"a = Const() {ONE}\nb = Neg(a, ^a) {ONE}\nn = NoOp(^a, ^b)", {"n": ("^cluster_1",)}),
        (f"a = Const() {ONE}\nb = Const(^a) {TWO}", {"cluster_2": ("^cluster_1",)}),
    ],
)
def test_waiting_is_lifted_to_the_calls(text, inputs):
    graph = _encapsulated(text)
    assert {name: graph.node(name).inputs for name in inputs} == inputs


def test_waiting_inside_stays_inside():
    graph = _encapsulated(f"a = Const() {ONE}\nb = Const(^a) {ONE}\nc = Neg(b)")
    assert next(one for one in graph.function("cluster_1").nodes if one.name == "b").inputs == ("^a",)


def test_constants_come_first_and_variables_last():
    graph = _encapsulated(
        f"""
        v = VarHandleOp()
        x = Placeholder()
        dims = Placeholder() {{dtype=int32}}
        r = ReadVariableOp(v) {ONE}
        m = Mul(x, r) {ONE}
        s = Reshape(m, dims) {{Tshape=int32, _XlaCluster=cluster_1}}
        w = AssignVariableOp(v, m) {ONE}
        y = Neg(s)
        """
    )
    call, called = graph.node("cluster_1"), graph.function("cluster_1")
    assert call.inputs == ("dims", "x", "v")
    assert [str(one) for one in called.inputs] == ["dims_0_arg: int32", "x_0_arg: float32", "v_0_arg: resource"]
    assert (call.attributes["_XlaNumConstantArgs"], call.attributes["_XlaNumResourceArgs"]) == (1, 1)
    assert "w" in called.control_returns


def test_references_are_seen_and_not_passed_on():
    graph = _encapsulated(f"v = Variable()\na = Neg(v) {ONE}\nb = Exp(a)\nk = Const() {TWO}\nl = Neg(k) {TWO}")
    assert str(graph.function("cluster_1").inputs[0]) == "v_0_arg: float32"
    assert graph.node("cluster_1").attributes["_XlaHasReferenceVars"] is True
    assert graph.node("cluster_2").attributes["_XlaHasReferenceVars"] is False


def test_names_are_free():
    taken = function("cluster_1", {"a": FLOAT}, {"b": FLOAT}, [node("n", "Neg", "a", T=FLOAT)], {"b": "n:y:0"})
    graph = _encapsulated(
        f"x/A_0 = Placeholder()\ncluster_1 = Neg(x/A_0)\nb = cluster_1(cluster_1) {ONE}\nc = Neg(b)", taken
    )
    assert [one.name for one in graph.functions] == ["cluster_1", "cluster_1_1"]
    assert graph.node("c").inputs == ("cluster_1_1",)
    assert str(graph.functions[1].nodes[0]) == "b = cluster_1(cluster_1_0_arg)"


def test_names_that_differ_in_capitals_alone_are_told():
    graph = _encapsulated(
        f"A = Placeholder()\na = Placeholder()\nC = Mul(A, a) {ONE}\nc = Neg(C, ^C) {ONE}\ne = Mul(C, c)"
    )
    called = graph.function("cluster_1")
    assert len({one.name for one in (*called.inputs, *called.outputs)}) == 4
    assert [called.returns[one.name] for one in called.outputs] == ["C:z:0", "c:y:0"]
    assert graph.node("e").inputs == ("cluster_1", "cluster_1:1")


def test_what_two_nodes_take_of_another_cluster_is_one_argument():
    graph = _encapsulated(f"x = Placeholder()\na = AddV2(x, x) {ONE}\nb = AddV2(a, a) {TWO}\nm = Mul(a, b)")
    assert [graph.node(one).inputs for one in ("cluster_1", "cluster_2", "m")] == [
        ("x",), ("cluster_1",), ("cluster_1", "cluster_2")
    ]  # fmt: skip


def test_the_function_is_the_cluster():
    graph = _encapsulated(f"a = Placeholder()\nb = Neg(a) {ONE}\nc = Mul(b, a) {ONE}\nd = Neg(c)")
    x = np.array([1, -2, 3], np.float32)
    lowered = lower_function(graph, "cluster_1", [ArrayShape(F32, (3,))])
    np.testing.assert_array_equal(compiler.interpret(lowered.module, x)[0], -x * x)
