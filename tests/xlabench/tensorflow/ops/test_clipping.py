"""Tensors of a list are cut together; what is missing stays missing."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.zeros([4, 5])


def test_gradients_are_clipped_together(x):
    clipped, norm = tf.clip_by_global_norm([x, None, x], 1.0)
    assert [one is None for one in clipped] == [False, True, False]
    assert norm.shape.as_list() == []


@pytest.mark.parametrize(
    ("clip", "values"),
    [
        (lambda one: tf.clip_by_value(one, 0.0, 2.0), [2.0, 2.0, 1.0]),
        (lambda one: tf.clip_by_norm(one, 0.5), [0.294174, 0.392232, 0.098058]),
        (lambda one: tf.clip_by_global_norm([one], 0.5)[0][0], [0.294174, 0.392232, 0.098058]),
    ],
)
def test_rows_stay_rows(clip, values):
    """The same row twice counts twice, as TensorFlow has it: the length is that of the values."""
    rows = tf.IndexedSlices(tf.constant([3.0, 4.0, 1.0]), tf.constant([0, 0, 2]), tf.constant([4]))
    clipped = clip(rows)
    assert isinstance(clipped, tf.IndexedSlices)
    assert clipped.indices is rows.indices
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(clipped.values), values, rtol=1e-5)
        np.testing.assert_allclose(session.run(tf.global_norm([rows, None])), np.sqrt(26), rtol=1e-6)


def test_a_length_may_be_for_each_element():
    with tf.Session() as session:
        clipped = session.run(tf.clip_by_average_norm([3.0, 4.0], 1.0))
    np.testing.assert_allclose(clipped, [1.2, 1.6], rtol=1e-6)
