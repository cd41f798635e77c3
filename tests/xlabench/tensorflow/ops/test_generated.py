"""Functions take what their rows say, by place or by name, old names too, and refuse what Python refuses."""

import inspect

import pytest

import xlabench.tensorflow as tf
from compiler.tf import RECORDS
from xlabench.tensorflow.ops.generated import function, raw
from xlabench.tensorflow.ops.rows import names

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize("name", names())
def test_every_function_says_its_arguments_and_what_it_does(name):
    made = function(name)
    assert "name" in inspect.signature(made).parameters
    assert made.__doc__
    assert made.__name__ == name.rpartition(".")[2]


def test_arguments_are_given_by_place_by_name_or_by_an_older_name():
    x = tf.constant([1.0])
    for made in (tf.expand_dims(x, 0), tf.expand_dims(input=x, axis=0), tf.expand_dims(x, dim=0)):
        assert made.op.type == "ExpandDims"
        assert made.shape.as_list() == [1, 1]
    assert tf.cumsum(x, reverse=True).op.node_def.attr["reverse"].b


def test_other_spellings_and_the_name_stand_where_tensorflow_has_them():
    assert list(inspect.signature(tf.expand_dims).parameters) == ["input", "axis", "name", "dim"]
    assert tf.depth_to_space(tf.zeros([1, 2, 2, 4]), 2, "mine").op.name == "mine"
    assert list(inspect.signature(tf.depth_to_space).parameters) == ["input", "block_size", "name", "data_format"]


def test_a_node_is_named_by_its_row_or_by_the_caller():
    x = tf.constant([1.0])
    assert tf.abs(x).op.name == "Abs"
    assert tf.add(x, x).op.name == "Add"
    assert tf.abs(x, name="mine").op.name == "mine"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tf.negative(), "missing required argument: 'x'"),
        (lambda x: tf.negative(x, what=1), "unexpected keyword argument 'what'"),
        (lambda x: tf.expand_dims(x, 0, axis=1), "multiple values for argument 'axis'"),
        (lambda x: tf.negative(x, "n", 3), "takes 2 positional arguments but 3 were given"),
    ],
)
def test_what_python_would_refuse_is_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call(tf.constant([1.0]))


def test_a_function_gives_one_output_several_or_the_operation():
    assert tf.no_op().type == "NoOp"
    found = raw("TopKV2")(input=tf.constant([1.0]), k=1)
    assert found == (found.values, found.indices)
    assert isinstance(raw("Unpack")(value=tf.constant([1.0, 2.0]), num=2), list)
    assert function("gone") is None


@pytest.mark.parametrize("op", ["Abs", "MatMul", "Pack", "Cast", "Conv2D"])
def test_raw_ops_take_what_their_signatures_have(op):
    taken = set(inspect.signature(raw(op)).parameters)
    assert {port.name for port in RECORDS[op].signature.inputs} <= taken
