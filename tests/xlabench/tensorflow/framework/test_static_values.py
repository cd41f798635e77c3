"""What is known of a tensor before anything runs."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_constants_and_sizes_are_known():
    p = tf.placeholder(tf.float32, [2, None])
    assert tf.get_static_value(tf.constant([1.5, 2.0])).tolist() == [1.5, 2.0]
    assert tf.contrib.util.constant_value(tf.constant(["a", "b"])).tolist() == [b"a", b"b"]
    assert tf.get_static_value(tf.rank(p)) == 2
    assert tf.get_static_value(tf.shape(tf.zeros([2, 3]))).tolist() == [2, 3]
    assert tf.get_static_value(p) is None
    assert tf.get_static_value(tf.shape(p)) is None
    assert tf.get_static_value(tf.Variable(1.0)) is None
    assert tf.get_static_value(3) == 3


@pytest.mark.parametrize(
    ("make", "is_tensor", "is_numeric"),
    [
        (lambda: tf.constant(1), True, True),
        (lambda: tf.constant([1 + 2j]), True, True),
        (lambda: tf.constant([True]), True, False),
        (lambda: tf.constant("a"), True, False),
        (lambda: tf.Variable(1.0), True, False),
        (lambda: np.ones(2), False, False),
        (lambda: 3, False, False),
    ],
    ids=["integer", "complex", "boolean", "text", "variable", "array", "number"],
)
def test_tensors_are_told_from_other_things(make, is_tensor, is_numeric):
    made = make()
    assert (tf.is_tensor(made), tf.is_numeric_tensor(made)) == (is_tensor, is_numeric)
