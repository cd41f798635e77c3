"""What systems, batches and transforms leave open, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from wide_results import wide


@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE"])
@pytest.mark.parametrize("left", [True, False])
def test_what_follows_an_overflow_in_a_triangular_system_is_undecided(left, transpose) -> None:
    lower = (transpose == "NO_TRANSPOSE") == left
    rows = np.array([[8, 0, 0], [3e38, 5, 0], [1, 0, 8]], np.float32)
    right = np.array([[3e38, 0.008], [0, 5], [0, 8]], np.float32)
    shape = "f32[3,2]" if left else "f32[2,3]"
    lines = ("a = f32[3,3] parameter(0)", f"b = {shape} parameter(1)")
    end = f"ROOT r = {shape} triangular-solve(a, b), left_side={str(left).lower()}, lower={str(lower).lower()}"
    inputs = (rows if lower else rows.T.copy(), right if left else right.T.copy())
    (result,) = wide(*lines, f"{end}, unit_diagonal=false, transpose_a={transpose}", inputs=inputs)
    assert (result.undecided if left else result.undecided.T).tolist() == [[True, False]] * 3


@pytest.mark.parametrize("large", [-2.6e36, 2.0**64, -3.4e38])
def test_a_batch_whose_variance_leaves_the_range_is_undecided(large: float) -> None:
    """The variance itself, or the mean of the squares, which it may be made of."""
    lines = ("x = f32[4,1] parameter(0)", "s = f32[1] constant({4})")
    end = "ROOT r = (f32[4,1], f32[1], f32[1]) batch-norm-training(x, s, s), epsilon=0.0625, feature_index=1"
    normal, mean, variance = wide(*lines, end, inputs=(np.array([[0.5], [large], [1], [0]], np.float32),))
    assert normal.undecided.all()
    assert variance.undecided.all()
    assert not mean.undecided.any()


def test_a_transform_whose_sums_leave_the_range_is_undecided() -> None:
    lines = ("x = f64[4] parameter(0)", "ROOT r = c128[3] fft(x), fft_type=RFFT, fft_length={4}")
    (result,) = wide(*lines, inputs=(np.array([1e308, -1e308, 1e308, 0]),))
    assert result.undecided.all()
    (result,) = wide(*lines, inputs=(np.array([1e300, -1e300, 1e300, 0]),))
    assert not result.undecided.any()


def test_a_batch_that_leaves_the_range_before_its_mean_is_taken_off_is_undecided() -> None:
    lines = ("x = f64[2,1] parameter(0)", "s = f64[2] constant({-1.7976931348623157e308, 1})")
    lines += ("o = f64[2] constant({0, 0})", "m = f64[2] constant({1, 1})")
    lines += ("ROOT r = f64[2,1] batch-norm-inference(x, s, o, m, m), epsilon=0.0625, feature_index=0",)
    (result,) = wide(*lines, inputs=(np.array([[1.9], [1.9]]),))
    assert result.undecided.ravel().tolist() == [True, False]


def test_the_gradient_of_a_batch_is_open_where_sums_leave_the_range() -> None:
    lines = ("x = f16[16,2] parameter(0)", "s = f16[2] constant({1, 1})", "m = f16[2] constant({-83, -40})")
    lines += ("ROOT r = (f16[16,2], f16[2], f16[2]) batch-norm-grad(x, s, m, s, x), epsilon=0.0625, feature_index=1",)
    gradient, *_ = wide(*lines, inputs=(np.ones((16, 2), np.float16),))
    assert gradient.undecided.tolist() == [[True, False]] * 16


def test_the_gradient_of_a_batch_is_open_where_a_small_variance_takes_its_sums_out_of_the_range() -> None:
    lines = ("x = f16[16,2] parameter(0)", "s = f16[2] constant({1, 1})", "v = f16[2] constant({0, 1})")
    lines += ("m = f16[2] constant({-2, -2})", "i = f16[16,2] iota(), iota_dimension=0")
    lines += ("ROOT r = (f16[16,2], f16[2], f16[2]) batch-norm-grad(i, s, m, v, x), epsilon=0.0625, feature_index=1",)
    gradient, *_ = wide(*lines, inputs=(np.full((16, 2), 8, np.float16),))
    assert gradient.undecided.tolist() == [[place > 1, False] for place in range(16)]


def test_a_mean_of_a_batch_is_open_where_its_sum_leaves_the_range() -> None:
    lines = ("x = f16[64,2] parameter(0)", "s = f16[2] constant({1, 1})")
    lines += ("ROOT r = (f16[64,2], f16[2], f16[2]) batch-norm-training(x, s, s), epsilon=0.0625, feature_index=1",)
    _, mean, _ = wide(*lines, inputs=(np.tile(np.array([2000, 200], np.float16), (64, 1)),))
    assert mean.undecided.tolist() == [True, False]


def test_the_gradient_of_a_batch_may_be_lost_when_its_factor_is_divided_first() -> None:
    lines = ("x = f64[12,1] parameter(0)", "s = f64[1] parameter(1)")
    lines += ("ROOT r = (f64[12,1], f64[1], f64[1]) batch-norm-grad(x, s, s, s, x), epsilon=0.0625, feature_index=1",)
    for scale, may_be_lost in ((-2.2250738585072014e-308, True), (-2.2250738585072014e-300, False)):
        gradient, *_ = wide(*lines, inputs=(np.ones((12, 1)), np.array([scale])))
        assert gradient.value.ravel().tolist() == pytest.approx([-64 * scale] * 12, rel=1e-12)
        assert gradient.allows(np.zeros((12, 1))).all() == may_be_lost


@pytest.mark.parametrize("left", [True, False])
def test_an_unknown_too_small_for_its_type_may_be_none_however_large_its_divisor(left) -> None:
    rows, shape = np.array([[2.0**60, 0], [2.0**60, 1]], np.float32), "f32[2,1]" if left else "f32[1,2]"
    lines = ("a = f32[2,2] parameter(0)", f"b = {shape} parameter(1)")
    form = f"left_side={str(left).lower()}, lower={str(left).lower()}, unit_diagonal=false"
    end = f"ROOT r = {shape} triangular-solve(a, b), {form}, transpose_a=NO_TRANSPOSE"
    right = np.array([2.0**-80, 2.0**-81], np.float32).reshape((2, 1) if left else (1, 2))
    (result,) = wide(*lines, end, inputs=(rows if left else rows.T.copy(), right))
    assert result.allows(np.array([0, 2.0**-81], np.float32).reshape(right.shape)).all()
    assert not result.allows(np.array([0, 1], np.float32).reshape(right.shape)).all()
