"""Elementwise arithmetic: what machines compute exactly or round correctly in one step.

Integers wrap; division by zero gives all ones, the least integer divided by -1 is itself, a remainder by zero is the
dividend.  Maximum and minimum propagate NaN and order -0 below +0.  On pred, addition is `or` and multiplication `and`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler.ir.elementwise import Row, kinds
from compiler.ir.numbers import Array, maximum, minimum
from compiler.ir.opdef import Op
from compiler.ir.traits import Trait
from compiler.ir.types import F32, F64, ElementType, Kind


def real_part_type(element_type: ElementType) -> ElementType:
    """The type of the parts of a complex number; any other type is its own."""
    if element_type.kind is not Kind.COMPLEX:
        return element_type
    return F32 if element_type.bits == 64 else F64


def _divide_integers(dividend: Array, divisor: Array) -> Array:
    zero = divisor == 0
    safe = np.where(zero, 1, divisor).astype(divisor.dtype)
    quotient = np.abs(dividend) // np.abs(safe) if dividend.dtype.kind == "u" else _truncated(dividend, safe)
    return np.where(zero, np.array(-1).astype(dividend.dtype), quotient)


def _truncated(dividend: Array, divisor: Array) -> Array:
    # Dividing by -1 is negation, which wraps; NumPy's floor division of the least integer is not defined everywhere.
    minus_one = divisor == -1
    safe = np.where(minus_one, 1, divisor).astype(divisor.dtype)
    floor = dividend // safe
    inexact = floor * safe != dividend
    quotient = floor + (inexact & ((dividend < 0) != (safe < 0)))
    return np.where(minus_one, np.negative(dividend), quotient.astype(dividend.dtype))


def _remainder_integers(dividend: Array, divisor: Array) -> Array:
    special = (divisor == 0) | (divisor == -1) if divisor.dtype.kind == "i" else divisor == 0
    safe = np.where(special, 1, divisor).astype(divisor.dtype)
    return np.where(special, np.where(divisor == 0, dividend, 0), np.fmod(dividend, safe)).astype(dividend.dtype)


def _lexicographic(left: Array, right: Array) -> Array:
    return np.asarray((left.real < right.real) | ((left.real == right.real) & (left.imag < right.imag)))


def _maximum_complex(left: Array, right: Array) -> Array:
    return np.where((_lexicographic(left, right) | np.isnan(right)) & ~np.isnan(left), right, left)


def _minimum_complex(left: Array, right: Array) -> Array:
    return np.where((_lexicographic(right, left) | np.isnan(right)) & ~np.isnan(left), right, left)


def _power_integers(base: Array, exponent: Array) -> Array:
    result = np.ones(np.broadcast_shapes(base.shape, exponent.shape), base.dtype)
    square, left = base, np.broadcast_to(exponent, result.shape)
    negative = left < 0
    left = np.where(negative, left & 1, left)
    while left.any():
        result = np.where(left & 1, result * square, result)
        square = square * square
        left = left >> 1
    # A negative power is 1/x^n in integers: that of 1 and -1 is itself up to sign, of 0 (divided by zero) -1... as
    # XLA's expansion has it: 0 for every other base, 0 included.
    units = (base == 1) | (base == -1) if base.dtype.kind == "i" else base == 1
    return np.where(negative & ~units, 0, result).astype(base.dtype)


def _power_real(base: Array, exponent: Array) -> Array:
    """The power; where all exponents are one 0.5 NumPy takes roots, and those of -0 and -inf are others."""
    other = (exponent == 0.5) & ((base == 0) | (base == -np.inf))
    return np.asarray(np.power(np.where(other, np.abs(base), base), exponent))


def _power_complex(base: Array, exponent: Array) -> Array:
    # NumPy's own product of complex numbers turns signs around where it overflows.
    result = np.exp(_multiply_complex(*np.broadcast_arrays(exponent, np.log(base))))
    # A zero vanishes with any power that has a positive real part; any other but 0 is not defined.
    result = np.where(base == 0, np.where(exponent.real > 0, 0.0, complex(np.nan, np.nan)), result)
    return np.where(exponent == 0, 1.0, result)


def _sign(value: Array) -> Array:
    return np.where((value == 0) | np.isnan(value), value, np.copysign(np.ones_like(value), value))


def _sign_complex(value: Array) -> Array:
    real, imaginary, _ = _scaled(value)
    size = np.hypot(real, imaginary)
    safe = np.where(size == 0, 1, size)
    return np.where(size == 0, 0, complex_from(real / safe, imaginary / safe))


def _round_away(value: Array) -> Array:
    truncated = np.trunc(value)
    away = np.abs(value - truncated) >= 0.5
    return np.copysign(np.where(away, truncated + np.copysign(np.ones_like(value), value), truncated), value)


def _magnitude(value: Array) -> Array:
    return np.asarray(np.hypot(value.real, value.imag))


def _multiply_complex(left: Array, right: Array) -> Array:
    return complex_from(
        left.real * right.real - left.imag * right.imag, left.real * right.imag + left.imag * right.real
    )


def _divide_complex(dividend: Array, divisor: Array) -> Array:
    # Scaling both by powers of two keeps products and squares in range and rounds nothing.
    (a, b, up), (c, d, down) = _scaled(dividend), _scaled(divisor)
    size = c * c + d * d
    real = np.ldexp((a * c + b * d) / size, up - down)
    imaginary = np.ldexp((b * c - a * d) / size, up - down)
    return complex_from(*_divide_specials(dividend, divisor, real, imaginary))


class _Scaled(NamedTuple):
    """Real and imaginary part divided by 2 to the exponent of the larger, and that exponent."""

    real: Array
    imaginary: Array
    exponent: Array


def _scaled(value: Array) -> _Scaled:
    size = np.maximum(np.abs(value.real), np.abs(value.imag))
    exponent = np.where(np.isfinite(size) & (size > 0), np.frexp(size)[1], 0)
    return _Scaled(np.ldexp(value.real, -exponent), np.ldexp(value.imag, -exponent), exponent)


def _divide_specials(dividend: Array, divisor: Array, real: Array, imaginary: Array) -> tuple[Array, Array]:
    """What C99's annex G says of quotients that came out as NaN though they are zero or infinite."""
    a, b, c, d = np.broadcast_arrays(dividend.real, dividend.imag, divisor.real, divisor.imag)
    lost = np.isnan(real) & np.isnan(imaginary)
    if not lost.any():
        return real, imaginary
    by_zero = lost & (c == 0) & (d == 0) & (~np.isnan(a) | ~np.isnan(b))
    infinity = np.copysign(np.inf, c)
    real, imaginary = np.where(by_zero, infinity * a, real), np.where(by_zero, infinity * b, imaginary)
    above, below = np.isinf(a) | np.isinf(b), np.isinf(c) | np.isinf(d)
    finite_below, finite_above = np.isfinite(c) & np.isfinite(d), np.isfinite(a) & np.isfinite(b)
    infinite = lost & above & finite_below & ~by_zero
    a1, b1 = np.copysign(np.isinf(a) * 1.0, a), np.copysign(np.isinf(b) * 1.0, b)
    real = np.where(infinite, np.inf * (a1 * c + b1 * d), real)
    imaginary = np.where(infinite, np.inf * (b1 * c - a1 * d), imaginary)
    vanishing = lost & below & finite_above
    c1, d1 = np.copysign(np.isinf(c) * 1.0, c), np.copysign(np.isinf(d) * 1.0, d)
    real = np.where(vanishing, 0.0 * (a * c1 + b * d1), real)
    imaginary = np.where(vanishing, 0.0 * (b * c1 - a * d1), imaginary)
    return real, imaginary


