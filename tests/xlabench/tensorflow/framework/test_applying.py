"""Ops applied to Python values: names, types that inputs share, and what is said of those that do not fit."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply, attribute_value
from xlabench.tensorflow.framework.dtypes import as_dtype

pytestmark = pytest.mark.usefixtures("graph")


def test_numbers_take_the_type_of_the_tensor_beside_them_and_names_in_its_scope():
    x = tf.constant([1.0], "float64", name="x")
    for inputs in ([x, 2], [2, x]):
        made = apply("AddV2", inputs, {}, "sum")
        assert [one.dtype.name for one in made.inputs] == ["float64", "float64"]
    assert [one.name for one in made.inputs] == ["sum_1/x:0", "x:0"]


def test_attributes_that_are_none_are_left_to_their_defaults():
    made = apply("MatMul", [[[1.0]], [[2.0]]], {"transpose_a": None, "transpose_b": True})
    assert (made.get_attr("transpose_a"), made.get_attr("transpose_b")) == (False, True)


@pytest.mark.parametrize(
    ("op", "inputs", "kind", "said"),
    [
        ("AddV2", lambda x: [x, tf.constant([1])], TypeError, "Input 'y' of 'AddV2' Op has type int32 that does not"),
        ("ConcatV2", lambda x: [x, 0], TypeError, "Expected list for 'values' argument to 'ConcatV2' Op"),
        ("MatMul", lambda x: [[[1.0, 2.0]], [[1.0]]], ValueError, "Dimensions must be equal, but are 2 and 1"),
        ("NoSuchOp", lambda x: [x], NotHereError, "op NoSuchOp has no record"),
    ],
)
def test_what_does_not_fit_is_said_as_tensorflow_says_it(op, inputs, kind, said):
    x = tf.constant([1.0])
    with pytest.raises(kind, match=said):
        apply(op, inputs(x), {})


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", 3.0, 3),
        ("string", b"a", b"a"),
        ("type", "int8", as_dtype("int8").data_type),
        ("shape", [None, 2], tf.TensorShape([None, 2]).partial),
    ],
)
def test_python_values_become_attributes(kind, value, expected):
    assert attribute_value(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "values", "said"), [("list(int)", [1, 2.0], "i"), ("list(string)", ["a"], "s"), ("list(int)", [], "")]
)
def test_lists_say_what_they_hold(kind, values, said):
    made = attribute_value(kind, values)
    assert (made.kind, len(made.values)) == (said, len(values))
