"""Areas and shares at thresholds, counted by NumPy over batches; TensorFlow's are in `tests/session_training.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
RANDOM = np.random.RandomState(0)
LABELS = RANDOM.randint(0, 2, [3, 20])
CHANCES = np.clip(0.3 * LABELS + 0.7 * RANDOM.rand(3, 20), 0, 1).astype(np.float32)
LIMITS = [0.2, 0.5, 0.7]


def counted(metric):
    labels, chances = tf.placeholder(tf.bool, [None]), tf.placeholder(tf.float32, [None])
    value, update = metric(labels, chances)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for pair in zip(LABELS > 0, CHANCES, strict=True):
            session.run(update, dict(zip((labels, chances), pair, strict=True)))
        return session.run(value)


def is_found():
    return CHANCES.ravel() > np.array(LIMITS, np.float32)[:, None]


COUNTS = {
    "true_positives": lambda labels, found: labels & found,
    "false_positives": lambda labels, found: ~labels & found,
    "true_negatives": lambda labels, found: ~labels & ~found,
    "false_negatives": lambda labels, found: labels & ~found,
}


@pytest.mark.parametrize("kind", COUNTS)
def test_each_threshold_is_counted(kind):
    found = counted(lambda labels, chances: getattr(tf.metrics, f"{kind}_at_thresholds")(labels, chances, LIMITS))
    np.testing.assert_array_equal(found, COUNTS[kind](LABELS.ravel() > 0, is_found()).sum(1))


@pytest.mark.parametrize(("kind", "of"), [("precision", is_found), ("recall", lambda: LABELS.ravel()[None] > 0)])
def test_shares_at_each_threshold(kind, of):
    found = counted(lambda labels, chances: getattr(tf.metrics, f"{kind}_at_thresholds")(labels, chances, LIMITS))
    right = ((LABELS.ravel() > 0) & is_found()).sum(1)
    np.testing.assert_allclose(found, right / of().sum(1), rtol=1e-5)


def test_the_area_is_how_often_a_right_one_is_likelier():
    likelier = CHANCES[LABELS > 0][:, None] - CHANCES[LABELS == 0]
    expected = ((likelier > 0) + 0.5 * (likelier == 0)).mean()
    np.testing.assert_allclose(counted(lambda *pair: tf.metrics.auc(*pair, num_thresholds=2000)), expected, atol=2e-3)


@pytest.mark.parametrize("curve", ["ROC", "PR"])
def test_the_rules_for_sums_lie_beside_each_other(curve):
    rules = ("minoring", "trapezoidal", "majoring")
    least, middle, most = (
        counted(lambda *pair, rule=rule: tf.metrics.auc(*pair, num_thresholds=5, curve=curve, summation_method=rule))
        for rule in rules
    )
    assert least < middle < most


def test_sensitivity_and_specificity_follow_from_each_other():
    share = counted(lambda *pair: tf.metrics.sensitivity_at_specificity(*pair, 0.8))
    back = counted(lambda *pair: tf.metrics.specificity_at_sensitivity(*pair, float(share)))
    assert abs(back - 0.8) < 0.1


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.metrics.auc([1], [0.5], curve="other"),
        lambda: tf.metrics.auc([1], [0.5], summation_method="other"),
        lambda: tf.metrics.sensitivity_at_specificity([1], [0.5], 1.5),
        lambda: tf.metrics.specificity_at_sensitivity([1], [0.5], -0.5),
    ],
    ids=["curve", "summation", "specificity", "sensitivity"],
)
def test_what_is_none_is_refused(call):
    with pytest.raises(ValueError, match=r"(?i)must be|invalid"):
        call()


def test_what_is_no_chance_is_an_error_where_it_is_known():
    """Of constants that is when the graph is made, as in TensorFlow."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
        tf.metrics.auc([1, 0], [1.5, 0.2])
    chances = tf.placeholder(tf.float32, [2])
    _, update = tf.metrics.auc([1, 0], chances)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            session.run(update, {chances: [1.5, 0.2]})
