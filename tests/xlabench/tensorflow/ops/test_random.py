"""Random numbers have seeds of the graph and of the op, and the sizes and types that are asked for."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.ops.random import seeds

pytestmark = pytest.mark.usefixtures("graph")


def test_an_op_has_two_seeds_which_follow_from_the_graphs_and_its_own(graph):
    assert seeds(graph, None) == {"seed": 0, "seed2": 0}
    own = seeds(graph, 7)
    assert own["seed2"] == 7
    tf.set_random_seed(5)
    assert seeds(graph, 7) == {"seed": 5, "seed2": 7}
    assert seeds(graph, None)["seed"] == 5


@pytest.mark.parametrize("make", [tf.random_normal, tf.truncated_normal, tf.random_uniform])
def test_numbers_have_sizes_and_a_type(make):
    assert make([2, 3]).shape.as_list() == [2, 3]
    assert make([2], dtype=tf.float64).dtype == tf.float64


def test_whole_numbers_need_a_limit():
    assert tf.random_uniform([2], 0, 9, tf.int32).dtype == tf.int32
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        tf.random_uniform([2], dtype=tf.int32)


def test_dropout_takes_one_of_two_rates():
    x = tf.zeros([4])
    assert tf.nn.dropout(x, keep_prob=1.0).op.type == "Identity"
    assert tf.nn.dropout(x, rate=0.5).shape.as_list() == [4]
    for arguments in ({}, {"rate": 1.5}, {"rate": -0.1}):
        with pytest.raises(ValueError, match="rate"):
            tf.nn.dropout(x, **arguments)
