"""Functions of numbers build TensorFlow's nodes, with the shapes and types that follow."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [2, 3, 4])


@pytest.mark.parametrize(
    ("axis", "keepdims", "shape"),
    [(None, False, []), (1, False, [2, 4]), ([0, 2], False, [3]), (-1, True, [2, 3, 1]), ([], False, [2, 3, 4])],
)
def test_reductions_go_along_all_axes_or_some(x, axis, keepdims, shape):
    for reduce in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max):
        assert reduce(x, axis, keepdims=keepdims).shape.as_list() == shape


def test_older_names_of_arguments_are_known_and_not_mixed(x):
    assert tf.reduce_sum(x, reduction_indices=[0], keep_dims=True).shape.as_list() == [1, 3, 4]
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.reduce_sum(x, 0, reduction_indices=0)


@pytest.mark.parametrize(
    ("arguments", "count", "dtype"), [((5,), 5, "int32"), ((1, 9, 2), 4, "int32"), ((0.0, 1.0, 0.25), 4, "float32")]
)
def test_a_range_has_as_many_as_pythons(arguments, count, dtype):
    found = tf.range(*arguments)
    assert (found.shape.as_list(), found.dtype.name) == ([count], dtype)


def test_a_cast_to_the_same_type_is_nothing(x):
    assert tf.cast(x, tf.float32) is x
    assert tf.cast(x, tf.int32).dtype == tf.int32
    assert tf.to_float(tf.constant(1)).dtype == tf.float32


@pytest.mark.parametrize(
    ("a", "b", "more", "op", "shape"),
    [
        ([2, 3], [3, 4], {}, "MatMul", [2, 4]),
        ([3, 2], [3, 4], {"transpose_a": True}, "MatMul", [2, 4]),
        ([5, 2, 3], [5, 3, 4], {}, "BatchMatMulV2", [5, 2, 4]),
        ([5, 2, 3], [5, 4, 3], {"adjoint_b": True}, "BatchMatMulV2", [5, 2, 4]),
    ],
)
def test_products_of_matrices_and_of_batches(a, b, more, op, shape):
    found = tf.matmul(tf.zeros(a), tf.zeros(b), **more)
    assert (found.op.type, found.shape.as_list()) == (op, shape)


def test_a_matrix_is_not_turned_twice():
    with pytest.raises(ValueError, match="Only one of"):
        tf.matmul(tf.zeros([2, 2]), tf.zeros([2, 2]), transpose_a=True, adjoint_a=True)


def test_quotients_are_pythons():
    a = tf.constant([7], tf.int32)
    assert [f(a, 2).dtype.name for f in (tf.truediv, tf.divide, tf.div)] == ["float64", "float64", "int32"]


@pytest.mark.parametrize(("axes", "shape"), [(1, [2, 5]), ([[0, 1], [1, 0]], [5]), (0, [2, 3, 3, 2, 5])])
def test_tensordot_sums_what_axes_say(axes, shape):
    b = {1: [3, 5], 0: [3, 2, 5]}.get(axes if isinstance(axes, int) else -1, [3, 2, 5])
    assert tf.tensordot(tf.zeros([2, 3]), tf.zeros(b), axes).shape.as_list() == shape


def test_a_sum_of_nothing_is_refused_and_of_one_is_itself(x):
    assert tf.add_n([x]) is x
    assert tf.add_n([x, x]).op.type == "AddN"
    with pytest.raises(ValueError, match="inputs"):
        tf.add_n([])
    assert np.prod(tf.add_n([x, x, x]).shape.as_list()) == 24
