"""Elementwise functions that are computed in f64 and rounded once, which is correct to well within one unit for f32.

f64 itself is as good as NumPy's functions.  erf has no NumPy function; the C library's, element by element, is the one
loop here.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from compiler.ir.elementwise import Row, kinds
from compiler.ir.numbers import Array
from compiler.ir.opdef import Op
from compiler.ir.traits import Trait

_erf_object = np.frompyfunc(math.erf, 1, 1)


def _erf(value: Array) -> Array:
    return np.asarray(_erf_object(value), dtype=np.float64)


def _logistic(value: Array) -> Array:
    # With the exponential of a negative number neither side overflows.
    decay = np.exp(-np.abs(value))
    return np.where(value >= 0, 1.0, decay) / (1.0 + decay) + np.where(np.isnan(value), value, 0.0)


def _logistic_complex(value: Array) -> Array:
    # As for real numbers: only exponentials of what has no positive real part, which do not overflow.
    left = value.real < 0
    decay = np.exp(np.where(left, value, -value))
    return np.where(left, decay, 1.0) / (1.0 + decay)


def _rsqrt(value: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(value))


def _rsqrt_complex(value: Array) -> Array:
    return np.where(np.isinf(value), 0.0, 1.0 / np.sqrt(value))


def _expm1_complex(value: Array) -> Array:
    # exp(x)(cos y) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2 keeps the digits that a subtraction of 1 would lose.
    x, y = value.real, value.imag
    result = np.empty(value.shape, value.dtype)
    half = np.sin(y / 2)
    result.real = np.where(y == 0, np.expm1(x), np.expm1(x) * np.cos(y) - 2 * half * half)
    result.imag = np.where(y == 0, y, np.exp(x) * np.sin(y))
    # Components may be numbers where e^x is none, and 1 is nothing beside them.
    large = (y != 0) & (x > np.log(np.finfo(x.dtype).max) - 1)
    return np.where(large, np.exp(value), result)


def _log1p_complex(value: Array) -> Array:
    # log|1+z| = log1p(x(2 + x) + y^2) / 2 keeps the digits that an addition of 1 would lose.
    x, y = value.real, value.imag
    result = np.empty(value.shape, value.dtype)
    small = np.abs(x) + np.abs(y) < 0.5
    result.real = np.where(small, np.log1p(x * (2 + x) + y * y) / 2, np.log(np.hypot(1 + x, y)))
    result.imag = np.arctan2(y, 1 + x)
    return result


def _cbrt_complex(value: Array) -> Array:
    # By a third of the angle; scaled by a power of two that has a cube root, so that every magnitude is a number.
    size = np.maximum(np.abs(value.real), np.abs(value.imag))
    exponent = np.where(np.isfinite(size) & (size > 0), np.frexp(size)[1] // 3, 0)
    root = np.cbrt(np.hypot(np.ldexp(value.real, -3 * exponent), np.ldexp(value.imag, -3 * exponent)))
    angle = np.arctan2(value.imag, value.real) / 3
    result = np.empty(value.shape, value.dtype)
    result.real = np.ldexp(root * np.cos(angle), exponent)
    sine = np.sin(angle)
    result.imag = np.where(sine == 0, sine, np.ldexp(root * sine, exponent))
    return np.where(value == 0, 0, result)


def _atan2_complex(y: Array, x: Array) -> Array:
    # -i log((x + iy) / sqrt(x^2 + y^2)): with u = x + iy and v = x - iy the root is that of uv, so angles and
    # logarithms of u and v say all, and no square leaves the range.
    larger = np.maximum.reduce([np.abs(component) for component in (y.real, y.imag, x.real, x.imag)])
    known = np.isfinite(larger) & (larger > 0)
    scale = np.where(larger > 2.0**1000, 0.25, 1.0)
    a, b, c, d = (component * scale for component in (x.real, x.imag, y.real, y.imag))
    above, below = np.arctan2(b + c, a - d), np.arctan2(b - c, a + d)
    angle = (above - below) / 2 + np.pi * _turns(above + below)
    angle = angle - 2 * np.pi * _turns(angle)
    over, under = np.hypot(a + d, b - c), np.hypot(a - d, b + c)
    ratio = over / under
    ordinary = (ratio > 2.0**-100) & (ratio < 2.0**100)
    result = np.empty(larger.shape, y.dtype)
    result.real, result.imag = angle, np.where(ordinary, np.log(ratio), np.log(over) - np.log(under)) / 2
    small = np.hypot(c, d) < np.hypot(a, b) / 2
    result[small] = _small_atan2((y[small] * scale[small]) / (x[small] * scale[small]), angle[small])
    return np.where(known, result, complex(np.nan, np.nan))


def _small_atan2(quotient: Array, angle: Array) -> Array:
    # Near a known angle; a difference of angles and one of logarithms would lose their digits.
    real, side = quotient.real, np.abs(quotient.imag)
    result = np.empty(quotient.shape, quotient.dtype)
    half = np.arctan2(2 * real, 1 - (real * real + side * side)) / 2
    result.real = half + np.pi * np.round((angle - half) / np.pi)
    result.imag = np.copysign(np.log1p(4 * side / ((1 - side) ** 2 + real * real)) / 4, quotient.imag)
    return result


def _turns(angle: Array) -> Array:
    """How many whole turns an angle is away from where a logarithm has its own, in (-pi, pi]."""
    return np.where(angle > np.pi, 1.0, np.where(angle <= -np.pi, -1.0, 0.0))


def _tanh_complex(value: Array) -> Array:
    return np.tanh(value)


_FUNCTION = Trait.APPROXIMATE | Trait.EXPENSIVE
_ROOT = Trait.IEEE | Trait.EXPENSIVE

_ROWS = (
    Row("exponential", 1, "e to the power.", kinds(real=np.exp, complex_=np.exp), precise=True, traits=_FUNCTION),
    Row(
        "exponential-minus-one",
        1,
        "e^x - 1.",
        kinds(real=np.expm1, complex_=_expm1_complex),
        precise=True,
        traits=_FUNCTION,
    ),
    Row("log", 1, "Natural logarithm.", kinds(real=np.log, complex_=np.log), precise=True, traits=_FUNCTION),
    Row(
        "log-plus-one", 1, "log(1 + x).", kinds(real=np.log1p, complex_=_log1p_complex), precise=True, traits=_FUNCTION
    ),
    Row(
        "logistic",
        1,
        "1 / (1 + e^-x).",
        kinds(real=_logistic, complex_=_logistic_complex),
        precise=True,
        traits=_FUNCTION,
    ),
    Row(
        "sqrt",
        1,
        "Square root.",
        kinds(real=np.sqrt, complex_=np.sqrt),
        precise=True,
        traits=_ROOT,
    ),
    Row("rsqrt", 1, "1 / sqrt(x).", kinds(real=_rsqrt, complex_=_rsqrt_complex), precise=True, traits=_FUNCTION),
    Row(
        "cbrt", 1, "Cube root.", kinds(real=np.cbrt, complex_=_cbrt_complex), precise=True, traits=_FUNCTION | Trait.ODD
    ),
    Row("sine", 1, "Sine.", kinds(real=np.sin, complex_=np.sin), precise=True, traits=_FUNCTION | Trait.ODD),
    Row("cosine", 1, "Cosine.", kinds(real=np.cos, complex_=np.cos), precise=True, traits=_FUNCTION | Trait.EVEN),
    Row("tan", 1, "Tangent.", kinds(real=np.tan, complex_=np.tan), precise=True, traits=_FUNCTION | Trait.ODD),
    Row("asin", 1, "Arc sine.", kinds(real=np.arcsin, complex_=np.arcsin), precise=True, traits=_FUNCTION | Trait.ODD),
    Row("acos", 1, "Arc cosine.", kinds(real=np.arccos, complex_=np.arccos), precise=True, traits=_FUNCTION),
    Row(
        "sinh", 1, "Hyperbolic sine.", kinds(real=np.sinh, complex_=np.sinh), precise=True, traits=_FUNCTION | Trait.ODD
    ),
    Row(
        "cosh",
        1,
        "Hyperbolic cosine.",
        kinds(real=np.cosh, complex_=np.cosh),
        precise=True,
        traits=_FUNCTION | Trait.EVEN,
    ),
    Row(
        "tanh",
        1,
        "Hyperbolic tangent.",
        kinds(real=np.tanh, complex_=_tanh_complex),
        precise=True,
        traits=_FUNCTION | Trait.ODD,
    ),
    Row(
        "asinh",
        1,
        "Inverse hyperbolic sine.",
        kinds(real=np.arcsinh, complex_=np.arcsinh),
        precise=True,
        traits=_FUNCTION | Trait.ODD,
    ),
    Row(
        "acosh",
        1,
        "Inverse hyperbolic cosine.",
        kinds(real=np.arccosh, complex_=np.arccosh),
        precise=True,
        traits=_FUNCTION,
    ),
    Row(
        "atanh",
        1,
        "Inverse hyperbolic tangent.",
        kinds(real=np.arctanh, complex_=np.arctanh),
        precise=True,
        traits=_FUNCTION | Trait.ODD,
    ),
    Row("erf", 1, "Error function.", kinds(real=_erf), precise=True, traits=_FUNCTION | Trait.ODD),
    Row(
        "atan2",
        2,
        "The angle of the point (second, first).",
        kinds(real=np.arctan2, complex_=_atan2_complex),
        precise=True,
        traits=_FUNCTION,
    ),
)

_WITHOUT_ACCURACY = ("atan2",)


def _with_accuracy(row: Row) -> Row:
    """The row of a function whose accuracy can be asked for, as XLA lets all but atan2."""
    if row.opcode in _WITHOUT_ACCURACY:
        return row
    return replace(row, optional=("result_accuracy",))


OPS: dict[str, Op] = {row.opcode: _with_accuracy(row).op() for row in _ROWS}

_SHARING = tuple(
    frozenset(names.split())
    for names in (
        "exponential exponential-minus-one tanh logistic sinh cosh erf power",
        "log log-plus-one asinh acosh atanh power",
        "sine cosine tan",
        "asin acos",
        "sqrt rsqrt",
    )
)
"""Functions that are made of the same steps: a bug in one of these shows in all of them."""


def share_steps(opcode: str, other: str) -> bool:
    """Whether two opcodes are one function, or made of the same steps, so that one bug may show in both."""
    return opcode == other or any({opcode, other} <= sharing for sharing in _SHARING)
