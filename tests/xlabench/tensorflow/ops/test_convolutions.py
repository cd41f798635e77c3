"""Convolutions made of others; their values are held to TensorFlow's in `tests/xlabench/test_tensorflow.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
IMAGES = np.random.RandomState(0).rand(1, 4, 4, 2).astype(np.float32)


def test_a_transposed_convolution_is_the_gradient_of_one():
    x, kernel = tf.constant(IMAGES), tf.ones([3, 3, 2, 5])
    made = tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME")
    [gradient] = tf.gradients(made, x)
    back = tf.nn.conv2d_transpose(tf.ones_like(made), kernel, [1, 4, 4, 2], [1, 2, 2, 1])
    assert back.shape.as_list() == [1, 4, 4, 2]
    with tf.Session() as session:
        np.testing.assert_allclose(*session.run([gradient, back]), rtol=1e-6)


@pytest.mark.parametrize("stride", [1, [1], [1, 1, 1], None])
def test_steps_of_rows_are_a_number_or_a_list(stride):
    assert tf.nn.conv1d(tf.ones([1, 4, 2]), tf.ones([2, 2, 3]), stride, "VALID").shape.as_list() == [1, 3, 3]


def test_indices_of_the_greatest_are_of_a_type():
    _, numbers = tf.nn.max_pool_with_argmax(tf.constant(IMAGES), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", Targmax=tf.int32)
    assert numbers.dtype == tf.int32
    with pytest.raises(ValueError, match="data_format values"):
        tf.nn.max_pool_with_argmax(tf.constant(IMAGES), [1] * 4, [1] * 4, "SAME", data_format="NCHW")
