"""Losses: what is kept, and which reductions there are; values are TensorFlow's, in `tests/session_api.py`."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_losses_are_kept_and_summed():
    one = tf.losses.mean_squared_error([1.0, 2.0], [3.0, 2.0])
    other = tf.losses.absolute_difference([1.0], [4.0], weights=2.0)
    tf.losses.huber_loss([1.0], [4.0], loss_collection=None)
    assert tf.losses.get_losses() == [one, other]
    assert tf.losses.get_regularization_losses() == []
    with tf.Session() as session:
        assert session.run(tf.losses.get_total_loss()) == 2 + 6


def test_what_variables_cost_is_summed_and_nothing_costs_nothing():
    losses = [tf.losses.get_regularization_loss()]
    for cost in (1.0, 2.0):
        tf.losses.add_loss(tf.constant(cost), tf.GraphKeys.REGULARIZATION_LOSSES)
    losses.append(tf.losses.get_regularization_loss())
    with tf.Session() as session:
        assert session.run(losses) == [0, 3]


def test_arguments_are_in_the_order_of_tensorflow():
    losses = [tf.losses.huber_loss([1.0], [4.0], 1.0, 2.0), tf.losses.log_loss([1.0], [0.0], 1.0, 1.0)]
    with tf.Session() as session:
        assert session.run(losses) == [2.0 * 2.0 / 2 + 2.0 * (3.0 - 2.0), 0.0]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="Invalid Reduction Key all"):
        tf.losses.compute_weighted_loss([1.0], reduction="all")
    with pytest.raises(ValueError, match="labels must not be None"):
        tf.losses.mean_squared_error(None, [1.0])


def test_classes_may_be_a_column():
    column = tf.losses.sparse_softmax_cross_entropy([[1], [0]], [[1.0, 2.0], [3.0, 5.0]])
    row = tf.losses.sparse_softmax_cross_entropy([1, 0], [[1.0, 2.0], [3.0, 5.0]])
    with tf.Session() as session:
        assert session.run(column) == session.run(row)
