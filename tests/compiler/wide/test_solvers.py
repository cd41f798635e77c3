"""What systems, batches and transforms leave open, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
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


def test_a_batch_whose_mean_is_unknown_beside_zero_is_undecided() -> None:
    """Sums of a half leave the range, and cancel: of 0 times what may be anything nothing is known."""
    lines = ("x = f32[4,1] parameter(0)", "s = f32[1] constant({1})")
    end = "ROOT r = (f32[4,1], f32[1], f32[1]) batch-norm-training(x, s, s), epsilon=0.0625, feature_index=1"
    for result in wide(*lines, end, inputs=(np.array([[3e38], [3e38], [-3e38], [-3e38]], np.float32),)):
        assert result.undecided.all()


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


FACTORS = {"fft": 256, "batch-norm-training": 256, "triangular-solve": 512}
"""How many times as much as was seen to come of rounding a bound may allow, in the median of the elements: of systems
more, since engines also multiply by the inverses of blocks."""


def _substituted(rows: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
    """A lower system by rows, and by columns."""
    by_rows, by_columns = np.zeros_like(right), right.copy()
    for row in range(len(rows)):
        by_rows[row] = (right[row] - rows[row, :row] @ by_rows[:row]) / rows[row, row]
        by_columns[row] /= rows[row, row]
        by_columns[row + 1 :] -= rows[row + 1 :, [row]] * by_columns[row]
    return [by_rows, by_columns]


def _normalised(array: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """With the variance as the mean of squares from the mean, and as that of squares less the square of it."""
    mean = array.mean(0)
    variances = ((array - mean) ** 2).mean(0), (array * array).mean(0) - mean * mean
    return [((array - mean) / np.sqrt(v + array.dtype.type(0.0625)) + 1, mean, v) for v in variances]


def _turned(signal: np.ndarray) -> list[np.ndarray]:
    """By a product with all factors, from either end, and by halves."""
    size = signal.shape[-1]
    factors = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size).astype(signal.dtype)
    return [signal @ factors, signal[..., ::-1] @ factors[::-1], scipy.fft.fft(signal).astype(signal.dtype)]


SYSTEM = "left_side=true, lower=true, transpose_a=NO_TRANSPOSE, unit_diagonal=false"
COMPUTED = {
    "fft": ("c64[3,16]", (), "c64[3,16] fft(x), fft_type=FFT, fft_length={16}", lambda x: [(a,) for a in _turned(x)]),
    "triangular-solve": (
        "f32[8,3]",
        ("t = f32[8,8] parameter(1)",),
        f"f32[8,3] triangular-solve(t, x), {SYSTEM}",
        lambda x, t: [(a,) for a in _substituted(t, x)],
    ),
    "batch-norm-training": (
        "f32[30,3]",
        ("s = f32[3] constant({1, 1, 1})",),
        "(f32[30,3], f32[3], f32[3]) batch-norm-training(x, s, s), epsilon=0.0625, feature_index=1",
        _normalised,
    ),
}


@pytest.mark.parametrize("opcode", COMPUTED)
def test_bounds_hold_what_steps_in_the_own_type_bring_about_and_not_much_more(opcode: str) -> None:
    shape, lines, root, steps = COMPUTED[opcode]
    generator, seen, bounds = np.random.default_rng(0), [], []
    for _ in range(20):
        dims = [int(size) for size in shape[4:-1].split(",")]
        x = generator.normal(size=(2, *dims))
        inputs = [(x[0] + 1j * x[1]).astype(np.complex64) if shape[0] == "c" else x[0].astype(np.float32)]
        if opcode == "triangular-solve":
            inputs.append((np.tril(generator.normal(size=(8, 8))) + 4 * np.eye(8)).astype(np.float32))
        results = wide(f"x = {shape} parameter(0)", *lines, f"ROOT r = {root}", inputs=tuple(inputs))
        for number, result in enumerate(results):
            trials = [np.asarray(trial[number], result.value.dtype) for trial in steps(*inputs)]
            away = np.max([np.abs(trial - result.value) for trial in trials], axis=0)
            assert (away <= result.bound).all()
            seen.append(np.maximum(away, np.finfo(np.float32).eps / 2 * np.abs(result.value)).ravel())
            bounds.append(result.bound.ravel())
    assert np.median(np.concatenate(bounds) / np.concatenate(seen)) <= FACTORS[opcode]
