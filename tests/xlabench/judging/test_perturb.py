"""Numbers are moved by units of the last place, and nothing else about them changes."""

import ml_dtypes
import numpy as np
import pytest

from xlabench.judging.perturb import move

DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_moves_by_so_many_units_at_most(dtype):
    ones = np.ones(1000, dtype)
    moved = move(ones, rng(), 2)
    assert moved.dtype == ones.dtype
    bits = np.unique(moved.view(f"uint{8 * moved.dtype.itemsize}").astype(int))
    at = int(np.ones((), dtype).view(f"uint{8 * moved.dtype.itemsize}"))
    assert set(bits) == {at + step for step in range(-2, 3)}


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_and_infinities_stay_and_signs_do(dtype):
    values = np.array([0.0, -0.0, np.inf, -np.inf, -1.0], dtype)
    moved = move(np.tile(values, 50), rng(), 1).astype(np.float64).reshape(50, 5)
    assert (moved[:, :2] == 0).all()
    assert np.signbit(moved[:, 1]).all()
    assert np.isinf(moved[:, 2:4]).all()
    assert (moved[:, 4] < 0).all()


def test_a_nan_stays_one_and_gets_a_sign_at_random():
    moved = move(np.full(100, np.nan, np.float32), rng(), 1)
    assert np.isnan(moved).all()
    assert 10 < np.signbit(moved).sum() < 90


def test_the_largest_number_may_overflow():
    moved = move(np.full(100, np.finfo(np.float32).max), rng(), 1)
    assert np.isinf(moved).any()
    assert not np.isnan(moved).any()


def test_nothing_is_moved_by_nothing():
    values = np.array([1.0, -2.0, 0.0], np.float32)
    assert move(values, rng(), 0).tobytes() == values.tobytes()
