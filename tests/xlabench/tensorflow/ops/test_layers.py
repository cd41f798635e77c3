"""Layers: the names that TensorFlow 1.15 gives, and what they compute, by the formulas of what they are made of."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = [pytest.mark.usefixtures("graph"), pytest.mark.slow]
IMAGES = np.arange(2 * 4 * 4 * 3, dtype=np.float32).reshape(2, 4, 4, 3) / 10


def names(variables) -> list[str]:
    return [one.name for one in variables]


def evaluated(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_variables_and_nodes_have_the_names_of_tensorflow():
    x = tf.placeholder(tf.float32, [None, 4])
    hidden = tf.layers.dense(x, 3, activation=tf.nn.relu)
    made = tf.layers.dense(hidden, 2, name="logits")
    assert names(tf.trainable_variables()) == ["dense/kernel:0", "dense/bias:0", "logits/kernel:0", "logits/bias:0"]
    assert (hidden.name, made.name) == ("dense/Relu:0", "logits/BiasAdd:0")
    assert tf.layers.dense(x, 2, use_bias=False).name == "dense_1/MatMul:0"


def test_a_layer_is_shared_where_that_is_asked_for():
    x = tf.placeholder(tf.float32, [None, 4])
    tf.layers.dense(x, 3, name="shared")
    tf.layers.dense(x, 3, name="shared", reuse=True)
    assert len(tf.global_variables()) == 2
    with pytest.raises(ValueError, match="Variable shared/kernel already exists"):
        tf.layers.dense(x, 3, name="shared")


@pytest.mark.parametrize("shape", [(2, 4), (2, 3, 4), (2, 1, 3, 4)])
def test_a_dense_layer_is_a_product_along_the_last_dimension(shape):
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x = tf.placeholder(tf.float32, [None] * (len(shape) - 1) + [4])
    made = tf.layers.dense(x, 5, bias_initializer=tf.ones_initializer(), name="d")
    found, kernel = evaluated([made, tf.global_variables()[0]], {x: values})
    assert found.shape == (*shape[:-1], 5)
    np.testing.assert_allclose(found, values @ kernel + 1, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_a_convolution_is_that_of_tf_nn(padding):
    made = tf.layers.conv2d(IMAGES, 2, [3, 2], strides=2, padding=padding, name="c")
    kernel = tf.global_variables()[0]
    assert kernel.shape.as_list() == [3, 2, 3, 2]
    found, same = evaluated([made, tf.nn.conv2d(IMAGES, kernel, [1, 2, 2, 1], padding.upper())])
    np.testing.assert_array_equal(found, same)


def test_channels_may_come_first():
    whole = np.rint(10 * IMAGES)  # whole numbers, whose sums no order changes
    images = whole.transpose(0, 3, 1, 2)
    kernel = tf.constant_initializer(np.arange(2 * 2 * 3 * 2).reshape(2, 2, 3, 2))
    first = tf.layers.conv2d(images, 2, 2, data_format="channels_first", kernel_initializer=kernel, name="c")
    last = tf.layers.conv2d(whole, 2, 2, name="c", reuse=True)
    pooled = tf.layers.max_pooling2d(images, 2, 2, data_format="channels_first")
    flat = tf.layers.flatten(images, data_format="channels_first")
    found = evaluated([first, last, pooled, flat])
    np.testing.assert_array_equal(found[0].transpose(0, 2, 3, 1), found[1])
    np.testing.assert_array_equal(found[2], images.reshape(2, 3, 2, 2, 2, 2).max((3, 5)))
    np.testing.assert_array_equal(found[3], whole.reshape(2, -1))


def test_pooling_takes_windows():
    greatest, mean = tf.layers.max_pooling2d(IMAGES, 2, 2), tf.layers.average_pooling2d(IMAGES, (2, 4), (2, 4))
    found = evaluated([greatest, mean])
    np.testing.assert_array_equal(found[0], IMAGES.reshape(2, 2, 2, 2, 2, 3).max((2, 4)))
    np.testing.assert_allclose(found[1], IMAGES.reshape(2, 2, 2, 1, 4, 3).mean((2, 4)), rtol=1e-6)


def test_a_batch_is_flattened_whatever_is_known_of_it():
    known, unknown = tf.placeholder(tf.float32, [None, 2, 3]), tf.placeholder(tf.float32, [None, None, 3])
    flat = [tf.layers.flatten(known), tf.layers.flatten(unknown)]
    assert flat[0].shape.as_list() == [None, 6]
    values = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    for found in evaluated(flat, {known: values, unknown: values}):
        np.testing.assert_array_equal(found, values.reshape(2, 6))


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("fused", [None, False])
def test_batches_are_normalised_and_their_means_followed(axis, fused):
    training = tf.placeholder(tf.bool, [])
    made = tf.layers.batch_normalization(IMAGES, axis, momentum=0.75, training=training, fused=fused, name="b")
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert names(tf.trainable_variables()) == ["b/gamma:0", "b/beta:0"]
    moving = tf.global_variables()[2:]
    assert names(moving) == ["b/moving_mean:0", "b/moving_variance:0"]
    others = tuple(n for n in range(4) if n != axis % 4)
    mean, variance = IMAGES.mean(others), IMAGES.var(others)
    shape = [-1 if n == axis % 4 else 1 for n in range(4)]
    count = IMAGES.size // mean.size
    factor = count / (count - 1) if fused is None else 1  # the op for images gives the variance without bias
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, _ = session.run([made, updates], {training: True})
        expected = (IMAGES - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + 1e-3)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        kept = session.run(moving)
        np.testing.assert_allclose(kept[0], 0.25 * mean, rtol=1e-4)
        np.testing.assert_allclose(kept[1], 0.75 + 0.25 * variance * factor, rtol=1e-4)
        found, _ = session.run([made, updates], {training: False})
        expected = (IMAGES - kept[0].reshape(shape)) / np.sqrt(kept[1].reshape(shape) + 1e-3)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(session.run(moving[0]), kept[0])


def test_a_layer_drops_only_while_it_is_trained():
    x = np.ones((64, 64), np.float32)
    dropped, kept = evaluated([tf.layers.dropout(x, 0.25, training=True), tf.layers.dropout(x, 0.25)])
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    np.testing.assert_array_equal(kept, x)


def test_what_is_computed_of_weights_and_results_is_kept():
    tf.layers.dense(
        np.ones((2, 3), np.float32), 4, kernel_regularizer=tf.nn.l2_loss, activity_regularizer=tf.reduce_sum
    )
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 2


@pytest.mark.parametrize(
    ("said", "build"),
    [
        ("last dimension of the inputs to `Dense` should be defined", lambda x: tf.layers.dense(x, 2)),
        ("Dimension 1 of the inputs should be defined", lambda x: tf.layers.batch_normalization(x)),
        ("tuple of 2 integers", lambda x: tf.layers.conv2d(IMAGES, 2, (1, 2, 3))),
        ("must be one of", lambda x: tf.layers.conv2d(IMAGES, 2, 2, data_format="NHWC")),
        ("fused for images", lambda x: tf.layers.batch_normalization(np.ones((2, 3), np.float32), fused=True)),
    ],
)
def test_what_makes_no_sense_is_refused(said, build):
    with pytest.raises(ValueError, match=said):
        build(tf.placeholder(tf.float32, [2, None]))
