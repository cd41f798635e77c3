"""Error-free transforms lose nothing."""

from fractions import Fraction

import numpy as np

from compiler.ir.error_free import two_sum


def test_sum_and_error_are_the_sum_of_both_numbers_whatever_their_sizes():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 200)) * 2.0 ** rng.integers(-60, 60, (2, 200))
    total, error = two_sum(a, b)
    np.testing.assert_array_equal(total, a + b)
    for numbers in zip(a, b, total, error, strict=True):
        x, y, rounded, lost = map(Fraction, numbers)
        assert x + y == rounded + lost
