"""Floating point formats and exact rounding, on raw bit patterns.

Registers hold bits.  An operation on f16, bf16 or f32 that NumPy does not round as PTX asks for is computed in f64 and
*rounded to odd* there (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008): the last bit of an
inexact f64 result is forced to one, so that the second rounding, to a format with at most 51 bits, sees on which side
of every tie the exact value lies.  f64 itself is done with error-free transforms, and by rational arithmetic where
those could overflow or underflow.  Every NaN that comes out of an operation is the canonical one, as on the hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Raw = NDArray[Any]
Wide = NDArray[np.float64]

MODES = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A float type: its storage, the mask of its sign, the lowest exponent bit and the canonical NaN."""

    name: str
    storage: np.dtype[Any]
    sign: int
    infinity: int
    nan: int
    one: int

    def mask(self, bits: int) -> Any:
        """A bit pattern as a scalar of the storage type."""
        return self.storage.type(bits)


F16 = FloatFormat("f16", np.dtype(np.uint16), 0x8000, 0x7C00, 0x7FFF, 0x3C00)
BF16 = FloatFormat("bf16", np.dtype(np.uint16), 0x8000, 0x7F80, 0x7FFF, 0x3F80)
F32 = FloatFormat("f32", np.dtype(np.uint32), 0x8000_0000, 0x7F80_0000, 0x7FFF_FFFF, 0x3F80_0000)
F64 = FloatFormat(
    "f64",
    np.dtype(np.uint64),
    0x8000_0000_0000_0000,
    0x7FF0_0000_0000_0000,
    0x7FF8_0000_0000_0000,
    0x3FF0_0000_0000_0000,
)
FORMATS = {form.name: form for form in (F16, BF16, F32, F64)}


def to_native(raw: Raw, form: FloatFormat) -> NDArray[Any]:
    """The values in a NumPy type that holds them exactly and is cheap: f32, or f64 for f64."""
    if form is F32:
        return raw.view(np.float32)
    if form is F64:
        return raw.view(np.float64)
    if form is BF16:
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return raw.view(np.float16).astype(np.float32)


def to_wide(raw: Raw, form: FloatFormat) -> Wide:
    """The values in f64, exactly."""
    native = to_native(raw, form)
    return native if form is F64 else native.astype(np.float64)


def from_wide(wide: Wide, form: FloatFormat, mode: str = "rn") -> Raw:
    """Round f64 values, exact or rounded to odd, to a format; f64 passes unrounded.

    Args:
        wide: the values.
        form: the format.
        mode: rn, rz, rm or rp, as PTX has it.
    """
    if form is F64:
        return canonical(wide.copy().view(np.uint64), form)
    if form is BF16:
        return _round_to_bf16(wide, mode)
    target = np.float32 if form is F32 else np.float16
    near = wide.astype(target)
    if mode != "rn":
        near = _direct(near, wide, mode)
    return canonical(near.view(form.storage), form)


def canonical(raw: Raw, form: FloatFormat) -> Raw:
    """Replace every NaN by the canonical one, in place."""
    is_nan = is_nan_bits(raw, form)
    # Of few lanes `any` takes ten times as long.
    if np.count_nonzero(is_nan):
        raw[is_nan] = form.mask(form.nan)
    return raw


def is_nan_bits(raw: Raw, form: FloatFormat) -> NDArray[np.bool_]:
    """Which bit patterns are NaN."""
    if form is F32:
        return np.isnan(raw.view(np.float32))
    if form is F64:
        return np.isnan(raw.view(np.float64))
    result: NDArray[np.bool_] = (raw & form.mask(form.sign - 1)) > form.mask(form.infinity)
    return result


def flush(raw: Raw, form: FloatFormat) -> Raw:
    """Subnormal numbers become zeros of their sign (`.ftz`)."""
    is_subnormal = (raw & form.mask(form.infinity)) == 0
    if not is_subnormal.any():
        return raw
    return np.where(is_subnormal, raw & form.mask(form.sign), raw)


def saturate(raw: Raw, form: FloatFormat) -> Raw:
    """Clamp to [0, 1]; NaN becomes +0 (`.sat`)."""
    value = to_native(raw, form)
    low = np.where(value > 0, raw, form.mask(0))
    return np.where(value > 1, form.mask(form.one), low)


def _direct(near: NDArray[Any], wide: Wide, mode: str) -> NDArray[Any]:
    """Turn rounding to nearest into a directed rounding by a step back where it went past the value."""
    kind = near.dtype.type
    back = near.astype(np.float64)
    if mode == "rm":
        return np.where(back > wide, np.nextafter(near, kind(-np.inf)), near)
    if mode == "rp":
        return np.where(back < wide, np.nextafter(near, kind(np.inf)), near)
    return np.where(np.abs(back) > np.abs(wide), np.nextafter(near, kind(0)), near)


def _round_to_bf16(wide: Wide, mode: str) -> Raw:
    near = wide.astype(np.float32)
    bits = near.view(np.uint32)
    back = near.astype(np.float64)
    is_nan = np.isnan(wide)
    step = np.where(np.abs(back) > np.abs(wide), np.uint32(0xFFFF_FFFF), np.uint32(1))
    is_even_inexact = (back != wide) & ~is_nan & ((bits & np.uint32(1)) == 0)
    bits = np.where(is_even_inexact, bits + step, bits)
    high = bits >> np.uint32(16)
    is_inexact = (bits & np.uint32(0xFFFF)) != 0
    is_negative = (bits >> np.uint32(31)) != 0
    match mode:
        case "rn":
            high = (bits + np.uint32(0x7FFF) + (high & np.uint32(1))) >> np.uint32(16)
        case "rm":
            high = high + (is_inexact & is_negative)
        case "rp":
            high = high + (is_inexact & ~is_negative)
        case _:
            assert mode == "rz"
    return np.where(is_nan, np.uint16(BF16.nan), high.astype(np.uint16))


