"""Operators of Python are ops, with numbers on either side, and give what NumPy gives."""

import operator

import numpy as np
import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework.operators import OPERATORS
from xlabench.tensorflow.framework.tensor import Tensor

pytestmark = pytest.mark.usefixtures("graph")
X = np.array([[7, -3], [2, 5]], np.float32)

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge")


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_one_of_tensors(name):
    assert getattr(Tensor, name) is OPERATORS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", BINARY)
def test_a_number_may_stand_on_either_side(name):
    function = getattr(operator, name)
    x = tf.constant(X)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(run(function(x, 2)), function(X, 2), rtol=1e-6)
        np.testing.assert_allclose(run(function(2, abs(x))), function(2, abs(X)), rtol=1e-6)


@pytest.mark.slow
def test_on_integers_logic_is_on_bits_and_quotients_are_floats():
    a, b = tf.constant([6, 5]), tf.constant([3, 5])
    assert run([a & b, a | b, a ^ b, ~a])[0].tolist() == [2, 5]
    assert run(a ^ b).tolist() == [5, 0]
    assert run(a / b).tolist() == [2.0, 1.0]
    assert (a / b).dtype == tf.float64
    p = tf.constant([True, False])
    assert run(p ^ True).tolist() == [False, True]
    assert run(~p).tolist() == [False, True]


@pytest.mark.parametrize(("kind", "real"), [("complex64", "float32"), ("complex128", "float64"), ("int32", "int32")])
def test_the_distance_from_zero_is_real(kind, real):
    x = tf.constant([-5, 2], kind)
    assert ([one.dtype for one in (abs(x), tf.abs(x))], tf.abs(x).op.name) == ([tf.as_dtype(real)] * 2, "Abs_2")


PARTS = {
    "row": np.s_[1],
    "negative": np.s_[-1, 0],
    "slice": np.s_[:, 1:],
    "backwards": np.s_[::-1],
    "ellipsis": np.s_[..., 0],
    "new axis": np.s_[:, None, 1],
    "empty": np.s_[2:],
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_numpys(name):
    assert run(tf.constant(X)[PARTS[name]]).tolist() == X[PARTS[name]].tolist()


def test_what_is_no_index_is_refused():
    for index in (1.5, "a", True):
        with pytest.raises(TypeError, match="valid indices"):
            tf.constant(X)[index]


def test_what_cannot_become_a_tensor_is_left_to_its_own_operator():
    class Other:
        def __radd__(self, other):
            return "mine"

    assert tf.constant(1.0) + Other() == "mine"
    assert (tf.constant(1.0) == tf.constant(1.0)) is False


def test_types_that_differ_are_not_divided():
    with pytest.raises(TypeError, match=r"must have the same dtype|float32"):
        tf.constant(1.0) / tf.constant(1)
