"""Collections come back by the names of what is in them."""

import pytest

import xlabench.tensorflow as tf

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pytestmark = pytest.mark.usefixtures("graph")


def test_a_graph_that_is_read_has_the_collections_of_that_which_was_written(tmp_path):
    w = tf.Variable([1.0, 2.0], name="w")
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(w * w, name="loss")
    tf.train.MomentumOptimizer(0.5, 0.5).minimize(loss, step)
    tf.add_to_collection("losses", loss)
    tf.add_to_collection("numbers", 3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, tmp_path / "model")
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(f"{path}.meta")
        assert [one.name for one in tf.global_variables()] == ["w:0", "global_step:0", "w/Momentum:0"]
        assert [one.name for one in tf.trainable_variables()] == ["w:0"]
        assert [one.name for one in tf.get_collection("losses")] == ["loss:0"]
        assert tf.get_collection("numbers") == []
        with tf.Session() as session:
            saver.restore(session, path)
            session.run(tf.get_collection("train_op"))
            assert session.run(tf.train.get_global_step()) == 1
            assert session.run(tf.trainable_variables())[0].tolist() == [0, 0]
