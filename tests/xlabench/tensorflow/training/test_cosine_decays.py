"""Learning rates along cosines: their formulas, in numbers; TensorFlow's are in `tests/session_training.py`."""

import itertools
import math

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def found(rate, *steps):
    step = tf.placeholder(tf.int64, [])
    made = rate(step)
    with tf.Session() as session:
        return [session.run(made, {step: number}) for number in steps]


def wave(share):
    return (1 + math.cos(math.pi * share)) / 2


@pytest.mark.parametrize(("longer", "starts"), [(1.0, [0, 8, 16, 24]), (2.0, [0, 8, 24, 56]), (3.0, [0, 8, 32, 104])])
@pytest.mark.parametrize("least", [0.0, 0.25])
def test_a_rate_begins_again_and_falls_for_longer(longer, starts, least):
    rates = found(lambda step: tf.train.cosine_decay_restarts(1.0, step, 8, longer, 0.5, least), *range(starts[-1]))
    for number, (start, end) in enumerate(itertools.pairwise(starts)):
        falls = [(1 - least) * 0.5**number * wave(step / (end - start)) + least for step in range(end - start)]
        np.testing.assert_allclose(rates[start:end], falls, atol=2e-3)


def test_a_rate_falls_along_a_line_and_waves():
    rates = found(lambda step: tf.train.linear_cosine_decay(0.5, step, 10, 1.0, 0.1, 0.01), 0, 5, 10, 99)
    expected = [0.5 * ((0.1 + 1 - done) * wave(2 * done) + 0.01) for done in (0, 0.5, 1, 1)]
    np.testing.assert_allclose(rates, expected, rtol=1e-5)


def test_noise_gets_less():
    tf.set_random_seed(1)
    made = [tf.train.noisy_linear_cosine_decay(1.0, step, 1000, 4.0, 1.0) for step in (0, 99)]
    with tf.Session() as session:
        drawn = np.array([session.run(made) for _ in range(200)])
    np.testing.assert_allclose(drawn.std(0), [2, 0.2], rtol=0.2)
