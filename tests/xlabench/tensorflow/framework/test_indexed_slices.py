"""Rows are an array where one is wanted, and stay rows where only their values change."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework.indexed_slices import IndexedSlices, values_of, with_values

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.constant([1.0, 2.0], name="x")


def test_rows_without_a_shape_are_no_array(x):
    with pytest.raises(ValueError, match="without dense_shape"):
        IndexedSlices(x, tf.constant([0])).dense_tensor()


def test_values_change_and_numbers_stay(x):
    rows = IndexedSlices(x, tf.constant([2, 0]), tf.constant([3]))
    doubled = with_values(rows, lambda values: values * 2.0)
    assert (values_of(rows), values_of(x)) == (x, x)
    with tf.Session() as session:
        assert session.run(tf.identity(doubled)).tolist() == [4, 0, 2]
        assert session.run(doubled).values.tolist() == [2, 4]
        assert session.run(with_values(x, lambda values: values + 1.0)).tolist() == [2, 3]
