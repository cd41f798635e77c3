"""Sums give means and variances as NumPy has them; other values are in `tests/session_arrays.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
VALUE = np.random.RandomState(0).rand(3, 4).astype(np.float32)


def run(tensor, feeds=None):
    with tf.Session() as session:
        return session.run(tensor, feeds)


@pytest.mark.parametrize("shift", [None, 0.4])
@pytest.mark.parametrize("shape", [[3, 4], [None, 4], None])
def test_moments_follow_from_sums(shift, shape):
    x = tf.placeholder(tf.float32, shape)
    mean, variance = run(tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0], shift)), {x: VALUE})
    np.testing.assert_allclose(mean, VALUE.mean(0), rtol=1e-5)
    np.testing.assert_allclose(variance, VALUE.var(0), rtol=1e-4)


def test_a_polynomial_has_its_highest_power_first():
    np.testing.assert_allclose(run(tf.math.polyval([2.0, -1.0, 3.0], VALUE)), np.polyval([2, -1, 3], VALUE), rtol=1e-6)
    with pytest.raises(ValueError, match="must be list type"):
        tf.math.polyval((1.0, 2.0), VALUE)


@pytest.mark.parametrize("values", [[], [1], [1, 1], [1, 2, 2], [2, 1], [1, 2, 3], [np.nan, 1.0]])
def test_orders_are_of_neighbours(values):
    with np.errstate(invalid="ignore"):
        steps = np.diff(np.array(values, np.float32))
    row = tf.constant(values, tf.float32)
    assert run(tf.is_non_decreasing(row)) == (steps >= 0).all()
    assert run(tf.is_strictly_increasing(row)) == (steps > 0).all()


def test_erosion_is_the_least_difference():
    image, kernel = VALUE.reshape(1, 3, 4, 1), np.array([[0.1, 0.2]], np.float32).reshape(1, 2, 1)
    found = run(tf.nn.erosion2d(image, kernel, [1, 1, 1, 1], [1, 1, 1, 1], "VALID"))
    expected = np.minimum(image[:, :, :-1] - kernel[0, 1], image[:, :, 1:] - kernel[0, 0])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
