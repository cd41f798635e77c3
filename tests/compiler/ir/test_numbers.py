"""Narrow types round once, wrap at their width, and order as their bits say."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from compiler.ir.numbers import maximum, minimum, narrow, total_order_key, widen
from compiler.ir.types import F32, TYPES

_NARROW = ("bf16", "f16", "f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f8e3m4")


@pytest.mark.parametrize("name", _NARROW)
def test_a_value_just_off_a_midpoint_rounds_to_its_side(name: str) -> None:
    # The midpoint of 1 and its successor, off by less than f32 can hold: a detour by f32 would round to even.
    step = Fraction(float(ml_dtypes.finfo(TYPES[name].dtype).eps))
    for sign, expected in ((1, 1 + step), (-1, Fraction(1))):
        value = float(1 + step / 2 + sign * Fraction(1, 1 << 45))
        assert Fraction(float(narrow(np.array(value), TYPES[name]))) == expected


@pytest.mark.parametrize("name", [name for name, row in TYPES.items() if row.is_float and row.bits <= 16])
def test_widening_loses_nothing(name: str) -> None:
    row = TYPES[name]
    bits = np.arange(1 << min(row.bits, 16)).astype(f"u{row.size_bytes}")
    values = bits.view(row.dtype)
    with np.errstate(invalid="ignore"):  # NaN
        back = narrow(widen(values, row, precise=True), row)
        same = (back.view(bits.dtype) == bits) | np.isnan(values.astype(np.float64))
    assert same.all()


_WRAPPED = [("s4", 9, -7), ("u4", 17, 1), ("s2", 2, -2), ("u2", 5, 1), ("s1", 1, -1)]


@pytest.mark.parametrize(("name", "given", "kept"), _WRAPPED)
def test_narrow_integers_wrap(name: str, given: int, kept: int) -> None:
    assert int(narrow(np.array(given, np.int8), TYPES[name])) == kept


def test_total_order_puts_zeros_and_nans_in_their_places() -> None:
    values = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], np.float32)
    assert np.diff(total_order_key(values, F32).astype(np.int64)).min() > 0


@pytest.mark.parametrize(
    ("name", "place"), [("f8e4m3b11fnuz", 0), ("f8e4m3fnuz", 0), ("f8e5m2fnuz", 0), ("f8e8m0fnu", -1)]
)
def test_total_order_has_an_only_nan_where_its_bits_put_it(name: str, place: int) -> None:
    element_type = TYPES[name]
    values = np.arange(256, dtype=np.uint8).view(element_type.dtype)
    ranked = values[np.argsort(total_order_key(values, element_type))].astype(np.float32)
    assert np.isnan(ranked[place])
    assert (np.diff(np.delete(ranked, place)) > 0).all()


def test_maximum_and_minimum_order_zeros_and_keep_nan() -> None:
    left, right = np.array([0.0, -0.0, np.nan, 1.0]), np.array([-0.0, 0.0, 1.0, np.nan])
    assert np.signbit(maximum(left, right)[:2]).tolist() == [False, False]
    assert np.signbit(minimum(left, right)[:2]).tolist() == [True, True]
    assert np.isnan(maximum(left, right)[2:]).all()
    assert np.isnan(minimum(left, right)[2:]).all()
