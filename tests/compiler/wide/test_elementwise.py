"""Bounds of ops whose results depend on the type's own digits, over every float type, denormals in front."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from wide_results import wide

import compiler
from compiler.ir.types import TYPES, Kind

FLOATS = [name for name, kind in TYPES.items() if kind.kind is Kind.FLOAT and kind.bits >= 8]
FORMATS = [(5, 2), (4, 3), (2, 1), (8, 7), (3, 0), (11, 1)]


def numbers(name: str) -> np.ndarray:
    """All of a type of 8 bits; of others denormals first, then any."""
    dtype = TYPES[name].dtype
    bits = np.dtype(f"u{dtype.itemsize}")
    if dtype.itemsize == 1:
        return np.arange(256, dtype=bits).view(dtype)
    rng = np.random.default_rng(0)
    digits = {2: 7, 4: 23, 8: 52}[dtype.itemsize]
    few, any_ = rng.integers(0, 1 << digits, 100), rng.integers(0, 1 << 8 * dtype.itemsize - 1, 156)
    return np.concatenate([few, any_]).astype(bits).view(dtype)


@pytest.mark.parametrize("name", FLOATS)
def test_numbers_of_fewer_digits_are_within_their_bounds(name: str) -> None:
    x = numbers(name)
    for exponent, mantissa in FORMATS:
        module = compiler.parse(
            f"HloModule m\nENTRY e {{ x = {name}[256] parameter(0)  ROOT r = {name}[256] reduce-precision(x), "
            f"exponent_bits={exponent}, mantissa_bits={mantissa} }}"
        )
        (found,), (bound,) = compiler.interpret(module, x), compiler.interpret(module, x, wide=True)
        assert bound.allows(found).all(), (exponent, mantissa)


@pytest.mark.parametrize(("dtype", "bits"), [("f8e4m3fn", "u8"), ("bf16", "s16"), ("f8e4m3fn", "f8e5m2fnuz")])
def test_the_bits_of_a_nan_are_undecided(dtype: str, bits: str) -> None:
    lines = (f"x = {dtype}[2] parameter(0)", f"y = {dtype}[2] add(x, x)")
    end = f"ROOT r = {bits}[2] bitcast-convert(y)"
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else ml_dtypes.float8_e4m3fn
    (result,) = wide(*lines, end, inputs=(np.array([np.nan, 1], kind),))
    assert result.undecided.tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_an_infinity_times_what_may_be_taken_for_zero_is_undecided(dtype: str) -> None:
    lines = (f"x = {dtype}[2,1] parameter(0)", f"y = {dtype}[1] parameter(1)")
    end = f"ROOT r = {dtype}[2] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else np.float32
    (result,) = wide(*lines, end, inputs=(np.array([[np.inf], [1]], kind), np.array([1e-39], kind)))
    assert result.undecided.tolist() == [True, False]


def test_the_remainder_by_what_may_be_zero_is_undecided() -> None:
    lines = ("x = f32[3] parameter(0)", "one = f32[3] constant({1, 1, 1})", "a = f32[3] cosine(x)")
    lines += ("d = f32[3] subtract(a, one)", "ROOT r = f32[3] remainder(x, d)")
    (result,) = wide(*lines, inputs=(np.array([1e-9, 0.0, 1.0], np.float32),))
    assert result.undecided.tolist() == [True, True, False]


def test_an_extremum_of_what_may_be_nan_is_undecided() -> None:
    less = "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT, "
    less += "type=TOTALORDER }\nmost { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }"
    lines = ("x = f32[2] parameter(0)", "y = f32[2] sqrt(x)", "least = f32[] constant(-inf)")
    lines += ("s = f32[2] sort(y), dimensions={0}, to_apply=less", "t = f32[2,1] reshape(s)")
    lines += ("n = f32[2,1] constant({{nan}, {nan}})", "u = f32[2,2] concatenate(t, n), dimensions={1}")
    lines += ("a = f32[2] reduce(t, least), dimensions={1}, to_apply=most",)
    lines += ("b = f32[2] reduce(u, least), dimensions={1}, to_apply=most", "ROOT r = (f32[2], f32[2]) tuple(a, b)")
    some, every = wide(*lines, inputs=(np.array([-1, 4], np.float32),), computations=less)
    assert some.undecided.all()  # the NaN has either sign, and so either place
    assert np.isnan(every.value).all()
    assert not every.undecided.any()
