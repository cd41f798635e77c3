"""One step of softmax regression is the gradient's, and the digits that come out right are counted."""

import numpy as np
import pytest

import compiler
from suites.models.mnist import CLASSES, PIXELS, evaluation, train_step

BATCH, RATE = 3, 0.005
DRAW = np.random.default_rng(5)
X = DRAW.random((BATCH, PIXELS)).astype(np.float32)
W = (0.1 * DRAW.standard_normal((PIXELS, CLASSES))).astype(np.float32)
B = DRAW.standard_normal(CLASSES).astype(np.float32)
LABELS = np.array([0, 4, 9])
Y = np.eye(CLASSES, dtype=np.float32)[LABELS]


def loss(w, b):
    logits = X.astype(np.float64) @ w + b
    return np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(BATCH), LABELS])


def test_a_step_goes_down_the_gradient_of_the_loss():
    w, b, found = compiler.interpret(train_step(BATCH, learning_rate=RATE), W, B, X, Y)
    logits = X.astype(np.float64) @ W + B
    error = np.exp(logits) / np.exp(logits).sum(1, keepdims=True) - Y
    np.testing.assert_allclose(found, loss(W, B), rtol=1e-5)
    np.testing.assert_allclose(w, W - RATE / BATCH * X.T @ error, atol=1e-5)
    np.testing.assert_allclose(b, B - RATE / BATCH * error.sum(0), atol=1e-5)
    assert loss(w, b) < found


@pytest.mark.parametrize("missing", range(BATCH + 1))
def test_rows_without_a_label_do_not_count(missing):
    labels = Y.copy()
    labels[:missing] = 0
    (found,) = compiler.interpret(evaluation(BATCH), W, B, X, labels)
    right = np.argmax(X @ W + B, 1) == LABELS
    assert found == right[missing:].sum()