def complex_from(real: Any, imaginary: Any) -> Array:
    """A complex array from its parts, bit for bit (`a + 1j*b` would disturb infinities and signed zeros)."""
    real, imaginary = np.broadcast_arrays(real, imaginary)
    result = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    result.real, result.imag = real, imaginary
    return result


def _identity(value: Array) -> Array:
    return value


def _is_nonzero(value: Array) -> Array:
    return np.asarray((value != 0).astype(value.dtype))


_OR, _AND = np.logical_or, np.logical_and

_COMBINES = Trait.COMMUTATIVE | Trait.ASSOCIATIVE

_ROWS = (
    Row(
        "add",
        2,
        "Sum.",
        kinds(pred=_OR, integer=np.add, real=np.add, complex_=np.add),
        traits=_COMBINES | Trait.IEEE | Trait.SIGNED_ZEROS,
    ),
    Row(
        "subtract",
        2,
        "Difference.",
        kinds(pred=np.logical_xor, integer=np.subtract, real=np.subtract, complex_=np.subtract),
        traits=Trait.IEEE | Trait.SIGNED_ZEROS,
    ),
    Row(
        "multiply",
        2,
        "Product.",
        kinds(pred=_AND, integer=np.multiply, real=np.multiply, complex_=_multiply_complex),
        traits=_COMBINES | Trait.IEEE | Trait.SIGNED_ZEROS,
    ),
    Row(
        "divide",
        2,
        "Quotient; integers truncate towards zero.",
        kinds(integer=_divide_integers, real=np.divide, complex_=_divide_complex),
        result=None,
        traits=Trait.EXPENSIVE | Trait.IEEE | Trait.SIGNED_ZEROS,
    ),
    Row(
        "remainder",
        2,
        "Remainder of the truncated quotient, with the dividend's sign.",
        kinds(integer=_remainder_integers, real=np.fmod),
        traits=Trait.EXPENSIVE,
    ),
    Row(
        "maximum",
        2,
        "The greater of two; NaN if either is NaN.",
        kinds(pred=_OR, integer=np.maximum, real=maximum, complex_=_maximum_complex),
        traits=Trait.EXACT | _COMBINES | Trait.IDEMPOTENT,
    ),
    Row(
        "minimum",
        2,
        "The lesser of two; NaN if either is NaN.",
        kinds(pred=_AND, integer=np.minimum, real=minimum, complex_=_minimum_complex),
        traits=Trait.EXACT | _COMBINES | Trait.IDEMPOTENT,
    ),
    Row(
        "power",
        2,
        "The first to the power of the second.",
        kinds(pred=lambda a, b: a | ~b, integer=_power_integers, real=_power_real, complex_=_power_complex),
        precise=True,
        traits=Trait.APPROXIMATE | Trait.EXPENSIVE,
    ),
    Row(
        "abs",
        1,
        "Magnitude.",
        kinds(signed=np.abs, unsigned=_identity, real=np.abs, complex_=_magnitude),
        result=real_part_type,
        traits=Trait.EXACT | Trait.EVEN | Trait.SIGNED_ZEROS,
    ),
    Row(
        "negate",
        1,
        "Negation.",
        kinds(integer=np.negative, real=np.negative, complex_=np.negative),
        traits=Trait.EXACT | Trait.ODD | Trait.SIGNED_ZEROS,
    ),
    Row(
        "sign",
        1,
        "-1, 0 or 1 by sign; NaN and zeros are kept.",
        kinds(signed=np.sign, unsigned=_is_nonzero, real=_sign, complex_=_sign_complex),
        traits=Trait.EXACT | Trait.ODD,
    ),
    Row("ceil", 1, "The least integer not below.", kinds(real=np.ceil), traits=Trait.EXACT),
    Row("floor", 1, "The greatest integer not above.", kinds(real=np.floor), traits=Trait.EXACT),
    Row(
        "round-nearest-afz",
        1,
        "The nearest integer, halves away from zero.",
        kinds(real=_round_away),
        traits=Trait.EXACT,
    ),
    Row("round-nearest-even", 1, "The nearest integer, halves to even.", kinds(real=np.rint), traits=Trait.EXACT),
)

OPS: dict[str, Op] = {row.opcode: row.op() for row in _ROWS}
