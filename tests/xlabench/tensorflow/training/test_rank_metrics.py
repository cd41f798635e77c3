"""The first k of several batches, counted by Python's sets; TensorFlow's are in `tests/session_training.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
RANDOM = np.random.RandomState(0)
SCORES = RANDOM.rand(3, 4, 6).astype(np.float32)
LABELS = RANDOM.randint(0, 6, [3, 4, 2])
K = 3


def counted(metric, labels=LABELS):
    wanted, scores = tf.placeholder(tf.int64, labels.shape[1:]), tf.placeholder(tf.float32, SCORES.shape[1:])
    value, update = metric(wanted, scores)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for one, other in zip(labels, SCORES, strict=True):
            session.run(update, {wanted: one, scores: other})
        return session.run(value)


def sets():
    """Right classes and those that were found, of each example of each batch."""
    first = np.argsort(-SCORES, axis=-1)[..., :K]
    return [
        (set(one.tolist()), other.tolist())
        for one, other in zip(LABELS.reshape(-1, 2), first.reshape(-1, K), strict=True)
    ]


@pytest.mark.parametrize("only", [None, 2])
def test_shares_are_of_sets(only):
    kept = [({n for n in one if only in (None, n)}, {n for n in other if only in (None, n)}) for one, other in sets()]
    both = sum(len(one & other) for one, other in kept)
    precision = counted(lambda *pair: tf.metrics.precision_at_k(*pair, K, class_id=only))
    recall = counted(lambda *pair: tf.metrics.recall_at_k(*pair, K, class_id=only))
    np.testing.assert_allclose(precision, both / sum(len(other) for _, other in kept))
    np.testing.assert_allclose(recall, both / sum(len(one) for one, _ in kept))


def test_precision_is_averaged_where_something_is_right():
    found = counted(lambda *pair: tf.metrics.average_precision_at_k(*pair, K))
    each = []
    for one, other in sets():
        hits = np.cumsum([n in one for n in other])
        each.append(sum(hits[i] / (i + 1) for i, n in enumerate(other) if n in one) / min(2, K))
    np.testing.assert_allclose(found, np.mean(each))


def test_one_label_needs_no_dimension_of_its_own():
    found = counted(lambda *pair: tf.metrics.recall_at_k(*pair, K), LABELS[..., 0])
    first = np.argsort(-SCORES, axis=-1)[..., :K]
    np.testing.assert_allclose(found, (first == LABELS[..., :1]).any(-1).mean())


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="Invalid k=0"):
        tf.metrics.average_precision_at_k([1], [[0.5, 0.5]], 0)
    with pytest.raises(ValueError, match="Unexpected labels shape"):
        tf.metrics.recall_at_k([[[1]]], [[0.5, 0.5]], 1)
