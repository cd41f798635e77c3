"""Graphs that were written with their savers: in another graph the same variables, and what they held."""

import numpy as np
import pytest
from graph_nodes import FLOAT, const, node

import xlabench.tensorflow as tf
from compiler.graph import AttributeList, Graph, PartialShape, to_binary

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pytestmark = pytest.mark.usefixtures("graph")


def test_variables_come_back_by_name(tmp_path):
    tf.Variable([1.0, 2.0], name="w")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, tmp_path / "model")
    for scope in (None, "a"):
        with tf.Graph().as_default() as graph:
            saver = tf.train.import_meta_graph(f"{path}.meta", import_scope=scope)
            with tf.Session() as session:
                saver.restore(session, path)
                np.testing.assert_array_equal(session.run(_read(graph)), [1, 2])


def _read(graph):
    return next(one for one in graph.get_operations() if one.name.endswith("w/Read/ReadVariableOp")).outputs[0]


def test_references_are_collected_as_variables():
    nodes = [
        node("w", "VariableV2", dtype=FLOAT, shape=PartialShape((2,))),
        const("first", [1, 2], np.float32),
        node("w/Assign", "Assign", "w", "first", T=FLOAT),
        node("w/read", "Identity", "w", T=FLOAT, _class=AttributeList("s", (b"loc:@w",))),
    ]
    names = {"variable_name": "w:0", "initializer_name": "w/Assign", "snapshot_name": "w/read:0"}
    graph = tf.GraphDef.FromString(to_binary(Graph(nodes)))
    given = tf.MetaGraphDef(graph_def=graph)
    encoded = tf.VariableDef(**names, trainable=True).SerializeToString()
    for key in ("variables", "trainable_variables"):
        given.collection_def[key].bytes_list.value.append(encoded)
    given.collection_def["ends"].node_list.value.append("w/read:0")
    assert tf.train.import_meta_graph(given) is None
    [w] = tf.global_variables()
    assert tf.trainable_variables() == [w]
    assert [one.name for one in tf.get_collection("ends")] == ["w/read:0"]
    with tf.Session() as session:
        assert not session.run(w.is_initialized())
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(w.assign(w + 1)), [2, 3])
        np.testing.assert_array_equal(session.run(w), [2, 3])


def test_a_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "x.meta").write_bytes(b"\x0a\xff\xff")
    with pytest.raises(ValueError, match=r"x\.meta"):
        tf.train.import_meta_graph(tmp_path / "x.meta")
    with pytest.raises(OSError, match=r"none\.meta"):
        tf.train.import_meta_graph(tmp_path / "none.meta")
