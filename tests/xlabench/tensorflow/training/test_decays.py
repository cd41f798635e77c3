"""Learning rates that fall with the number of steps: their formulas, in numbers."""

import math

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
STEPS = (0, 1, 10, 11, 25)


def found(rate):
    step = tf.placeholder(tf.int64, [])
    made = rate(step)
    with tf.Session() as session:
        return [session.run(made, {step: number}) for number in STEPS]


@pytest.mark.parametrize("staircase", [False, True])
@pytest.mark.parametrize(
    ("decay", "formula"),
    [
        (tf.train.exponential_decay, lambda done: 0.25**done),
        (tf.train.natural_exp_decay, lambda done: math.exp(-0.25 * done)),
        (tf.train.inverse_time_decay, lambda done: 1 / (1 + 0.25 * done)),
    ],
    ids=lambda given: given.__name__,
)
def test_a_rate_falls_in_so_many_steps(decay, formula, staircase):
    rates = found(lambda step: decay(0.5, step, 10, 0.25, staircase=staircase))
    expected = [0.5 * formula(step // 10 if staircase else step / 10) for step in STEPS]
    np.testing.assert_allclose(rates, expected, rtol=1e-6)


def test_a_rate_falls_to_another_and_stays_or_begins_again():
    rates = found(lambda step: tf.train.polynomial_decay(0.5, step, 10, 0.1, power=2.0))
    expected = [0.4 * (1 - min(step, 10) / 10) ** 2 + 0.1 for step in STEPS]
    np.testing.assert_allclose(rates, expected, rtol=1e-6)
    rates = found(lambda step: tf.train.polynomial_decay(0.5, step, 10, 0.1, cycle=True))
    steps = [10 * max(math.ceil(step / 10), 1) for step in STEPS]
    expected = [0.4 * (1 - step / whole) + 0.1 for step, whole in zip(STEPS, steps, strict=True)]
    np.testing.assert_allclose(rates, expected, rtol=1e-6)


def test_a_rate_falls_along_a_cosine():
    rates = found(lambda step: tf.train.cosine_decay(0.5, step, 10, 0.2))
    waves = [(1 + math.cos(math.pi * min(step, 10) / 10)) / 2 for step in STEPS]
    np.testing.assert_allclose(rates, [0.5 * (0.8 * wave + 0.2) for wave in waves], rtol=1e-6)


def test_a_rate_changes_behind_the_last_step_of_each():
    rates = found(lambda step: tf.train.piecewise_constant(step, [1, 10], [0.5, 0.25, 0.125]))
    assert rates == [0.5, 0.5, 0.25, 0.125, 0.125]
    assert found(lambda step: tf.train.piecewise_constant(step, [], [0.5])) == [0.5] * len(STEPS)
    with pytest.raises(ValueError, match="boundaries should be 1 less"):
        tf.train.piecewise_constant(0, [1], [0.5])
