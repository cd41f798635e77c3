"""Graphs for the harness: one with everything that clustering decides about, and what it is run on."""

import numpy as np

from compiler.graph import BY_NAME
from compiler.tf2xla.builder import Builder
from xlabench.diagnosis.case import Case
from xlabench.graphs.case import GraphCase

FLOAT, BOOL, INT = (BY_NAME[name] for name in ("float32", "bool", "int32"))
X = np.arange(12, dtype=np.float32).reshape(3, 4) / 4 - 1


def two_ways(*, chosen):
    """`y` by one of two ways, and `u`, of which one way makes use."""
    b = Builder()
    x = b.add("Placeholder", name="x", dtype=FLOAT, shape=[None, 4]).output
    p = b.add("Placeholder", name="p", dtype=BOOL, shape=[]).output
    u = b.add("Tanh", x, name="u").output
    a = b.add("AddV2", x, b.constant(np.full((3, 4), 2, np.float32)), name="a").output
    switch = b.add("Switch", b.add("Mul", a, x, name="m").output, p, name="s")
    left = b.add("AddV2", b.add("Neg", switch.outputs[0], name="left").output, u, name="with_u").output
    right = b.add("Exp", switch.outputs[1], name="right").output
    merged = b.add("Merge", [left, right], name="merged").output
    b.add("Sub", merged, u, name="y")
    return GraphCase(b.graph, {"x": X, "p": np.array(chosen)}, ("y", "u"))


def counter():
    """A variable that is read, added to, and read again, in the order that control edges say."""
    b = Builder()
    x = b.add("Placeholder", name="x", dtype=FLOAT, shape=[2]).output
    v = b.add("VarHandleOp", name="v", dtype=FLOAT, shape=[2], shared_name="v").output
    before = b.add("ReadVariableOp", v, name="before", dtype=FLOAT)
    change = b.add("AssignAddVariableOp", v, x, name="change", control=[before.node])
    after = b.add("ReadVariableOp", v, name="after", dtype=FLOAT, control=[change.node])
    b.add("Mul", before.output, after.output, name="y")
    held = np.array([3, 5], np.float32)
    return GraphCase(b.graph, {"x": np.array([1, 2], np.float32)}, ("y", "^change"), {"v": held})


def program(graph):
    """The case of a graph."""
    return Case(*graph.program())
