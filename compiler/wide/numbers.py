"""A number and how far a legal implementation may come out from it, element by element.

Floats are held in f64 and complex numbers in c128; `error` bounds the distance (of a complex number its modulus) of
what the program's own types may give.  An infinite error says that nothing is known: a decision upstream is too close
to call.  Integers and predicates have an error as well, which is 0 unless they come out of a close decision.

The bounds are those of running error analysis (Higham, "Accuracy and Stability of Numerical Algorithms", 3.3): each
operation passes on the errors of its operands, and adds its own rounding as a share of the magnitude it may have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from compiler.ir.numbers import Array, narrow
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import F32, F64, ElementType, Kind

_finfo: Any = ml_dtypes.finfo  # knows NumPy's own floats as well; untyped
_WITHOUT_NAN = frozenset({"f4e2m1fn", "f6e2m3fn", "f6e3m2fn"})
"""What stands for a NaN in these types is open."""
_WITHOUT_ZERO = "f8e8m0fnu"
"""What stands for zero and for negative numbers in this type is open."""
UNSIGNED_ZERO = frozenset({"f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"})
"""Types with one zero, which has no sign: what f64 would hold as -0 is 0 in them."""
_COMPLEX_TERMS = 4.0
"""Roundings of one complex product to the real and the imaginary part together: two products each."""
FLUSHED = frozenset({"f64", "f32", "bf16"})
"""Types whose denormals an implementation may take for zero."""


@dataclass(frozen=True, slots=True)
class Wide:
    """An array with the bound of each element's error."""

    value: Array
    error: Array

    @property
    def is_exact(self) -> bool:
        """Whether every implementation gives just these values."""
        return not self.error.any()

    @property
    def may_be_zero(self) -> Array:
        """Which elements that are not known exactly may be zero, and so of either sign."""
        return np.asarray((self.error > 0) & (np.abs(self.value) <= self.error))

    def open_at(self, undecided: Array) -> Wide:
        """The number without any knowledge of the elements at some places."""
        return Wide(self.value, np.where(undecided, np.inf, self.error))


_NO_NUMBERS = frozenset("OSUmM")
"""NumPy's kinds of what no element type is held as: objects, texts, times."""

WideValue = Wide | tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """The constants of an element type that bounds are made of.

    Attributes:
        unit: the relative error of one rounding; for f64 twice that, since the value held here is rounded as well.
        least: below this an implementation may flush to zero, or rounds by steps of this size.
        largest: the greatest finite number.
        digits: integers of so many bits are held exactly.
    """

    unit: float
    least: float
    largest: float
    digits: int


@lru_cache(maxsize=64)
def limits(element_type: ElementType) -> Limits:
    """The limits of a float type, or of the parts of a complex one."""
    component = {64: F32, 128: F64}[element_type.bits] if element_type.kind is Kind.COMPLEX else element_type
    info = _finfo(component.dtype)
    epsilon = float(info.eps)
    least = float(info.tiny) if component.name in FLUSHED else float(info.smallest_subnormal)
    digits = 1 - int(np.log2(epsilon))
    return Limits(epsilon if component is F64 else epsilon / 2, least, float(info.max), digits)


def exact(value: Any) -> Wide:
    """Values that nothing is uncertain about."""
    array = np.asarray(value)
    return Wide(array, np.zeros(array.shape))


def certain(value: WideValue | Array) -> WideValue:
    """A value of which arrays that carry no error are exact."""
    if isinstance(value, tuple):
        return tuple(certain(element) for element in value)
    return value if isinstance(value, Wide) else exact(value)


def fault_of(made: WideValue) -> str:
    """What is wrong with what a rule of bounds gives, "" where it is numbers with their errors."""
    if isinstance(made, tuple):
        return next(filter(None, map(fault_of, made)), "")
    kinds = (made.value.dtype.kind, made.error.dtype.kind)
    return f"{made.value!r} with errors {made.error!r}" if _NO_NUMBERS.intersection(kinds) else ""


def with_own_zeros(made: WideValue, shape: Shape) -> WideValue:
    """A value, without signs of zeros where its own type has none."""
    if isinstance(made, tuple):
        kinds = shape.elements if isinstance(shape, TupleShape) else (shape,) * len(made)
        return tuple(map(with_own_zeros, made, kinds))
    if not isinstance(shape, ArrayShape) or shape.element_type.name not in UNSIGNED_ZERO:
        return made
    return Wide(made.value + 0.0, made.error)


def unknown(value: Any) -> Wide:
    """Values of which nothing is known."""
    array = np.asarray(value)
    return Wide(array, np.full(array.shape, np.inf))


def tainted(value: Any, operands: Sequence[Wide]) -> Wide:
    """Values that are exact where all elements of the operands at the same place are, else unknown."""
    array = np.asarray(value)
    doubt = np.zeros(array.shape, np.bool_)
    for operand in operands:
        doubt = doubt | (operand.error > 0)
    return Wide(array, np.where(doubt, np.inf, 0.0))


