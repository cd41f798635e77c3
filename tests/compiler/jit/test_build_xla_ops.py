"""Calls of clusters as ops that compile and run: the cases of TensorFlow's build_xla_ops_pass_test."""

import re

import pytest
from cluster_graphs import FLOAT, graph_of
from graph_nodes import const, function, node

from compiler.diagnostics import InputError
from compiler.graph import verify
from compiler.jit import Options, parse_flags
from compiler.jit.build_xla_ops import build_xla_ops

CLUSTER = function("cluster_0", {}, {"out": FLOAT}, [const("one", 1, "float32")], {"out": "one:output:0"})
TAKES = function("takes", {"a": FLOAT, "v": FLOAT}, {"b": FLOAT}, [node("n", "Neg", "a", T=FLOAT)], {"b": "n:y:0"})
KERNEL = "{_XlaCompiledKernel=true, _XlaNumConstantArgs=0, _XlaNumResourceArgs=0, _XlaHasReferenceVars=false}"
XLA = " on /device:XLA_CPU:0"


def _built(text, flags="", *functions):
    graph = build_xla_ops(graph_of(text, *(functions or (CLUSTER,))), parse_flags(flags), Options())
    verify(graph)
    return graph


def _expression(graph, name, depth=6):
    """A node as the formula that it is of others."""
    wait = "^" if name.startswith("^") else ""
    name, _, port = name.removeprefix("^").partition(":")
    made = graph.node(name)
    inside = ", ".join(_expression(graph, one, depth - 1) for one in made.inputs) if depth else "..."
    return f"{wait}{made.op}({inside})" + (f":{port}" if port else "")


def test_lazy_clusters_run_either_way():
    graph = _built(f"C = cluster_0() {KERNEL}\nv = VarHandleOp()\nw = AssignVariableOp(v, C)")
    key = "Switch(_XlaCompile(), _XlaCompile():1)"
    merged = f"_XlaMerge(StatefulPartitionedCall(^Identity({key})), _XlaRun({key}:1))"
    assert _expression(graph, "w") == f"AssignVariableOp(VarHandleOp(), {merged})"
    assert graph.node("C/xla_compile").attributes["must_compile"] is False
    assert graph.node("C/stateful_partitioned_call").attributes["f"].name == "cluster_0"
    assert "C" not in {one.name for one in graph.nodes}


@pytest.mark.parametrize(("where", "flags"), [(XLA, ""), ("", "--tf_xla_enable_lazy_compilation=false")])
def test_strict_clusters_are_compiled(where, flags):
    graph = _built(f"C = cluster_0() {KERNEL}{where}\nv = VarHandleOp()\nw = AssignVariableOp(v, C)", flags)
    assert _expression(graph, "w") == "AssignVariableOp(VarHandleOp(), _XlaRun(_XlaCompile()))"
    assert graph.node("C/xla_compile").attributes["must_compile"] is True


def test_who_waits_for_a_strict_cluster_waits_for_its_run():
    graph = _built(f"C = cluster_0() {KERNEL}{XLA}\nw = Const(^C)")
    assert graph.node("w").inputs == ("^C/xla_run",)


def test_who_waits_for_a_lazy_cluster_waits_for_either():
    graph = _built(f"C = cluster_0() {KERNEL}\nw = Const(^C)")
    either = "Merge(Const(^StatefulPartitionedCall(...)), Const(^_XlaRun(...)))"
    assert _expression(graph, "w", 4) == f"Const(^Identity({either}))"


def test_nothing_is_merged_for_nobody():
    graph = _built(f"C = cluster_0() {KERNEL}")
    assert sorted(one.op for one in graph.nodes) == [
        "Identity", "StatefulPartitionedCall", "Switch", "_XlaCompile", "_XlaRun"
    ]  # fmt: skip


def test_inputs_are_constants_arguments_and_variables():
    call = "C = takes(k, v, ^n) " + KERNEL.replace("ConstantArgs=0", "ConstantArgs=1").replace(
        "ResourceArgs=0", "ResourceArgs=1"
    )
    graph = _built(f"k = Const()\nv = VarHandleOp()\nn = NoOp()\n{call}\nr = Neg(C)", "", TAKES)
    assert graph.node("C/xla_compile").inputs == ("k", "v", "^n")
    assert graph.node("C/xla_run").inputs == ("v", "C/predicated_compilation_key:1")
    assert graph.node("C/stateful_partitioned_call").inputs == ("k", "v", "^n", "^C/data_as_ctrl")


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        (KERNEL.replace("ConstantArgs=0", "ConstantArgs=100"), "fewer than 100 constants"),
        ("{_XlaCompiledKernel=true}", "'_XlaNumConstantArgs' must be a number"),
    ],
)
def test_bogus_attributes_are_refused(attributes, said):
    with pytest.raises(InputError, match=re.escape(said)):
        _built(f"C = cluster_0() {attributes}")


def test_flags_print_and_check():
    flags = (
        "--tf_xla_print_cluster_outputs --tf_xla_check_cluster_output_numerics --tf_xla_check_cluster_input_numerics"
    )
    graph = _built(f"k = Const()\nC = takes(k, k) {KERNEL}\nr = Neg(C)", flags, TAKES)
    assert graph.node("C/merge_oidx_0").inputs == ("C/stateful_partitioned_call", "C/check_output_0")
    assert graph.node("C/check_output_0").inputs == ("C/print_0",)
    assert graph.node("C/print_0").inputs == ("C/xla_run", "C/xla_run")
    assert graph.node("C/xla_run").inputs[:2] == ("C/check_input_0", "C/check_input_1")
    assert graph.node("C/print_0").attributes["message"] == b"output 0 from takes is "
