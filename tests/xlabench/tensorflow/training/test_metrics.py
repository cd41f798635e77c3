"""Metrics: what is counted over batches, which TensorFlow 2.21 counts, too."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
BATCHES = (([1, 0, 1, 1], [1, 1, 0, 1]), ([0, 0, 1, 0], [0, 1, 1, 0]))
COUNTED = {
    tf.metrics.accuracy: (2 / 4, 5 / 8),
    tf.metrics.mean_squared_error: (2 / 4, 3 / 8),
    tf.metrics.mean_absolute_error: (2 / 4, 3 / 8),
    tf.metrics.root_mean_squared_error: ((2 / 4) ** 0.5, (3 / 8) ** 0.5),
    tf.metrics.true_positives: (2, 3),
    tf.metrics.false_positives: (1, 2),
    tf.metrics.true_negatives: (0, 2),
    tf.metrics.false_negatives: (1, 1),
    tf.metrics.precision: (2 / 3, 3 / 5),
    tf.metrics.recall: (2 / 3, 3 / 4),
}


def counted(metric, weights=None):
    labels, predictions = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int32, [None])
    value, update = metric(labels, predictions, weights)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        before = session.run(value)
        after = [session.run(update, {labels: one, predictions: other}) for one, other in BATCHES]
        assert session.run(value) == after[-1]
    return before, after


@pytest.mark.parametrize("metric", COUNTED)
def test_batches_are_counted_together(metric):
    before, after = counted(metric)
    assert before == 0
    np.testing.assert_allclose(after, COUNTED[metric], rtol=1e-6)


@pytest.mark.parametrize(("metric", "expected"), [(tf.metrics.accuracy, [1 / 2, 2 / 4]), (tf.metrics.recall, [1, 1])])
def test_what_weighs_nothing_does_not_count(metric, expected):
    _, after = counted(metric, [1.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(after, expected, rtol=1e-6)


def test_variables_are_local_and_have_tensorflows_names():
    tf.metrics.accuracy([1], [1])
    tf.metrics.precision([1], [1], metrics_collections="found", updates_collections=["counts"])
    names = ["accuracy/total", "accuracy/count", "precision/true_positives/count", "precision/false_positives/count"]
    assert [variable.op.name for variable in tf.local_variables()] == names
    assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.local_variables()
    assert [len(tf.get_collection(key)) for key in ("found", "counts")] == [1, 1]
    assert tf.trainable_variables() == tf.global_variables() == []


@pytest.mark.parametrize("given", [[1.0, 0.0, 1.0], [[1.0], [0.0], [1.0]], [[[1.0]], [[0.0]], [[1.0]]]], ids=np.ndim)
def test_weights_get_the_rank_of_what_they_weigh(given):
    labels, found = tf.constant([[1.0], [2.0], [5.0]]), tf.constant([[1.0], [9.0], [2.0]])
    _, update = tf.metrics.mean_absolute_error(labels, found, weights=tf.constant(given))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update) == 1.5
