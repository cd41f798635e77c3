"""How far two right answers may lie apart, and how far two values do.

Two compilers that are both right differ by rounding: they sum in different orders, contract a multiply and an add, or
use another exp.  So an element is right when `|actual - expected| <= rtol * |expected| + atol`, where

- `rtol` belongs to the element type: room for the few roundings and the 1-4 ULP of a math function on the way;
- `atol` is a few epsilon *times the largest finite magnitude of the expected array*, since where terms cancel (a sum
  near zero, a gradient) the error is of the size of the terms, which the rest of the array shows and the element does
  not; plus a few of the smallest subnormal, below which a relative bound has no meaning.

A narrow type gets few epsilon, because one of its roundings dwarfs whatever the arithmetic inside did, but that one may
fall either way at every step where a compiler did or did not round.

Integers and predicates are exact.  Where they come out of rounded numbers (an iteration count, an arg-max), a value on
the border may fall on either side, and no bound can tell that from a bug: a recipe may grant a share of such elements,
and a result that needs it is undecided, not right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

DType = np.dtype[Any]
Array = NDArray[Any]
finfo: Any = ml_dtypes.finfo  # knows NumPy's own floats as well; untyped


class _Bound(NamedTuple):
    """A default: the relative bound, and the absolute one as epsilons of the array's magnitude and as subnormals."""

    rtol: float
    epsilons: float
    subnormals: float


_BOUNDS = {
    "float64": _Bound(1e-12, 32, 4),
    "float32": _Bound(1e-5, 32, 4),
    "float16": _Bound(4 * 2.0**-10, 4, 4),
    "bfloat16": _Bound(4 * 2.0**-7, 2, 4),
    "complex128": _Bound(1e-12, 32, 4),
    "complex64": _Bound(1e-5, 32, 4),
}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The bound `|actual - expected| <= rtol * |expected| + atol + scaled * max |expected|`."""

    rtol: float = 0.0
    atol: float = 0.0
    scaled: float = 0.0

    def bound(self, sizes: Array, largest: float) -> Array:
        """How far off elements of these magnitudes may be, in an array of that largest one."""
        return np.asarray(self.rtol * sizes + self.atol + self.scaled * largest)


EXACT = Tolerance()


@dataclass(frozen=True, slots=True)
class TolerancePolicy:
    """Which tolerance an element type gets: the default, where `rtol` or `atol` is not given.

    Attributes:
        rtol: the relative bound.
        atol: the absolute bound.
        scaled: keep the part that grows with the array beside a given `atol`.
        discrete_share: the share of integers that may differ without being called wrong.
    """

    rtol: float | None = None
    atol: float | None = None
    scaled: bool = False
    discrete_share: float = 0.0

    def __post_init__(self) -> None:
        bounds: tuple[object, ...] = (self.rtol, self.atol, self.discrete_share)  # a file may say anything
        for bound in bounds:
            if bound is not None and not (isinstance(bound, int | float) and bound >= 0):
                raise ValueError(f"{bound!r} is no bound; give a number from 0 on")

    def for_dtype(self, dtype: DType) -> Tolerance:
        """The tolerance for arrays of an element type."""
        default = default_tolerance(dtype)
        if default == EXACT:
            return EXACT
        rtol = default.rtol if self.rtol is None else self.rtol
        if self.atol is None:
            return Tolerance(rtol, default.atol, default.scaled)
        return Tolerance(rtol, self.atol, default.scaled if self.scaled else 0.0)


EXACTLY = TolerancePolicy(rtol=0.0, atol=0.0)
"""Every bit counts."""


@cache
def default_tolerance(dtype: DType) -> Tolerance:
    """The tolerance of an element type that nothing more is known of."""
    if not is_inexact(dtype):
        return EXACT
    info = finfo(real_dtype(dtype))
    epsilon = float(info.eps)
    one_rounding = (epsilon, 0.5, 1)  # for every type of eight bits or fewer
    rtol, epsilons, subnormals = _BOUNDS.get(dtype.name, one_rounding)
    return Tolerance(rtol, subnormals * float(info.smallest_subnormal), epsilons * epsilon)


@cache
def is_inexact(dtype: DType) -> bool:
    """Whether values of the type are rounded: floats of any width, and complex numbers."""
    return dtype.kind in "fc" or "float" in dtype.name


def real_dtype(dtype: DType) -> DType:
    """The type of the parts of a complex type; any other type itself."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


NO_DISTANCE = np.iinfo(np.uint64).max
"""The distance in ULP from a NaN to a number, beyond all others."""


def distance(left: Any, right: Any) -> float:
    """How far two numbers, real or complex, lie apart; infinite where that is too large for f64."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(np.clongdouble(left) - np.clongdouble(right)))


def ulp_distance(left: Array, right: Array) -> NDArray[np.uint64]:
    """How many representable values lie between two real float arrays of one type, element by element.

    Both zeros are one value; infinity is one step beyond the largest finite number.  A NaN is at distance 0 from a NaN
    and at `NO_DISTANCE` from anything else.
    """
    dtype = left.dtype
    assert dtype == right.dtype, f"{dtype} and {right.dtype} have no common spacing"
    assert is_inexact(dtype), f"{dtype} is not a float"
    assert dtype.kind != "c", "take the parts of complex numbers apart"
    signs, magnitudes = zip(_sign_and_magnitude(left), _sign_and_magnitude(right), strict=True)
    low, high = np.minimum(*magnitudes), np.maximum(*magnitudes)
    distance: NDArray[np.uint64] = np.where(signs[0] == signs[1], high - low, high + low)
    left_nan, right_nan = np.isnan(left), np.isnan(right)
    distance[left_nan & right_nan] = 0
    distance[left_nan ^ right_nan] = NO_DISTANCE
    return distance


def _sign_and_magnitude(array: Array) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """The sign bit, and the other bits as an integer, which grows with the magnitude in every float format."""
    raw = np.atleast_1d(raw_bits(array)).astype(np.uint64)
    if array.dtype == np.dtype(ml_dtypes.float8_e8m0fnu):  # the one format without a sign
        return np.zeros(raw.shape, np.bool_), raw
    sign = np.uint64(1 << (int(finfo(array.dtype).bits) - 1))
    return (raw & sign) != 0, raw & (sign - np.uint64(1))


def raw_bits(array: Array) -> Array:
    """The bytes of each element as an unsigned integer (of pairs of integers for c128)."""
    contiguous = np.ascontiguousarray(array)
    if contiguous.dtype.itemsize == 16:
        return contiguous.view(np.uint64).reshape(*array.shape, 2)
    return contiguous.view(np.dtype(f"u{array.dtype.itemsize}")).reshape(array.shape)
