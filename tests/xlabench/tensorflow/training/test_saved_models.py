"""Models in sessions: what was written comes back, with signature and variables."""

import numpy as np
import pytest

import xlabench.tensorflow as tf
from compiler.graph import read_saved_model

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pytestmark = pytest.mark.usefixtures("graph")
KEY = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
TAGS = [tf.saved_model.tag_constants.SERVING]
X = np.array([[1, 2]], np.float32)


@pytest.fixture
def folder(tmp_path):
    """A model of tanh(x w), which sets `started` when it is loaded."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable(tf.constant([[0.5], [-1]]), name="w")
    started = tf.Variable(0.0, trainable=False, name="started")
    y = tf.tanh(tf.matmul(x, w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, tmp_path / "m", {"x": x}, {"y": y}, started.assign(1.0, read_value=False))
    return tmp_path / "m"


@pytest.mark.parametrize("scope", [None, "a"])
def test_a_model_comes_back_in_a_session(folder, scope):
    assert tf.saved_model.maybe_saved_model_directory(folder)
    before = f"{scope}/" if scope else ""
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.load(session, TAGS, folder, import_scope=scope).signature_def[KEY]
        x, y = signature.inputs["x"], signature.outputs["y"]
        assert [one.size for one in x.tensor_shape.dim] == [-1, 2]
        found = session.run(before + y.name, {before + x.name: X})
        np.testing.assert_allclose(found, np.tanh(X @ [[0.5], [-1]]), rtol=1e-6)
        assert [one.name for one in tf.global_variables()] == [f"{before}w:0", f"{before}started:0"]
        assert session.run(tf.global_variables()[1]) == 1


def test_commands_read_such_a_model(folder):
    model = read_saved_model(folder)
    assert model.tags == ("serve",)
    assert model.variable("w").tolist() == [[0.5], [-1]]


def test_what_is_not_there_is_refused(folder, tmp_path):
    with tf.Session() as session:
        with pytest.raises(OSError, match="does not exist"):
            tf.saved_model.load(session, TAGS, tmp_path / "none")
        with pytest.raises(RuntimeError, match="'train' could not be found in SavedModel: there are serve"):
            tf.saved_model.load(session, ["train"], folder)
        with pytest.raises(AssertionError, match="isn't empty"):
            tf.saved_model.simple_save(session, folder, {}, {})
    (folder / "saved_model.pb").write_bytes(b"\x0a\xff\xff")
    with tf.Session() as session, pytest.raises(ValueError, match=r"saved_model\.pb"):
        tf.saved_model.load(session, TAGS, folder)
