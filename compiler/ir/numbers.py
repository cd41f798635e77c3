"""How values of narrow types are computed on: widened exactly, worked on, rounded or wrapped once at the end.

Every op on bf16, f16 or an 8-bit float rounds exactly once.  The working type holds every value of the narrow one; the
way back is `narrow`, which must not round twice on its way through f32 (ml_dtypes converts f64 to its types that way).
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from compiler.ir.types import F8E8M0, F32, F64, ONE_NAN, ElementType, Kind

Array = NDArray[Any]
_finfo: Any = ml_dtypes.finfo  # knows NumPy's own floats as well; untyped

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_C64 = np.dtype(np.complex64)
_C128 = np.dtype(np.complex128)


def widen(value: Array, element_type: ElementType, *, precise: bool) -> Array:
    """The numbers of an array in a type that NumPy computes in.

    Args:
        value: in NumPy's type for the element type.
        element_type: of the numbers.
        precise: whether a result will be rounded, so that f64 or c128 is asked for.
    """
    kind = element_type.kind
    target: np.dtype[Any]
    if kind is Kind.FLOAT:
        target = _F64 if precise or element_type is F64 else _F32
    elif kind is Kind.COMPLEX:
        target = _C128 if precise else element_type.dtype
    elif element_type.bits < 8 and element_type.is_integer:
        target = np.dtype(np.int8 if kind is Kind.SIGNED else np.uint8)
    else:
        return value
    return value if value.dtype == target else value.astype(target)


def narrow(value: Any, element_type: ElementType) -> Array:
    """The numbers in an element type: floats rounded once, integers wrapped to the type's width."""
    array = np.asarray(value)
    kind = element_type.kind
    if element_type.is_integer and element_type.bits < 8:
        return wrap(array, element_type)
    if array.dtype == element_type.dtype:
        return array
    if kind is Kind.FLOAT and array.dtype == _F64 and element_type is not F32 and element_type.bits < 32:
        array = array if element_type.dtype == np.float16 else _round_to_odd(array)
    return array.astype(element_type.dtype)


def _round_to_odd(value: Array) -> Array:
    """f64 to f32 so that a second rounding to at most 22 bits gives what one rounding would have given."""
    nearest = value.astype(_F32)
    bits = nearest.view(np.uint32).copy()
    back = nearest.astype(_F64)
    inexact = (back != value) & np.isfinite(nearest)
    # Where rounding went away from zero, step back to the truncated value; then set the lowest bit.
    bits -= (inexact & (np.abs(back) > np.abs(value))).astype(np.uint32)
    bits |= inexact.astype(np.uint32)
    return bits.view(_F32)


def integers_to_odd(value: Array) -> Array:
    """Integers as f64 so that a second rounding to at most 40 bits gives what one rounding would have given."""
    if value.dtype.itemsize < 8:
        return value.astype(_F64)
    dropped = value.dtype.type((1 << 11) - 1)
    odd = (value & ~dropped) | (((value & dropped) != 0).astype(value.dtype) << 11)
    exact = 1 << 53
    is_long = value > exact if value.dtype.kind == "u" else (value > exact) | (value < -exact)
    return np.where(is_long, odd, value).astype(_F64)


def host_type(target: ElementType) -> np.dtype[np.generic]:
    """NumPy's type of whole bytes for an integer type."""
    if target.bits < 8:
        return np.dtype(np.int8 if target.is_signed else np.uint8)
    return target.dtype


def saturate(value: Array, target: ElementType) -> Array:
    """Floats as integers: truncated, the nearest there is beyond the type's range, NaN 0."""
    low, high = integer_bounds(target)
    host = host_type(target)
    truncated = np.trunc(np.where(np.isnan(value), 0, value).astype(np.float64))
    # 2^63 - 1 is no f64; everything from 2^63 up is above it.
    above, below = truncated >= float(high + 1), truncated < float(low)
    inside = np.where(above | below, 0, truncated).astype(host)
    return narrow(np.where(above, host.type(high), np.where(below, host.type(low), inside)), target)


def wrap(value: Array, element_type: ElementType) -> Array:
    """Integers modulo the width of a type narrower than a byte."""
    if value.dtype.itemsize == 1 and value.dtype.kind not in "iu":
        value = value.astype(np.int8)
    unused = 8 - element_type.bits
    signed = element_type.is_signed
    byte = value.astype(np.int8 if signed else np.uint8)
    wrapped = np.right_shift(np.left_shift(byte, unused), unused)
    return np.asarray(wrapped).astype(element_type.dtype)


def integer_bounds(element_type: ElementType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if element_type.is_signed:
        return -(1 << (element_type.bits - 1)), (1 << (element_type.bits - 1)) - 1
    return 0, (1 << element_type.bits) - 1


def bounds(element_type: ElementType) -> tuple[float, float]:
    """The least and the greatest value of a real type: the infinities where it has them."""
    if element_type.is_integer:
        return integer_bounds(element_type)
    infinities = np.array([-np.inf, np.inf])
    with np.errstate(invalid="ignore"):  # a type without infinities may have a NaN for them, or its greatest number
        low, high = np.isinf(infinities.astype(element_type.dtype))
    info = _finfo(element_type.dtype)
    return -np.inf if low else float(info.min), np.inf if high else float(info.max)


def finite_bounds(element_type: ElementType) -> tuple[float, float]:
    """The least and the greatest number of a real type."""
    if element_type.is_integer:
        return integer_bounds(element_type)
    info = _finfo(element_type.dtype)
    return float(info.min), float(info.max)


def unsigned_bits(value: Array) -> Array:
    """The bits of each element as an unsigned integer of the same width."""
    return np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").reshape(value.shape)


def total_order_key(value: Array, element_type: ElementType) -> Array:
    """Unsigned integers in the order of the floats' bits: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.

    The NaN that is alone of its kind has the bits of -0, and is -NaN; one of a type without signs is the greatest.
    """
    bits = unsigned_bits(value)
    if element_type is F8E8M0:
        return bits
    width = element_type.bits
    sign = bits.dtype.type(1 << (width - 1))
    mask = bits.dtype.type((1 << width) - 1)
    negative = (bits & sign) != 0
    if element_type in ONE_NAN:  # there is no -0: the other negative numbers move up
        return np.asarray(np.where(negative, np.where(bits == sign, sign ^ sign, (~bits & mask) + 1), bits | sign))
    return np.asarray(np.where(negative, ~bits & mask, bits | sign))


def ranking(value: Array, element_type: ElementType, *, descending: bool) -> Array:
    """The stable order of the last axis by value; floats in total order, so NaN is the greatest.

    Args:
        value: in NumPy's type for the element type.
        element_type: of the numbers.
        descending: whether the greatest comes first.
    """
    key = total_order_key(value, element_type) if element_type.is_float else widen(value, element_type, precise=False)
    return np.argsort(~key if descending else key, axis=-1, kind="stable")


def maximum(left: Array, right: Array) -> Array:
    """The greater float of two; NaN wins, and +0 over -0, which NumPy leaves open."""
    result = np.maximum(left, right)
    zeros = (left == 0) & (right == 0)
    return np.where(zeros, left + right, result) if zeros.any() else result


def minimum(left: Array, right: Array) -> Array:
    """The lesser float of two; NaN wins, and -0 over +0, which NumPy leaves open."""
    result = np.minimum(left, right)
    zeros = (left == 0) & (right == 0)
    return np.where(zeros, -((-left) + (-right)), result) if zeros.any() else result
