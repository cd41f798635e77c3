"""Pools take one number, one for each size, or one for each dimension; values are in `tests/session_arrays.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
IMAGES = np.arange(32.0, dtype=np.float32).reshape(1, 4, 4, 2)


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("size", [2, [2], [2, 2], [1, 2, 2, 1], (2, 2)])
def test_windows_are_said_in_several_ways(size):
    found = run(tf.nn.max_pool_v2(IMAGES, size, size, "VALID"))
    np.testing.assert_array_equal(found, IMAGES[:, 1::2, 1::2])


def test_channels_may_come_first():
    turned = IMAGES.transpose(0, 3, 1, 2)
    found = run(tf.nn.avg_pool_v2(turned, [1, 1, 2, 2], 2, "VALID", "NCHW"))
    np.testing.assert_array_equal(found.transpose(0, 2, 3, 1), run(tf.nn.avg_pool_v2(IMAGES, 2, 2, "VALID")))
    rows = run(tf.nn.max_pool1d(IMAGES[0].transpose(0, 2, 1), 2, 2, "VALID", "NCW"))
    np.testing.assert_array_equal(rows, IMAGES[0, :, 1::2].transpose(0, 2, 1))


@pytest.mark.parametrize("rate", [[1, 1], [2, 1], [2, 3]])
def test_a_window_with_holes_takes_what_is_so_far_apart(rate):
    value = np.random.RandomState(0).rand(1, 7, 8, 2).astype(np.float32)
    found = run(tf.nn.pool(value, [2, 2], "MAX", "VALID", dilation_rate=rate))
    down, right = rate
    pieces = [value[:, i : 7 - down + i or None, j : 8 - right + j or None] for i in (0, down) for j in (0, right)]
    np.testing.assert_array_equal(found, np.max([one[:, : 7 - down, : 8 - right] for one in pieces], axis=0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.nn.pool(IMAGES, [2, 2], "MIN", "VALID"), "2-D MIN pooling is not supported"),
        (lambda: tf.nn.pool(IMAGES, [2] * 4, "MAX", "VALID"), "must be 1, 2, or 3"),
        (lambda: tf.nn.pool(IMAGES, [2, 2], "MAX", "SAME", dilation_rate=2), "'SAME' padding is not implemented"),
        (lambda: tf.nn.pool(IMAGES, [2, 2], "MAX", "VALID", 2, 2), "strides > 1"),
        (lambda: tf.nn.pool(IMAGES, [2, 2], "MAX", "VALID", strides=[3, 1]), "not supported"),
        (lambda: tf.nn.pool(tf.placeholder(tf.float32), [2], "MAX", "VALID", 2), "known sizes"),
        (lambda: tf.nn.max_pool_v2(IMAGES, [2, 2, 2], 1, "VALID"), "`ksize` should be of length 1, 2 or 4"),
        (lambda: tf.nn.avg_pool_v2(IMAGES[0, 0], 2, 1, "VALID"), "must be 3, 4 or 5"),
    ],
)
def test_what_does_not_go_together_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
