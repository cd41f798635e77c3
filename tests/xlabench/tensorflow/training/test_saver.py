"""Checkpoints of sessions: what is saved comes back, whoever wrote it; nodes have TensorFlow's names."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytest.importorskip("google.protobuf")
pytestmark = [pytest.mark.usefixtures("graph"), pytest.mark.slow]
TYPES = ("float16", "float32", "float64", "bfloat16", "int8", "int64", "uint8", "bool", "complex64")
NODES = """
    save/filename/input save/filename save/Const save/SaveV2/tensor_names save/SaveV2/shape_and_slices save/SaveV2
    save/control_dependency save/RestoreV2/tensor_names save/RestoreV2/shape_and_slices save/RestoreV2 save/Identity
    save/AssignVariableOp save/restore_all
"""


def begun() -> tf.Session:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_nodes_have_the_names_that_tensorflow_gives():
    tf.Variable(1.0, name="w")
    tf.train.Saver()
    names = [one.name for one in tf.get_default_graph().get_operations() if one.name.startswith("save")]
    assert names == NODES.split()


@pytest.mark.parametrize("dtype", TYPES)
def test_what_is_saved_comes_back(dtype, tmp_path):
    value = tf.cast(tf.constant([[0.0, -1.5, 3.0]]), dtype)
    variable = tf.Variable(value, name="scope/w")
    saver = tf.train.Saver()
    with begun() as session:
        before = session.run(variable)
        assert saver.save(session, tmp_path / "model", 7) == f"{tmp_path}/model-7"
    with tf.Session() as session:
        saver.restore(session, tmp_path / "model-7")
        np.testing.assert_array_equal(session.run(variable), before)


def test_variables_may_be_saved_under_other_keys(tmp_path):
    a, b = tf.Variable([1.0, 2.0], name="a"), tf.Variable(5, name="b")
    with begun() as session:
        tf.train.Saver({"b": a, "of": b}).save(session, tmp_path / "m")
    with tf.Graph().as_default():
        other = tf.Variable([0.0, 0.0], name="b")
        with tf.Session() as session:
            tf.train.Saver().restore(session, tmp_path / "m")
            assert session.run(other).tolist() == [1, 2]


def test_sizes_may_change_where_that_is_asked_for(tmp_path):
    variable = tf.Variable([[1.0, 2.0]], name="w")
    with begun() as session:
        tf.train.Saver().save(session, tmp_path / "m")
    with tf.Graph().as_default():
        variable = tf.Variable([0.0, 0.0], name="w")
        with tf.Session() as session:
            tf.train.Saver(reshape=True).restore(session, tmp_path / "m")
            assert session.run(variable).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "value", "kind", "said"),
    [
        ("other", [1.0, 2.0], tf.errors.NotFoundError, "Key other not found in checkpoint"),
        ("w", [1.0, 2.0, 3.0], tf.errors.InvalidArgumentError, "mismatch between the current graph"),
        ("w", [1, 2], tf.errors.InvalidArgumentError, "Expected to restore a tensor of type int32"),
    ],
)
def test_a_checkpoint_of_another_graph_is_refused(name, value, kind, said, tmp_path):
    tf.Variable([1.0, 2.0], name="w")
    with begun() as session:
        tf.train.Saver().save(session, tmp_path / "m")
    with tf.Graph().as_default():
        tf.Variable(value, name=name)
        with tf.Session() as session, pytest.raises(kind, match=said):
            tf.train.Saver().restore(session, tmp_path / "m")


def test_the_oldest_checkpoints_go(tmp_path):
    tf.Variable(1.0, name="w")
    saver = tf.train.Saver(max_to_keep=2)
    with begun() as session:
        paths = [saver.save(session, tmp_path / "m", step) for step in range(4)]
    assert saver.last_checkpoints == paths[2:]
    assert {one.name.split(".")[0] for one in tmp_path.iterdir()} == {"m-2", "m-3", "checkpoint"}
    assert tf.train.latest_checkpoint(tmp_path) == paths[3]
    saver.recover_last_checkpoints(paths)
    assert saver.last_checkpoints == paths[2:]
    assert tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths == paths[2:]


def test_the_graph_is_beside_it(tmp_path):
    tf.Variable(1.0, name="w")
    with begun() as session:
        tf.train.Saver().save(session, tmp_path / "m")
    written = (tmp_path / "m.meta").read_bytes()
    assert all(word in written for word in (b"save/restore_all", b"save/Const:0", b"save/control_dependency:0"))


def test_what_cannot_be_is_said(tmp_path):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    with pytest.raises(TypeError, match="is not a Variable"):
        tf.train.Saver([tf.constant(1.0)])
    one = tf.Variable(1.0, name="w")
    with pytest.raises(ValueError, match="the same name: w"):
        tf.train.Saver([one, one])
    with pytest.raises(NotImplementedError, match="leave it out"):
        tf.train.Saver(sharded=True)
    saver = tf.train.Saver()
    with begun() as session:
        with pytest.raises(ValueError, match=r"Parent directory .* doesn't exist"):
            saver.save(session, tmp_path / "none" / "of" / "m")
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(session, tmp_path / "m")
        with pytest.raises(ValueError, match="when it is None"):
            saver.restore(session, None)


def test_a_damaged_checkpoint_is_an_error_that_names_the_file(tmp_path):
    tf.Variable([1.0, 2.0], name="w")
    saver = tf.train.Saver()
    with begun() as session:
        path = saver.save(session, tmp_path / "m")
        data = tmp_path / "m.data-00000-of-00001"
        data.write_bytes(data.read_bytes()[:3])
        with pytest.raises(tf.errors.DataLossError, match="which has 3"):
            saver.restore(session, path)


def test_the_folder_of_a_checkpoint_is_made(tmp_path):
    tf.Variable(1.0)
    with begun() as session:
        assert tf.train.checkpoint_exists(tf.train.Saver().save(session, tmp_path / "made" / "model"))
