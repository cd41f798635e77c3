"""Activations and statistics; their values are held to TensorFlow's in `tests/xlabench/test_tensorflow.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_sigmoids_of_large_numbers_have_logarithms():
    with tf.Session() as session:
        assert session.run(tf.log_sigmoid([-200.0, 200.0])).tolist() == [-200.0, 0.0]


def test_moments_in_half_precision_are_taken_in_single():
    x = tf.constant([[300.0], [302.0]], tf.float16)
    mean, variance = tf.nn.weighted_moments(x, 0, [[1.0], [3.0]])
    assert mean.dtype == variance.dtype == tf.float16
    with tf.Session() as session:
        np.testing.assert_allclose(session.run([mean, variance]), [[301.5], [0.75]])


def test_whole_numbers_have_no_variance():
    with pytest.raises(TypeError, match="Input must be either real or complex"):
        tf.math.reduce_variance([1, 2])


def test_gradients_go_through_a_fused_normalization():
    x = tf.constant(np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2))
    normalized, mean, variance = tf.nn.fused_batch_norm(x, [1.0, 1.0], [0.0, 0.0])
    [gradient] = tf.gradients(normalized * x, x)
    with tf.Session() as session:
        assert session.run(mean).tolist() == [3.0, 4.0]
        np.testing.assert_allclose(session.run(variance), [20 / 3] * 2, rtol=1e-5)
        assert np.isfinite(session.run(gradient)).all()
