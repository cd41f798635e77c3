"""Enumerations have TensorFlow's values."""

import xlabench.tensorflow as tf


def test_values_are_those_of_tensorflow():
    assert tf.AggregationMethod.DEFAULT == tf.AggregationMethod.ADD_N == 0
    assert (tf.AggregationMethod.EXPERIMENTAL_TREE, tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N) == (1, 2)
    assert [one.value for one in tf.UnconnectedGradients] == ["none", "zero"]
    assert [one.value for one in tf.VariableSynchronization] == [0, 1, 2, 3]
    assert [one.value for one in tf.VariableAggregation] == [0, 1, 2, 3]
