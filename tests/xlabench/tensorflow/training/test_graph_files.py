"""Graphs of sessions, written and read again."""

import pytest

import xlabench.tensorflow as tf
from compiler.graph import read_graph

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(("name", "as_text"), [("g.pbtxt", True), ("g.pb", False)])
def test_a_graph_is_written_as_it_is(tmp_path, name, as_text):
    y = tf.exp(tf.placeholder(tf.float32, [2], name="x"), name="y")
    path = tf.train.write_graph(y.graph, tmp_path / "new", name, as_text=as_text)
    assert path == str(tmp_path / "new" / name)
    assert read_graph(tmp_path / "new" / name).nodes == y.graph.definition.nodes
    with tf.Session() as session:
        assert tf.io.write_graph(session.graph_def, str(tmp_path), name) == str(tmp_path / name)
