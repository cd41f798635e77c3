"""Numbers follow from the seed alone; which these are is in `tests/session_training.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
DRAWN = {
    "stateless_uniform": lambda seed: tf.random.stateless_uniform([100], seed, 2.0, 3.0),
    "stateless_uniform of all integers": lambda seed: tf.random.stateless_uniform([100], seed, None, None, tf.int32),
    "stateless_normal": lambda seed: tf.random.stateless_normal(tf.TensorShape([100]), seed),
    "stateless_truncated_normal": lambda seed: tf.random.stateless_truncated_normal([100], seed),
    "stateless_categorical": lambda seed: tf.random.stateless_categorical([[0.0] * 50], 100, seed),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_the_same_seed_gives_the_same_numbers(kind):
    with tf.Session() as session:
        first, again, other = session.run([DRAWN[kind](seed) for seed in ([1, 2], [1, 2], [2, 1])])
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.9


def test_integers_have_two_ends_or_none():
    with pytest.raises(ValueError, match="both None or not None"):
        tf.random.stateless_uniform([2], [1, 2], None, 5, tf.int32)
