"""Elements by number: as NumPy takes them; other values are in `tests/session_arrays.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
VALUE = np.arange(24).reshape(2, 3, 4)


def run(tensor, feeds=None):
    with tf.Session() as session:
        return session.run(tensor, feeds)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
@pytest.mark.parametrize("count", [0, 1, 3, "each"])
def test_elements_are_repeated_as_numpy_repeats_them(axis, count):
    times = np.arange(VALUE.size if axis is None else VALUE.shape[axis]) % 3 if count == "each" else count
    np.testing.assert_array_equal(run(tf.repeat(VALUE, times, axis)), np.repeat(VALUE, times, axis))


def test_what_is_fed_is_repeated():
    value, times = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [None])
    found = run(tf.repeat(value, times, axis=0), {value: [[1, 2], [3, 4]], times: [2, 0]})
    np.testing.assert_array_equal(found, [[1, 2], [1, 2]])


def test_batches_go_together():
    which = np.array([[[1, 0], [2, 3]], [[0, 0], [1, 1]]])
    found = run(tf.gather_nd(VALUE, which, batch_dims=1))
    np.testing.assert_array_equal(found, [[VALUE[0, 1, 0], VALUE[0, 2, 3]], [VALUE[1, 0, 0], VALUE[1, 1, 1]]])
    rows = run(tf.gather_nd(VALUE, [[[0], [3], [1]], [[1], [1], [1]]], batch_dims=2))
    np.testing.assert_array_equal(rows, [VALUE[0, [0, 1, 2], [0, 3, 1]], VALUE[1, [0, 1, 2], [1, 1, 1]]])


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (([2, 1], [3]), [2, 3]),
        (([None, 3], [1]), [None, 3]),
        (([None], [5]), [5]),
        (([1, None], [4, 1]), [4, None]),
        (([], [2]), [2]),
    ],
)
def test_shapes_are_spread_to_each_other(shapes, expected):
    assert tf.broadcast_static_shape(*map(tf.TensorShape, shapes)).as_list() == expected
    assert tf.broadcast_static_shape(tf.TensorShape(None), tf.TensorShape([2])).rank is None


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(
            lambda: tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3])), ValueError, id="other sizes"
        ),
        pytest.param(lambda: tf.repeat([1, 2], [[1, 2]]), ValueError, id="repeats of rank two"),
        pytest.param(lambda: tf.gather_nd(VALUE, [0], batch_dims=1), ValueError, id="no batch"),
        pytest.param(lambda: tf.batch_gather(VALUE, tf.placeholder(tf.int32)), ValueError, id="unknown rank"),
        pytest.param(lambda: tf.parallel_stack([tf.placeholder(tf.float32, [None])]), ValueError, id="unknown size"),
        pytest.param(
            lambda: tf.sparse_segment_sum(VALUE, [0], [0], num_segments=3), NotImplementedError, id="number of segments"
        ),
    ],
)
def test_what_cannot_be_is_refused(call, error):
    with pytest.raises(error):
        call()
