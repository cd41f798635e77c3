"""Graphs are messages with their collections, and files that are read again."""

import pytest

import xlabench.tensorflow as tf

pytest.importorskip("google.protobuf")
pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def made():
    with tf.device("/cpu:0"):
        total = tf.add(tf.Variable(1.0, name="v"), 2.0, name="total")
    tf.add_to_collection("kept", total)
    tf.add_to_collection("other", total)
    return total


def test_a_graph_is_a_message_with_its_collections(made):
    found = tf.train.export_meta_graph()
    assert {one.name for one in found.graph_def.node} >= {"v", "total"}
    assert set(found.collection_def) == {"variables", "trainable_variables", "kept", "other"}
    assert found.collection_def["kept"].node_list.value[:] == ["total:0"]


def test_what_is_asked_for_alone_is_kept(made):
    found = tf.train.export_meta_graph(collection_list=["kept"], clear_devices=True)
    assert set(found.collection_def) == {"kept"}
    assert {one.device for one in found.graph_def.node} == {""}
    assert made.op.device


@pytest.mark.parametrize("with_saver", [False, True])
def test_a_file_is_read_again(made, tmp_path, with_saver):
    path = str(tmp_path / "inner" / "g.meta")
    given = tf.train.Saver() if with_saver else tf.train
    said = given.export_meta_graph(path)
    with tf.Graph().as_default() as graph:
        saver = tf.train.import_meta_graph(path)
        assert (saver is not None) == with_saver
        assert [one.name for one in graph.get_collection("kept")] == ["total:0"]
        assert [one.op.name for one in tf.global_variables()] == ["v"]
    assert said.graph_def.node


def test_a_file_may_be_text(made, tmp_path):
    tf.train.export_meta_graph(tmp_path / "g.txt", as_text=True)
    assert 'name: "total"' in (tmp_path / "g.txt").read_text()
    with pytest.raises(NotImplementedError, match="extract_sub_graph"):
        tf.train.export_meta_graph(export_scope="inner")
