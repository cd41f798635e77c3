"""What stands for tensors and operations is found in its graph, and what does not is refused as TensorFlow does."""

import pytest

import xlabench.tensorflow as tf


@pytest.fixture
def x(graph):
    return tf.constant(1.0, name="x")


def test_a_tensor_is_itself_its_name_or_its_variable(graph, x):
    variable = tf.Variable(1.0, name="v")
    assert graph.as_graph_element(x) is graph.as_graph_element("x:0") is x
    assert graph.as_graph_element("x") is graph.as_graph_element(x.op) is x.op
    assert graph.as_graph_element(variable).graph is graph


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("gone", KeyError, "refers to an Operation not in the graph"),
        ("gone:0", KeyError, "'gone', does not exist in the graph"),
        ("x:1", KeyError, "exists but only has 1 outputs"),
        ("x:y", ValueError, "is not a valid one"),
        (3, TypeError, "Can not convert a int into a Tensor or Operation"),
    ],
)
def test_what_is_not_there_is_said(graph, x, value, error, message):
    with pytest.raises(error, match=message):
        graph.as_graph_element(value)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("x", "allow_operation", "refers to an Operation, not a Tensor"),
        ("y", "allow_operation", "looks like an .invalid. Operation name, not a Tensor"),
        ("x:0", "allow_tensor", "appears to refer to a Tensor, not a Operation"),
    ],
)
def test_what_is_not_wanted_is_refused(graph, x, value, kind, message):
    with pytest.raises(ValueError, match=message):
        graph.as_graph_element(value, **{kind: False})


def test_another_graphs_tensor_is_no_element_of_this_one(graph, x):
    with pytest.raises(ValueError, match="is not an element of this graph"):
        tf.Graph().as_graph_element(x)
