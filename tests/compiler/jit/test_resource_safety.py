"""Ops on variables that may not be together: the cases of TensorFlow's resource_operation_safety_analysis_test."""

import pytest
from cluster_graphs import FLOAT, graph_of
from graph_nodes import const, function

from compiler.graph import Node
from compiler.jit.resource_safety import Access, access_of, unsafe_pairs
from compiler.jit.topology import Topology
from compiler.tf2xla import RECORDS

CONSTANT = function("fn", {}, {"out": FLOAT}, [const("one", 1, "float32")], {"out": "one:output:0"})
OPS = {
    "R": "R = ReadVariableOp(v{waits})",
    "W": "W = AssignVariableOp(v, k{waits})",
    "M": "M = AssignAddVariableOp(v, k{waits})",
    "C": "C = fn({waits})",
    "G": "G = SymbolicGradient(k{waits}) {{f=@fn}}",
    "N": "N = Const({waits})",
    "R1": "R1 = ReadVariableOp(v{waits})",
    "W1": "W1 = AssignVariableOp(v, k{waits})",
    "N1": "N1 = Const({waits})",
}
CASES = {
    "WriteRead": ("W R", "W>R", "W:R"),
    "ReadWrite": ("R W", "R>W", ""),
    "ReadWriteNoEdges": ("R W", "", ""),
    "ReadModify": ("R M", "R>M", ""),
    "ModifyRead": ("M R", "M>R", "M:R"),
    "ModifyWrite": ("M W", "M>W", ""),
    "WriteModify": ("W M", "W>M", "W:M"),
    "ReadModifyWrite": ("R M W", "R>M M>W", ""),
    "WriteModifyRead": ("W M R", "W>M M>R", "M:R W:M W:R"),
    "WriteReadModify": ("W R M", "W>R R>M", "W:M W:R"),
    "CallRead": ("C R", "C>R", "C:R"),
    "ReadCall": ("R C", "R>C", ""),
    "CallWrite": ("C W", "C>W", ""),
    "WriteCall": ("W C", "W>C", "W:C"),
    "SymbolicGradientRead": ("G R", "G>R", "G:R"),
    "WriteSymbolicGradient": ("W G", "W>G", "W:G"),
    "ChainOfOps": ("W N R W1 N1 R1", "W>N N>R R>W1 W1>N1 N1>R1", "W1:R1 W:R W:R1"),
    "DagOfOps": ("W W1 N R R1", "W>N W1>N N>R N>R1", "W1:R W1:R1 W:R W:R1"),
    "DagOfOpsWithRepeatedPaths": ("W W1 N R R1", "W>N W1>N N>R N>R1 W1>R1", "W1:R W1:R1 W:R W:R1"),
}


def _graph(nodes, edges):
    waits = {node: [] for node in nodes.split()}
    for edge in edges.split():
        first, then = edge.split(">")
        waits[then].append(f"^{first}")
    lines = ["v = VarHandleOp()", "k = Const()"]
    for node, before in waits.items():
        lines.append(OPS[node].format(waits="".join(f", {one}" for one in before)).replace("(, ", "("))
    return graph_of("\n".join(lines), CONSTANT)


def _pairs(graph, is_ignored=lambda _: False):
    topology = Topology(graph)
    found = unsafe_pairs(topology, {CONSTANT.name: CONSTANT}, is_ignored)
    return " ".join(sorted(":".join(topology.nodes[one].name for one in pair) for pair in found))


@pytest.mark.parametrize("name", CASES)
def test_pairs_that_a_cluster_would_reorder_are_found(name):
    nodes, edges, unsafe = CASES[name]
    assert _pairs(_graph(nodes, edges)) == unsafe
    assert _pairs(_graph(nodes, edges), lambda _: True) == ""


def test_what_comes_back_in_a_loop_does_not_count():
    loop = """
        v = VarHandleOp()
        k = Const()
        enter = Enter(k) {frame_name=f}
        iv = Merge(enter, next)
        R = ReadVariableOp(v, ^iv)
        W = AssignVariableOp(v, k, ^R)
        next = NextIteration(iv, ^W)
    """
    assert _pairs(graph_of(loop)) == ""
    forwards = loop.replace("(v, ^iv)", "(v, ^W)").replace("(v, k, ^R)", "(v, k, ^iv)").replace("(iv, ^W)", "(iv, ^R)")
    assert _pairs(graph_of(forwards)) == "W:R"


def test_every_op_on_variables_is_known():
    for name, record in RECORDS.items():
        if any(port.type == "resource" for port in record.signature.inputs):
            assert access_of(Node("n", name), {}) is not Access.NONE, name
    assert access_of(Node("n", "ReadVariableOp"), {}) is Access.READ
    assert access_of(Node("n", "AssignVariableOp"), {}) is Access.WRITE
    assert access_of(Node("n", "ResourceApplyAdam"), {}) is Access.READ | Access.WRITE
