"""Losses of drawn classes, by their definitions: with all classes drawn once they are those of all classes."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
WEIGHTS = np.array([[0.5, -1], [1, 2], [-0.25, 0.75], [2, 0]], np.float32)
BIASES = np.array([0.5, 0, -1, 0.25], np.float32)
INPUTS = np.array([[1, 2], [-1, 0.5], [0.5, 0.5]], np.float32)
LOGITS = INPUTS @ WEIGHTS.T + BIASES
LABELS = np.array([[1], [3], [0]])
EVERY = np.arange(4), np.float32(1), np.ones(4, np.float32)
"""What a sampler would give that draws every class once, and expects that."""


def lost(loss, labels=LABELS, *, hits, expected=1.0):
    """A loss when every class is drawn, and its gradient to the weights."""
    drawn, of_true, of_drawn = (tf.constant(one) for one in EVERY)
    weights = tf.constant(WEIGHTS)
    values = drawn, tf.ones(labels.shape) * of_true * expected, of_drawn * expected
    found = loss(weights, BIASES, labels, INPUTS, 4, 4, labels.shape[1], values, hits)
    [slope] = map(tf.convert_to_tensor, tf.gradients(found, weights))
    with tf.Session() as session:
        return session.run([found, slope])


def test_the_softmax_loss_of_all_classes_is_the_cross_entropy():
    found, slope = lost(tf.nn.sampled_softmax_loss, hits=True)
    shares = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    np.testing.assert_allclose(found, -np.log(shares[np.arange(3), LABELS[:, 0]]), rtol=1e-5)
    right = np.einsum("rc,rw->cw", shares - np.eye(4)[LABELS[:, 0]], INPUTS)
    np.testing.assert_allclose(slope, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("hits", [False, True])
def test_the_contrastive_loss_adds_up_that_of_each_class(hits):
    """Without accidental hits a class that is drawn and true is no drawn one."""
    labels = np.array([[1, 2], [3, 0], [0, 0]])
    found, _ = lost(tf.nn.nce_loss, labels, hits=hits, expected=0.5)
    logits = LOGITS + np.log(2)
    is_true = (labels[:, :, None] == np.arange(4)).any(1)
    of_drawn = np.where(hits & is_true, 0, np.log1p(np.exp(logits))).sum(1)
    picked = logits[np.arange(3)[:, None], labels]
    right = (np.log1p(np.exp(picked)) - picked / 2).sum(1) + of_drawn
    np.testing.assert_allclose(found, right, rtol=1e-5)


def test_classes_are_drawn_where_none_are_given():
    tf.set_random_seed(1)
    loss = tf.nn.sampled_softmax_loss(WEIGHTS, BIASES, LABELS, INPUTS, 2, 4)
    with tf.Session() as session:
        found = session.run(loss)
    assert (found > 0).all()
    assert found.shape == (3,)
