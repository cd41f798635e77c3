"""Values of Python become tensors of the types that TensorFlow 1 gives them, and none is made another number."""

import ml_dtypes
import numpy as np
import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework.convert import is_symbolic, tensor_value
from xlabench.tensorflow.framework.shapes import TensorShape

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "int32"),
        (1 << 40, "int64"),
        (1.0, "float32"),
        (1e300, "float32"),
        (1j, "complex64"),
        (True, "bool"),
        ([], "float32"),
        (np.float64(1), "float64"),
        (np.zeros(2, np.int8), "int8"),
        (np.zeros(2, ml_dtypes.bfloat16), "bfloat16"),
        (TensorShape([2, 3]), "int32"),
        ("text", "string"),
        ([b"a", "b"], "string"),
    ],
)
def test_a_value_has_a_type_of_its_own(value, name):
    assert str(tensor_value(value).type) == name


@pytest.mark.parametrize(
    ("value", "name"), [(1, "float32"), (1, "complex64"), (1, "int8"), ([], "int32"), (1.5, "bfloat16"), (True, "bool")]
)
def test_a_number_may_be_of_a_wider_kind(value, name):
    assert str(tensor_value(value, name).type) == name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1.5, "int32"),
        (1, "bool"),
        (True, "int32"),
        (1j, "float32"),
        (128, "int8"),
        (-1, "uint8"),
        ("a", "int32"),
        (1, "string"),
    ],
)
def test_a_number_is_never_made_another(value, name):
    with pytest.raises(TypeError, match="Expected"):
        tensor_value(value, name)


@pytest.mark.parametrize(("value", "error"), [(None, ValueError), ([[1], [1, 2]], ValueError), (object(), TypeError)])
def test_what_is_no_tensor_is_refused(value, error):
    with pytest.raises(error):
        tensor_value(value)


def test_a_shape_repeats_the_last_element_and_takes_no_more():
    assert tensor_value([1, 2], shape=[2, 2]).array().tolist() == [[1, 2], [2, 2]]
    assert tensor_value(0, shape=[3]).array().tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match=r"Too many elements provided\. Takes at most 1, but got 2"):
        tensor_value([1, 2], shape=[1])
    with pytest.raises(ValueError, match="Too many elements"):
        tensor_value([1, 2], shape=[1, 2], is_exact=True)


def test_tensors_in_lists_are_packed():
    x = tf.constant(1.0)
    packed = tf.convert_to_tensor([[x, 2.0], [3.0, x]])
    assert packed.op.type == "Pack"
    assert packed.shape.as_list() == [2, 2]
    assert is_symbolic([[1, (x,)]])
    assert not is_symbolic([[1], np.ones(2)])


def test_a_preferred_type_is_taken_if_it_can_be():
    assert tf.convert_to_tensor(1, preferred_dtype=tf.float64).dtype == tf.float64
    assert tf.convert_to_tensor(1.5, preferred_dtype=tf.int32).dtype == tf.float32
    x = tf.constant(1.0)
    assert tf.convert_to_tensor(x) is x
    with pytest.raises(ValueError, match="float32"):
        tf.convert_to_tensor(x, dtype=tf.int32)
