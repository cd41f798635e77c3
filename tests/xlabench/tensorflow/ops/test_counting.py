"""Counts and orders at their edges; values are held to TensorFlow's in `tests/xlabench/test_tensorflow.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_nothing_is_counted_in_nothing():
    with tf.Session() as session:
        assert session.run(tf.bincount(tf.zeros([0], tf.int32))).tolist() == []
        assert session.run(tf.bincount(tf.zeros([0], tf.int32), minlength=2)).tolist() == [0, 0]
        assert session.run(tf.count_nonzero(tf.zeros([0]))) == 0
        assert session.run(tf.sequence_mask([0, 0])).shape == (2, 0)


@pytest.mark.parametrize("dtype", [tf.int8, tf.int32, tf.int64, tf.uint8, tf.uint32])
def test_the_ends_of_a_type_are_in_order(dtype):
    values = [dtype.max, 1, dtype.min, 0]
    with tf.Session() as session:
        assert session.run(tf.sort(tf.constant(values, dtype))).tolist() == sorted(values)
        assert session.run(tf.argsort(tf.constant([1, 0, 1, 0], dtype))).tolist() == [1, 3, 0, 2]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="`direction` should be one of"):
        tf.sort([1.0], direction="UP")
    with pytest.raises(ValueError, match="known ranks"):
        tf.argsort(tf.placeholder(tf.float32))
    with pytest.raises(ValueError, match="`side` must be"):
        tf.searchsorted([1.0], [1.0], side="up")
    with pytest.raises(ValueError, match="known ranks"):
        tf.math.unsorted_segment_mean(tf.placeholder(tf.float32), [0], 1)


def test_masks_are_of_lengths_that_are_fed():
    lengths = tf.placeholder(tf.int64, [None])
    with tf.Session() as session:
        found = session.run(tf.sequence_mask(lengths, dtype=tf.float32), {lengths: [2, 0]})
    np.testing.assert_array_equal(found, [[1, 1], [0, 0]])
