"""Tensors and operations as programs hold them: what they say of themselves, and what Python may not ask."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_a_tensor_is_an_output_of_its_operation():
    x = tf.placeholder("float32", [None, 3], name="x")
    y = tf.reduce_sum(x, name="y")
    assert (y.name, y.op.name, y.op.type, y.op.outputs[0] is y) == ("y:0", "y", "Sum", True)
    assert next(iter(y.op.inputs)) is x
    assert (y.dtype, y.shape.as_list(), x.shape.as_list()) == (tf.float32, [], [None, 3])


def test_python_may_not_ask_for_a_value():
    x = tf.placeholder("float32", [2])
    with pytest.raises(TypeError, match="as a Python `bool` is not allowed"):
        bool(x)
    with pytest.raises(TypeError, match="Iterating over a symbolic"):
        iter(x)


def test_sizes_may_be_said_and_not_gainsaid():
    x = tf.placeholder("float32", [None, 3])
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match=r"must be equal|not compatible"):
        x.set_shape([4, 3])
    assert x.shape.as_list() == [2, 3]


def test_attributes_are_pythons_values():
    x = tf.placeholder("float32", [2, None], name="x")
    op = tf.matmul(x, x, transpose_b=True).op
    assert (op.get_attr("transpose_a"), op.get_attr("transpose_b"), op.get_attr("T")) == (False, True, tf.float32)
    with pytest.raises(ValueError, match="has no attr named 'nothing'"):
        op.get_attr("nothing")


def test_operations_that_are_waited_for_are_no_inputs():
    x, first = tf.constant(1.0, name="x"), tf.no_op(name="first")
    with tf.control_dependencies([first]):
        y = tf.negative(x)
    assert [one.name for one in y.op.inputs] == ["x:0"]
    assert [one.name for one in y.op.control_inputs] == ["first"]