def odd(value: Wide, error: Wide) -> Wide:
    """Round to odd: `value` is the nearest f64 to `value + error`."""
    bits = value.view(np.int64)
    is_off = (error != 0) & np.isfinite(error) & np.isfinite(value) & ((bits & 1) == 0)
    step = np.where((error > 0) == (value > 0), np.int64(1), np.int64(-1))
    return np.where(is_off, bits + step, bits).view(np.float64)


def two_sum(a: Wide, b: Wide) -> tuple[Wide, Wide]:
    """The rounded sum and its exact error (Knuth)."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def two_product(a: Wide, b: Wide) -> tuple[Wide, Wide]:
    """The rounded product and its exact error (Dekker, Veltkamp); wants no overflow or underflow."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _split(a: Wide) -> tuple[Wide, Wide]:
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def add_odd(a: Wide, b: Wide) -> Wide:
    """The sum of values of narrower formats, rounded to odd."""
    return odd(*two_sum(a, b))


def fma_odd(a: Wide, b: Wide, c: Wide) -> Wide:
    """`a * b + c` for values of formats with at most 26 bits, whose product is exact; rounded to odd."""
    return odd(*two_sum(a * b, c))


def fma_for_f32(a: Wide, b: Wide, c: Wide) -> Wide:
    """`a * b + c` of values of f32, as f64 that become the right f32 when they are rounded to nearest.

    Rounding twice is wrong only where the first result lies half-way between two f32.  Those are few in normal ranges,
    and found by their bits; for them, and where f32 is subnormal, everything is rounded to odd first.
    """
    result: Wide = a * b + c
    halfway = (result.view(np.int64) & _BELOW_F32) == _HALF_F32
    tiny = np.abs(result) < _LEAST_NORMAL_F32
    if np.count_nonzero(halfway) or (np.count_nonzero(tiny) and np.count_nonzero(result[tiny])):
        return fma_odd(a, b, c)
    return result


_BELOW_F32, _HALF_F32 = np.int64(0x1FFF_FFFF), np.int64(0x1000_0000)
"""The bits of an f64's fraction that an f32 has no room for, and what they are half-way between two."""
_LEAST_NORMAL_F32 = 2.0**-125
"""From twice the smallest normal number on nothing is rounded as subnormal numbers are."""


def fma_f64(a: Wide, b: Wide, c: Wide) -> Wide:
    """`a * b + c` in f64, correctly rounded to nearest even."""
    a, b, c = np.broadcast_arrays(a, b, c)
    product, low = two_product(a, b)
    high, error = two_sum(c, low)
    total, rest = two_sum(product, high)
    result = total + odd(*two_sum(error, rest))
    plain = a * b + c
    is_special = ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c) | (a == 0) | (b == 0)
    result = np.where(is_special, plain, result)
    safe = _in_safe_range(a) & _in_safe_range(b) & _in_safe_range(product) & (_in_safe_range(c) | (c == 0))
    rest_index = np.flatnonzero(~(safe | is_special))
    if rest_index.size:
        result[rest_index] = rational(_fma_exact, "rn", (a, b, c), plain, rest_index)
    return result


def _in_safe_range(value: Wide) -> NDArray[np.bool_]:
    magnitude = np.abs(value)
    return (magnitude > 1e-200) & (magnitude < 1e200)


def _fma_exact(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    return a * b + c


def rational(
    function: Callable[..., Fraction],
    mode: str,
    operands: tuple[Wide, ...],
    plain: Wide,
    where: NDArray[np.intp],
) -> Wide:
    """Evaluate an f64 operation in rational arithmetic, for the few elements that need it.

    Args:
        function: The operation on fractions.
        mode: The rounding.
        operands: Arrays of one shape.
        plain: The operation's result to nearest in NumPy; taken for exact zeros (their sign) and non-finite values.
        where: The elements to evaluate.

    Returns:
        The results of those elements.
    """
    results = np.array(plain[where])
    for position, index in enumerate(where):
        values = [float(operand[index]) for operand in operands]
        if not np.isfinite(values).all() or not _is_defined(function, values):
            continue
        exact = function(*map(Fraction, values))
        if exact:
            results[position] = round_fraction(exact, mode)
    return results


def _is_defined(function: Callable[..., Fraction], values: list[float]) -> bool:
    return function is not divide_exact or values[1] != 0


def divide_exact(a: Fraction, b: Fraction) -> Fraction:
    """The quotient; named so that `rational` can tell a division by zero."""
    return a / b


def round_fraction(exact: Fraction, mode: str) -> float:
    """The f64 nearest to a fraction in a rounding mode."""
    sign = -1 if exact < 0 else 1
    try:
        near = exact.numerator / exact.denominator
    except OverflowError:
        near = sign * np.inf
    if mode == "rn":
        return near
    is_above = near == np.inf or (near != -np.inf and Fraction(near) > exact)
    is_below = near == -np.inf or (near != np.inf and Fraction(near) < exact)
    toward = {"rm": -np.inf, "rp": np.inf, "rz": 0.0}[mode]
    is_past = {"rm": is_above, "rp": is_below, "rz": is_above if sign > 0 else is_below}[mode]
    return float(np.nextafter(near, toward)) if is_past else near
