import ml_dtypes
import numpy as np
import pytest

from xlabench.cases.inputs import DTYPES
from xlabench.judging.tolerance import (
    EXACT,
    Tolerance,
    TolerancePolicy,
    default_tolerance,
    is_inexact,
    raw_bits,
    ulp_distance,
)

FLOATS = [dtype for dtype in DTYPES.values() if is_inexact(dtype) and dtype.kind != "c"]
EXACTS = [dtype for dtype in DTYPES.values() if not is_inexact(dtype)]


def _all_values(dtype):
    """Every finite value of a type of eight bits or fewer, in order, both zeros as one."""
    bits = int(ml_dtypes.finfo(dtype).bits)
    values = np.arange(1 << bits).astype(np.uint8).view(dtype)
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    return np.unique(finite).astype(dtype)


@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.itemsize == 1], ids=str)
def test_ulps_count_the_values_between_two_narrow_floats(dtype):
    values = _all_values(dtype)
    left, right = np.meshgrid(np.arange(len(values)), np.arange(len(values)))
    expected = np.abs(left - right).ravel().astype(np.uint64)
    np.testing.assert_array_equal(ulp_distance(values[left.ravel()], values[right.ravel()]), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_neighbours_are_one_ulp_apart(dtype):
    values = np.array([1, -1, 0, 1e-7, -np.finfo(dtype).max, np.finfo(dtype).tiny, np.inf], dtype)
    with np.errstate(over="ignore"):
        neighbours = np.nextafter(values, np.array(-np.inf, dtype))
    np.testing.assert_array_equal(ulp_distance(values, neighbours), 1)


@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.itemsize > 1], ids=str)
def test_the_zeros_are_one_value_and_nan_is_far_from_any_number(dtype):
    left = np.array([0.0, np.nan, np.nan, np.inf]).astype(dtype)
    right = np.array([-0.0, np.nan, 1.0, -np.inf]).astype(dtype)
    distance = ulp_distance(left, right)
    assert list(distance[:2]) == [0, 0]
    assert distance[2] == np.iinfo(np.uint64).max
    assert distance[3] == 2 * int(raw_bits(left[3]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_every_float_has_a_relative_bound_of_at_least_one_rounding(dtype):
    assert default_tolerance(dtype).rtol >= float(ml_dtypes.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", EXACTS, ids=str)
def test_integers_are_exact_whatever_the_policy(dtype):
    assert TolerancePolicy(rtol=0.1, atol=5.0).for_dtype(dtype) == EXACT


def test_an_explicit_absolute_bound_is_not_scaled():
    assert TolerancePolicy(atol=0.5).for_dtype(np.dtype("f4")) == Tolerance(1e-5, 0.5, 0.0)


def test_an_explicit_relative_bound_leaves_the_absolute_one():
    default = default_tolerance(np.dtype("f4"))
    assert TolerancePolicy(rtol=0.5).for_dtype(np.dtype("f4")) == Tolerance(0.5, default.atol, default.scaled)


def test_a_recipes_bound_keeps_the_part_that_grows_with_the_array():
    policy = TolerancePolicy(rtol=0.5, atol=0.25, scaled=True)
    assert policy.for_dtype(np.dtype("f4")) == Tolerance(0.5, 0.25, default_tolerance(np.dtype("f4")).scaled)


@pytest.mark.parametrize("bound", [-1.0, float("nan"), "tight"])
def test_what_is_no_bound_is_refused(bound):
    with pytest.raises(ValueError, match="is no bound"):
        TolerancePolicy(rtol=bound)
