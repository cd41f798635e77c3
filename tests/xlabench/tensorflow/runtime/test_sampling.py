"""Classes that are drawn are those that TensorFlow 2.21 draws by the same seeds, in this run and the next."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
TRUE = [[3], [0]]
OF = {
    "uniform": {"range_max": 50},
    "log_uniform": {"range_max": 50},
    "fixed_unigram": {
        "range_max": 10,
        "distortion": 0.75,
        "num_reserved_ids": 2,
        "unigrams": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
    },
}
DRAWN = {
    ("uniform", False): ([39, 49, 38, 24, 6, 22, 19, 49], [19, 47, 11, 47, 16, 26, 6, 8]),
    ("uniform", True): ([39, 49, 38, 24, 6, 22, 19, 45], [19, 47, 11, 16, 26, 6, 8, 33]),
    ("log_uniform", False): ([29, 0, 5, 25, 0, 5, 10, 2], [46, 4, 5, 20, 14, 46, 0, 5]),
    ("log_uniform", True): ([29, 0, 5, 25, 10, 2, 1, 18], [46, 4, 5, 20, 14, 0, 10, 17]),
    ("fixed_unigram", False): ([6, 4, 9, 8, 9, 6, 5, 6], [4, 4, 7, 9, 5, 6, 7, 3]),
    ("fixed_unigram", True): ([6, 4, 9, 8, 5, 3, 7, 2], [4, 7, 9, 5, 6, 3, 8, 2]),
}
EXPECTED = {
    ("uniform", False): ([0.16, 0.16], [0.16, 0.16, 0.16]),
    ("uniform", True): ([0.1829272, 0.1829272], [0.1829272, 0.1829272, 0.1829272]),
    ("log_uniform", False): ([0.4540253, 1.4103315], [0.0667167, 1.4103315, 0.3136470]),
    ("log_uniform", True): ([0.5837250, 0.9454740], [0.1180487, 0.9454740, 0.4511482]),
    ("fixed_unigram", False): ([0.5599576, 0.0], [1.1132947, 0.7589682, 1.5837992]),
    ("fixed_unigram", True): ([0.9409892, 0.0], [0.9971030, 0.9795021, 0.9998167]),
}


def sampler(name, count=8, *, unique):
    """What one of the samplers gives."""
    return getattr(tf.nn, f"{name}_candidate_sampler")(TRUE, 1, count, unique, seed=7, **OF[name])


@pytest.mark.parametrize(("name", "unique"), DRAWN)
def test_classes_are_those_that_tensorflow_draws(name, unique):
    given = sampler(name, unique=unique)
    with tf.Session() as session:
        runs = [session.run(given) for _ in range(2)]
    for (drawn, of_true, of_drawn), right in zip(runs, DRAWN[name, unique], strict=True):
        assert drawn.tolist() == right
        assert (of_true.dtype, of_drawn.dtype) == (np.float32, np.float32)
    for found, right in zip(runs[0][1:], EXPECTED[name, unique], strict=True):
        np.testing.assert_allclose(found.reshape(-1)[: len(right)], right, rtol=1e-6)


def test_hits_are_where_what_was_drawn_is_true():
    """Of what was drawn twice the last."""
    hits = tf.nn.compute_accidental_hits([[3, 1], [0, 3]], [3, 5, 0, 3], 2)
    with tf.Session() as session:
        rows, positions, weights = session.run(hits)
    assert (rows.tolist(), positions.tolist()) == ([0, 1, 1], [3, 2, 3])
    assert (weights == np.finfo(np.float32).min).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sampler("fixed_unigram", 11, unique=True), "InvalidArgumentError", "range is too small"),
        (
            lambda: tf.nn.uniform_candidate_sampler([[1, 2]], 1, 2, unique=True, range_max=9),
            "InvalidArgumentError",
            "matrix with num_true columns",
        ),
        (
            lambda: tf.nn.fixed_unigram_candidate_sampler(TRUE, 1, 2, unique=True, range_max=9, unigrams=[1.0]),
            "InvalidArgumentError",
            "weights of 1 classes",
        ),
        (
            lambda: tf.nn.fixed_unigram_candidate_sampler(TRUE, 1, 2, unique=True, range_max=9, vocab_file="words"),
            "UnimplementedError",
            "give all of them as unigrams",
        ),
    ],
    ids=range(4),
)
def test_what_cannot_be_drawn_is_refused(make, error, message):
    with tf.Session() as session, pytest.raises(getattr(tf.errors, error), match=message):
        session.run(make())
