"""Graphs whose variables are constants give what they gave."""

import numpy as np
import pytest
from graph_nodes import FLOAT, const, node

import xlabench.tensorflow as tf
from compiler.graph import Graph, PartialShape, to_binary

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pytestmark = pytest.mark.usefixtures("graph")
freeze = tf.graph_util.convert_variables_to_constants


def ran(graph_def, feeds, fetch="y:0"):
    """What a graph gives, and the kinds of its nodes."""
    with tf.Graph().as_default():
        [y] = tf.import_graph_def(graph_def, return_elements=[fetch], name="")
        with tf.Session() as session:
            return session.run(y, feeds), {one.op for one in graph_def.node}


def test_reads_and_rows_of_variables_are_those_of_constants(graph):
    table = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
    x = tf.placeholder(tf.int32, [None], name="x")
    rows = tf.raw_ops.ResourceGather(resource=table.handle, indices=x, dtype=tf.float32)
    size = tf.raw_ops.VariableShape(input=table.handle)
    tf.identity(rows + table[0] + tf.cast(size, tf.float32), name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        right = session.run("y:0", {"x:0": [2, 1]})
        frozen = freeze(session, graph.as_graph_def(), ["y"])
    found, ops = ran(frozen, {"x:0": [2, 1]})
    np.testing.assert_array_equal(found, right)
    assert not {op for op in ops if "Var" in op or "Resource" in op}


def test_references_become_constants(graph):
    nodes = [
        node("w", "VariableV2", dtype=FLOAT, shape=PartialShape((2,))),
        const("first", [1, 2], np.float32),
        node("w/Assign", "Assign", "w", "first", T=FLOAT),
        node("y", "Identity", "w", T=FLOAT),
    ]
    tf.import_graph_def(tf.GraphDef.FromString(to_binary(Graph(nodes))), name="")
    with tf.Session() as session:
        session.run("w/Assign")
        frozen = freeze(session, graph.as_graph_def(), ["y"])
    found, ops = ran(frozen, {})
    assert (found.tolist(), ops) == ([1, 2], {"Const", "Identity"})


def test_a_variable_that_is_left_out_stays_one(graph):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    tf.add(v, w, name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for given in ({"variable_names_whitelist": ["v"]}, {"variable_names_blacklist": ["w"]}):
            kinds = {one.name: one.op for one in freeze(session, graph.as_graph_def(), ["y"], **given).node}
            assert (kinds["v"], kinds["w"]) == ("Const", "VarHandleOp")


def test_what_cannot_be_frozen_is_refused_by_name(graph):
    v = tf.Variable(1.0, name="v")
    tf.group(v.assign(2.0), name="write")
    tf.cond(v > 0.0, lambda: v + 1.0, lambda: v - 1.0, name="y")
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(ValueError, match=r"\(AssignVariableOp\) takes a variable"):
            freeze(session, graph.as_graph_def(), ["write"])
        with pytest.raises(ValueError, match=r"'y' \(\w*If\) takes a variable"):
            freeze(session, graph.as_graph_def(), ["y/Identity"])
        with pytest.raises(ValueError, match="z is not in graph"):
            freeze(session, graph.as_graph_def(), ["z"])
        with pytest.raises(TypeError, match="iterable of strings"):
            freeze(session, graph.as_graph_def(), "y")


def test_a_piece_of_a_graph_is_what_its_ends_need(graph):
    a = tf.constant(1.0, name="a")
    tf.negative(a, name="y")
    tf.negative(a, name="z")
    assert [one.name for one in tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["y"]).node] == ["a", "y"]
