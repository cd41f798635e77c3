"""What a checkpoint holds is read without a graph."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def prefix(tmp_path):
    tf.Variable([1.0, 2.0], name="a")
    tf.Variable(7, name="b")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))


def test_names_types_sizes_and_values_are_read(prefix, tmp_path):
    reader = tf.train.NewCheckpointReader(prefix)
    assert reader.get_variable_to_shape_map() == {"a": [2], "b": []}
    assert reader.get_variable_to_dtype_map() == {"a": tf.float32, "b": tf.int32}
    assert (reader.has_tensor("a"), reader.has_tensor("c")) == (True, False)
    np.testing.assert_array_equal(reader.get_tensor("a"), [1.0, 2.0])
    assert tf.train.list_variables(prefix) == tf.train.list_variables(str(tmp_path)) == [("a", [2]), ("b", [])]
    assert tf.train.load_variable(str(tmp_path), "b:0") == 7
    assert isinstance(tf.train.load_variable(prefix, "b"), np.int32)


def test_what_is_not_there_is_said(prefix, tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="Key c not found in checkpoint"):
        tf.train.load_variable(prefix, "c")
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files for"):
        tf.train.NewCheckpointReader(str(tmp_path / "other"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        tf.train.load_checkpoint(str(tmp_path / "empty"))


def test_a_damaged_checkpoint_is_said(prefix, tmp_path):
    (tmp_path / "model.ckpt.index").write_bytes(b"no table")
    with pytest.raises(tf.errors.DataLossError):
        tf.train.load_checkpoint(prefix)
