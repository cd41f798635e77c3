"""Histograms: every number is in the bucket that ends behind it, on both sides of zero."""

import numpy as np
import pytest

from xlabench.tensorflow.runtime.summaries import histogram

pytest.importorskip("google.protobuf")
VALUES = {
    "tiny": [1e-13, -1e-13, 5e-324, -5e-324],
    "huge": [1e300, -1e300, 1e20, -1e20],
    "zeros": [0.0, -0.0, 0.0],
    "many": np.random.default_rng(3).normal(size=1000).tolist(),
}


@pytest.mark.parametrize("name", VALUES)
def test_counts_are_those_of_the_numbers_between_limits(name):
    values = np.array(VALUES[name])
    made = histogram(values)
    ends, begins = np.array(made.bucket_limit), np.array([-np.inf, *made.bucket_limit[:-1]])
    counts = [int(((values >= begin) & (values < end)).sum()) for begin, end in zip(begins, ends, strict=True)]
    assert list(made.bucket) == counts
    assert (made.num, made.min, made.max) == (values.size, values.min(), values.max())
    assert not any(left == right == 0 for left, right in zip(made.bucket, made.bucket[1:], strict=False))
    assert made.sum == pytest.approx(values.sum())
    with np.errstate(over="ignore"):
        assert made.sum_squares == pytest.approx(np.square(values).sum())
