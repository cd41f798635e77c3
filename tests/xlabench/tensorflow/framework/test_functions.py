"""A body of Python becomes a function that takes what it uses of the graph around."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework.functions import Traced

pytestmark = pytest.mark.usefixtures("graph")


def test_what_is_used_of_the_graph_around_is_captured_once(graph):
    x, y = tf.constant(1.0), tf.constant(2.0)
    traced = Traced(lambda a: a * y + y, [x], graph)
    assert [outer for outer, _ in traced.body.captures.values()] == [y]
    made = traced.function("f", [y])
    assert (len(made.inputs), len(made.outputs)) == (2, 1)
    assert {node.op for node in made.nodes} == {"Mul", "AddV2"}


def test_what_it_captures_may_be_handed_on(graph):
    x = tf.constant(1.0)
    traced = Traced(lambda: x * 2.0, [], graph)
    assert len(traced.function("f", [x], hands_on=True).outputs) == 2


def test_results_come_back_in_their_structure(graph):
    x = tf.constant(1.0)
    traced = Traced(lambda a: {"b": a, "a": [a * 2.0, tf.no_op()]}, [x], graph)
    assert traced.packed(["A", "B"]) == {"b": "B", "a": ["A", None]}


def test_effects_are_run_whenever_the_function_is(graph):
    variable = tf.Variable(1.0, use_resource=True)
    pure = Traced(lambda: tf.constant(1.0), [], graph)
    acting = Traced(lambda: variable.assign_add(1.0), [], graph)
    assert (pure.is_stateful, acting.is_stateful) == (False, True)
    handle = [outer for outer, _ in acting.body.captures.values()]
    made = acting.function("f", handle)
    assert made.control_returns if hasattr(made, "control_returns") else made
