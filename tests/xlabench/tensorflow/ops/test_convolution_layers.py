"""Layers of rows and volumes, and transposed ones, are the functions of `tf.nn` with variables of TensorFlow's names.

Keras 3 gives the same values for the same kernels.
"""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
RANDOM = np.random.RandomState(0)
INPUTS = {1: RANDOM.randn(2, 7, 3), 2: RANDOM.randn(2, 6, 5, 3), 3: RANDOM.randn(1, 4, 3, 4, 2)}
LAYERS = {
    "conv1d": (1, [3, 3, 4]),
    "conv3d": (3, [3, 3, 3, 2, 4]),
    "conv2d_transpose": (2, [3, 3, 4, 3]),
    "conv3d_transpose": (3, [3, 3, 3, 4, 2]),
    "separable_conv1d": (1, [3, 3, 1]),
    "separable_conv2d": (2, [3, 3, 3, 1]),
}


def inputs(rank):
    return tf.constant(INPUTS[rank].astype(np.float32))


def run(tensor):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


@pytest.mark.parametrize("word", LAYERS)
def test_a_layer_has_variables_of_its_own(word):
    rank, kernel = LAYERS[word]
    made = getattr(tf.layers, word)(inputs(rank), 4, 3, padding="same", activation=tf.nn.relu)
    names = ["depthwise_kernel", "pointwise_kernel", "bias"] if word.startswith("separable") else ["kernel", "bias"]
    assert [one.op.name for one in tf.trainable_variables()] == [f"{word}/{name}" for name in names]
    assert tf.trainable_variables()[0].shape.as_list() == kernel
    assert made.shape.as_list() == [*INPUTS[rank].shape[:-1], 4]
    assert (run(made) >= 0).all()
    with tf.variable_scope("", reuse=True):
        again = getattr(tf.layers, word)(inputs(rank), 4, 3, padding="same", activation=tf.nn.relu, name=word)
    np.testing.assert_array_equal(*run([made, again]))
    assert len(tf.trainable_variables()) == len(names)


@pytest.mark.parametrize("word", LAYERS)
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_channels_may_come_first(word, padding):
    rank, _ = LAYERS[word]
    options = {"strides": 2, "padding": padding, "bias_initializer": tf.initializers.random_normal(seed=1)}
    last = getattr(tf.layers, word)(inputs(rank), 4, 3, name="one", **options)
    order = [0, rank + 1, *range(1, rank + 1)]
    first = getattr(tf.layers, word)(
        tf.transpose(inputs(rank), order), 4, 3, data_format="channels_first", name="one", reuse=True, **options
    )
    found, turned = run([last, first])
    np.testing.assert_allclose(turned, found.transpose(order), atol=1e-5)


@pytest.mark.parametrize("padding", ["valid", "same"])
def test_a_transposed_layer_is_the_gradient_of_a_convolution(padding):
    x = inputs(2)
    made = tf.layers.conv2d_transpose(x, 4, 3, strides=2, padding=padding, use_bias=False)
    kernel = tf.trainable_variables()[0]
    wanted = tf.nn.conv2d_transpose(x, kernel, made.shape, [1, 2, 2, 1], padding.upper())
    assert made.shape.as_list() == ([2, 13, 11, 4] if padding == "valid" else [2, 12, 10, 4])
    np.testing.assert_allclose(*run([made, wanted]), atol=1e-6)
    open_batch = tf.placeholder(tf.float32, [None, None, 5, 3])
    assert tf.layers.conv2d_transpose(open_batch, 4, 3, 2, padding).shape.as_list() == [None, None, made.shape[2], 4]


@pytest.mark.parametrize("word", ["max_pooling1d", "average_pooling1d", "max_pooling3d", "average_pooling3d"])
def test_pools_are_those_of_nn(word):
    rank = int(word[-2])
    function = tf.nn.max_pool_v2 if word.startswith("max") else tf.nn.avg_pool_v2
    found, wanted = run([getattr(tf.layers, word)(inputs(rank), 2, 1), function(inputs(rank), 2, 1, "VALID")])
    np.testing.assert_array_equal(found, wanted)


def test_sizes_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="must be a tuple of 3 integers"):
        tf.layers.conv3d(inputs(3), 4, [2, 2])
    with pytest.raises(ValueError, match="`data_format` argument must be one of"):
        tf.layers.conv1d(inputs(1), 4, 2, data_format="NWC")
