"""`tf.gradients` as TensorFlow has it: lists, what is not connected, rows, and errors of Python's."""

import numpy as np
import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework.indexed_slices import IndexedSlices
from xlabench.tensorflow.training.gradients import any_gradient, gradients

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.constant([1.0, 2.0], name="x")


def value(fetch):
    with tf.Session() as session:
        return session.run(fetch)


def test_one_or_several_are_a_list(x):
    y = x * x
    assert len(gradients(y, x)) == 1
    found = gradients([y, 3.0 * x], [x, y])
    np.testing.assert_array_equal(value(found[0]), [5, 7])
    np.testing.assert_array_equal(value(found[1]), [1, 1])


def test_gradients_begin_with_what_is_given(x):
    np.testing.assert_array_equal(value(gradients(x * x, x, grad_ys=[tf.constant([10.0, 1.0])])[0]), [20, 4])


def test_what_is_not_connected_has_none_or_zeros(x):
    other = tf.constant([3.0])
    assert gradients(x, other) == [None]
    assert value(gradients(x, [other], unconnected_gradients="zero")[0]).tolist() == [0]
    assert not any_gradient(gradients(x, other))
    assert any_gradient(gradients(x, [other, x]))


def test_what_is_stopped_is_constant(x):
    y = x * x
    np.testing.assert_array_equal(value(gradients(y * x, x, stop_gradients=y)[0]), [1, 4])


def test_numbers_that_are_not_continuous_have_no_gradients(x):
    assert gradients(tf.cast(x, tf.int32), x) == [None]


def test_a_gradient_has_the_shape_of_what_it_is_to():
    x = tf.placeholder(tf.float32, [None, 3])
    assert gradients(x * x, x)[0].shape.as_list() == [None, 3]


def test_names_stand_in_their_scope(x):
    assert gradients(x * x, x, name="backwards")[0].name.startswith("backwards/")


def test_rows_of_a_variable_are_rows_and_an_array_where_one_is_wanted():
    v = tf.Variable(np.zeros((4, 2), np.float32))
    [found] = gradients(tf.gather(v, [3, 1, 3]) * 2.0, v)
    assert isinstance(found, IndexedSlices)
    assert (found.dtype, found.name, found.op.graph) == (found.values.dtype, found.values.name, found.graph)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        rows = session.run(found)
        assert rows.indices.tolist() == [3, 1, 3]
        assert rows.dense_shape.tolist() == [4, 2]
        assert session.run(found.dense_tensor()).tolist() == [[0, 0], [2, 2], [0, 0], [4, 4]]


def test_an_op_without_a_gradient_is_a_lookup_error_and_types_that_differ_a_value_error(x):
    with pytest.raises(LookupError, match="No gradient defined for operation"):
        gradients(tf.truncatemod(x, x), x)
    with pytest.raises(ValueError, match="Gradient type"):
        gradients(x, x, grad_ys=[tf.constant([1.0, 1.0], tf.float64)])


def test_second_derivatives_are_an_array_of_both_sizes(x):
    w = tf.Variable([[2.0], [1.0]])
    found = tf.hessians([tf.reduce_sum(w**3) + tf.reduce_sum(x[:1] * w[0] * w[1]), tf.constant(1.0)], [w, x])
    with tf.Session() as session:
        session.run(w.initializer)
        of_w, of_x = session.run(found)
    assert of_w.shape == (2, 1, 2, 1)
    assert of_w.reshape(2, 2).tolist() == [[12, 1], [1, 6]]
    assert of_x.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match="no gradient leads to"):
        tf.hessians(x, tf.constant(1.0))
    with pytest.raises(ValueError, match="known sizes"):
        tf.hessians(tf.reduce_sum(p := tf.placeholder(tf.float32, [None])), p)


def test_whole_numbers_have_zeros_where_these_are_asked_for():
    numbers = tf.constant([10, 20])
    [zeros] = tf.gradients(numbers * 2, numbers, unconnected_gradients="zero")
    with tf.Session() as session:
        assert session.run(zeros).tolist() == [0, 0]