def size(value: Array) -> Array:
    """The magnitude in f64; 0 for what is not finite, whose error is not a matter of magnitude."""
    # The least integer of a type has no magnitude in it.
    magnitude = np.abs(value if value.dtype.kind == "c" else value.astype(np.float64))
    return np.where(np.isfinite(magnitude), magnitude, 0.0)


def distance(left: Array, right: Array) -> Array:
    """The distance of values: 0 for the same infinity and for two NaNs, infinity where only one is special."""
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    left, right = left.astype(wide), right.astype(wide)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    apart = np.abs(left - right)
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def times(magnitude: Array, error: Array) -> Array:
    """A product in which no error makes none, however large the magnitude, and what is unknown is so even beside 0."""
    return np.where(error == 0, 0.0, np.where(np.isinf(error), np.inf, magnitude * error))


def hull(chosen: Wide, other: Wide) -> Wide:
    """The first, with an error that reaches all that the second may be."""
    return Wide(chosen.value, np.maximum(chosen.error, distance(chosen.value, other.value) + other.error))


def settle(value: Array, error: Array, element_type: ElementType, *, reach: Array | None = None) -> Wide:
    """Values as their own type may hold them: what surely overflows has, what may overflow is unknown.

    Args:
        value: in f64 or c128.
        error: a bound for each element.
        element_type: the program's.
        reach: the largest magnitude that was computed on the way.
    """
    largest, unit = limits(element_type).largest, limits(element_type).unit
    magnitude = np.maximum(np.abs(value.real), np.abs(value.imag)) if value.dtype.kind == "c" else np.abs(value)
    sure = magnitude - error > largest * (1 + unit)
    if sure.any():
        value = np.where(sure, narrow(value, element_type).astype(value.dtype), value)
    farthest = magnitude + error if reach is None else np.maximum(magnitude + error, reach)
    error = np.where(sure, 0.0, np.where(farthest > largest, np.inf, error))
    error = np.where(np.isnan(error), np.inf, error)
    special = ~np.isfinite(value)
    if element_type.name in _WITHOUT_NAN:
        error = np.where(special, np.inf, error)
    elif element_type.name == _WITHOUT_ZERO:
        error = np.where(value - error <= limits(element_type).least / 2, np.inf, error)
    if value.dtype.kind == "c":
        # Which parts of a complex number an infinity spoils is open in the language.
        return Wide(value, np.where(special, np.inf, error))
    return Wide(value, np.where(special & np.isfinite(error), 0.0, error))


def rounded(
    value: Array, error: Array, element_type: ElementType, *, roundings: float = 1.0, reach: Array | None = None
) -> Wide:
    """Values after rounding to their own type, so many times its unit of `reach`, or of their own magnitude.

    Args:
        value: in f64 or c128.
        error: a bound for each element, before rounding.
        element_type: the program's.
        roundings: how many there were.
        reach: the magnitude that was rounded, the value's own if it is not given.
    """
    bound = limits(element_type)
    magnitude = size(value) + np.where(np.isfinite(error), error, 0.0)
    # Each part of a complex number is a sum of two terms, either of which may be taken for zero.
    least = bound.least * (_COMPLEX_TERMS if value.dtype.kind == "c" else 1.0)
    own = roundings * bound.unit * (magnitude if reach is None else np.maximum(reach, magnitude)) + least
    return settle(value, error + own, element_type, reach=reach)


def held(value: Array, element_type: ElementType) -> Array:
    """Where a value of f64 is one that its own type holds; for f64 itself, where it is a small integer or infinite.

    Small integers come to an infinity only where one is divided by zero: what overflows is larger.
    """
    if value.dtype.kind == "c":
        return np.asarray(held(value.real, F64) & held(value.imag, F64))
    if element_type is F64:
        return np.asarray((np.rint(value) == value) & (np.abs(value) < 2.0**53) | np.isinf(value))
    return np.asarray(narrow(value, element_type).astype(np.float64) == value)


def around(function: Callable[[Sequence[Array]], Array], operands: Sequence[Wide]) -> tuple[Array, Array]:
    """The value of a function that is monotone in each operand, and how far it moves within their errors."""
    values = [operand.value for operand in operands]
    middle = np.asarray(function(values))
    error = np.zeros(middle.shape)
    unsure = [number for number, operand in enumerate(operands) if not operand.is_exact]
    for corner in range(1 << len(unsure) if unsure else 0):
        moved = list(values)
        for bit, number in enumerate(unsure):
            step = np.where(np.isfinite(operands[number].error), operands[number].error, 0.0)
            moved[number] = values[number] + (step if corner >> bit & 1 else -step)
        error = np.maximum(error, distance(middle, np.asarray(function(moved))))
    for number in unsure:
        lost = np.isinf(operands[number].error)
        error = np.where(lost, np.inf, error) if lost.any() else error
    return middle, error
