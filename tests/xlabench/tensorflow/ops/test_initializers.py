"""Initializers give values of the sizes that a variable has, and say what they were made with."""

import numpy as np
import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.ops import initializers

pytestmark = pytest.mark.usefixtures("graph")
ALL = [
    tf.zeros_initializer(),
    tf.ones_initializer(),
    tf.constant_initializer(3.0),
    tf.random_normal_initializer(seed=1),
    tf.random_uniform_initializer(-1, 1),
    tf.truncated_normal_initializer(),
    tf.variance_scaling_initializer(),
    tf.glorot_uniform_initializer(),
    tf.glorot_normal_initializer(),
]


@pytest.mark.parametrize("make", ALL, ids=range(len(ALL)))
def test_values_have_the_sizes_and_type_that_are_asked_for(make):
    assert make([2, 3]).shape.as_list() == [2, 3]
    assert make([2, 3], tf.float64).dtype == tf.float64
    assert isinstance(make, initializers.Initializer)


def test_what_it_was_made_with_is_said():
    config = tf.random_normal_initializer(mean=1.0, stddev=2.0, seed=3).get_config()
    assert 3 in config.values()


@pytest.mark.parametrize(("value", "shape"), [(3.0, [2]), ([1.0, 2.0], [2]), (np.ones((2, 2)), [2, 2])])
def test_a_constant_is_spread_or_fits(value, shape):
    assert tf.constant_initializer(value)(shape).shape.as_list() == shape
