"""Losses have a number for each row, and their operands are named."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.zeros([4, 5])


def test_a_loss_has_one_number_for_each_row(x):
    labels = tf.zeros([4], tf.int32)
    assert tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x).shape.as_list() == [4]
    assert tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x).shape.as_list() == [4]
    assert tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=x).shape.as_list() == [4, 5]


def test_labels_and_logits_are_named(x):
    with pytest.raises(ValueError, match="named arguments"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(x, x)
    with pytest.raises(ValueError, match="Both `labels` and `logits` must be provided"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=x)
