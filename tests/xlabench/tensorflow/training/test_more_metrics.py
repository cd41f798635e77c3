"""Metrics over several batches, by formulas of NumPy; one batch of TensorFlow's is in `tests/session_training.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
RANDOM = np.random.RandomState(0)
LABELS, FOUND = RANDOM.randint(0, 3, [4, 5]), RANDOM.randint(0, 4, [4, 5])


def counted(metric, *batches):
    """What a metric gives before, and after each batch."""
    inputs = [tf.placeholder(np.asarray(one).dtype, np.asarray(one).shape) for one in batches[0]]
    value, update = metric(*inputs)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        found = [session.run(value)]
        for batch in batches:
            session.run(update, dict(zip(inputs, batch, strict=True)))
            found.append(session.run(value))
    return found


def matrix(labels, found, size):
    counts = np.zeros([size, size])
    np.add.at(counts, (labels.ravel(), found.ravel()), 1)
    return counts


def test_classes_that_were_met_are_averaged():
    pairs = list(zip(LABELS, FOUND, strict=True))
    values = counted(lambda labels, found: tf.metrics.mean_iou(labels, found, 5), *pairs)
    assert values[0] == 0
    for number in range(1, len(values)):
        counts = matrix(LABELS[:number], FOUND[:number], 5)
        united = counts.sum(0) + counts.sum(1) - counts.diagonal()
        met = united > 0
        np.testing.assert_allclose(values[number], (counts.diagonal()[met] / united[met]).mean(), rtol=1e-6)


def test_all_classes_count_alike():
    values = counted(
        lambda labels, found: tf.metrics.mean_per_class_accuracy(labels, found, 4), *zip(LABELS, FOUND, strict=True)
    )
    counts = matrix(LABELS, FOUND, 4)
    shares = np.divide(counts.diagonal(), counts.sum(1), out=np.zeros(4), where=counts.sum(1) > 0)
    np.testing.assert_allclose(values[-1], shares.mean(), rtol=1e-6)


def test_means_over_batches():
    batches = [(RANDOM.rand(3).astype(np.float32),) for _ in range(3)]
    every = np.array(batches)[:, 0]
    np.testing.assert_allclose(counted(tf.metrics.mean_tensor, *batches)[-1], every.mean(0), rtol=1e-6)
    below = counted(lambda values: tf.metrics.percentage_below(values, 0.5), *batches)
    np.testing.assert_allclose(below[-1], (every < 0.5).mean(), rtol=1e-6)
    others = [(one[0], one[0] * 2) for one in batches]
    errors = counted(lambda labels, found: tf.metrics.mean_relative_error(labels, found, labels), *others)
    np.testing.assert_allclose(errors[-1], 1, rtol=1e-6)


def test_counts_are_in_the_variables_that_tensorflow_has():
    tf.metrics.mean_iou([1], [1], 2)
    tf.metrics.mean_tensor([1.0], updates_collections="counts")
    names = ["mean_iou/total_confusion_matrix", "mean/total_tensor", "mean/count_tensor"]
    assert [one.op.name for one in tf.local_variables()] == names
    assert len(tf.get_collection("counts")) == 1
