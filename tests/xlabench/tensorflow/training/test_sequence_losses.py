"""Losses along sequences are cross entropies, weighted, and averaged as asked."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = [pytest.mark.usefixtures("graph"), pytest.mark.slow]
LOGITS = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 5
TARGETS = np.array([[0, 1, 2], [3, 0, 1]], np.int32)
WEIGHTS = np.array([[1, 1, 0], [0.5, 1, 0]], np.float32)
LOSSES = WEIGHTS * (
    np.log(np.exp(LOGITS).sum(2)) - np.take_along_axis(LOGITS, TARGETS[..., np.newaxis].astype(np.int64), 2)[..., 0]
)


@pytest.fixture(autouse=True)
def _on_the_reference(monkeypatch):
    monkeypatch.setenv("XLABENCH_TF_CPU", "reference")


@pytest.mark.parametrize(
    ("times", "batch", "expected"),
    [
        (True, True, LOSSES.sum() / WEIGHTS.sum()),
        (True, False, LOSSES.sum(1) / WEIGHTS.sum(1)),
        (False, True, LOSSES.sum(0) / (WEIGHTS.sum(0) + 1e-12)),
        (False, False, LOSSES),
    ],
)
def test_it_is_averaged_as_asked(times, batch, expected):
    loss = tf.contrib.seq2seq.sequence_loss(tf.constant(LOGITS), TARGETS, WEIGHTS, times, batch)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(loss), expected, rtol=1e-5)


def test_the_older_form_takes_lists():
    logits, targets, weights = (list(np.moveaxis(one, 1, 0)) for one in (LOGITS, TARGETS, WEIGHTS))
    loss = tf.contrib.legacy_seq2seq.sequence_loss_by_example([*map(tf.constant, logits)], targets, weights)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(loss), LOSSES.sum(1) / WEIGHTS.sum(1), rtol=1e-5)


def test_ranks_are_checked():
    with pytest.raises(ValueError, match="batch_size x sequence_length"):
        tf.contrib.seq2seq.sequence_loss(tf.constant(LOGITS), TARGETS[0], WEIGHTS)
