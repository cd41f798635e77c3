"""Functions that are integrals which no elementary function is: Dawson's, the exponential one, Fresnel's, Spence's.

They are Cephes's approximations, as TensorFlow's kernels have them: quotients of polynomials, each for a range of x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compiler.expansion.expression import Expression
from compiler.tf2xla.ops.integral_coefficients import (
    DAWSON,
    EXPONENTIAL,
    FRESNEL_COSINE,
    FRESNEL_FAR,
    FRESNEL_SINE,
    SPENCE,
)
from compiler.tf2xla.ops.special import row, spread
from compiler.tf2xla.ops.unary import Formula, polynomial
from compiler.tf2xla.record import table

Quotient = tuple[tuple[float, ...], tuple[float, ...]]
_DAWSON_LIMITS = (3.25, 6.25, 1e9)
"""Where the next quotient begins; beyond the last it is 1 / 2x (Cephes, dawsn.c)."""
_EXPONENTIAL_LIMITS = (2, 4, 8, 16, 32, 64)
"""Where the next quotient begins (Cephes, expn.c and ei.c)."""
_FRESNEL_NEAR, _FRESNEL_END = 2.5625, 36974.0
"""The square up to which there are quotients, and where waves are too small to show (Cephes, fresnl.c)."""


def _quotient(x: Expression, quotient: Quotient) -> Expression:
    return polynomial(x, quotient[0]) / polynomial(x, quotient[1])


def _by_range(x: Expression, limits: Sequence[float], values: Sequence[Expression]) -> Expression:
    """Of each number the value of the range that it is in; of NaN the last, which is NaN."""
    found = values[-1]
    for limit, value in reversed(list(zip(limits, values, strict=False))):
        found = x.compare("LT", limit).where(value, found)
    return found


def _odd(formula: Formula) -> Formula:
    """A function of which f(-x) is -f(x), by that of positive numbers."""

    def value(x: Expression) -> Expression:
        found = formula(x.apply("abs"))
        return x.compare("LT", 0).where(-found, found)

    return value


def _dawson(x: Expression) -> Expression:
    near, *others = DAWSON
    square, inverse = x * x, spread(x, 1) / x
    small = inverse * inverse
    pieces = [x * polynomial(square, near[0]) / polynomial(square, near[1])]
    quotients = [polynomial(small, above) / (x * polynomial(small, below)) for above, below in others]
    pieces += [(small * one + inverse) * 0.5 for one in quotients]
    return _by_range(x, _DAWSON_LIMITS, [*pieces, spread(x, 0.5) / x])


def _exponential(x: Expression) -> Expression:
    """Ei(x), which begins with a logarithm, and grows as e^x over x; NaN of what is negative."""
    near, *others = EXPONENTIAL
    inverse = spread(x, 1) / x
    pieces = [x * _quotient(x, near) + _EULER + x.apply("log")]
    pieces += [x.apply("exponential") * inverse * (inverse * _quotient(inverse, one) + 1) for one in others]
    return x.compare("LT", 0).where(spread(x, math.nan), _by_range(x, _EXPONENTIAL_LIMITS, pieces))


_EULER = 0.5772156649015329
"""Euler's constant, the limit of the harmonic numbers less logarithms."""


def _fresnel_wave(x: Expression, angle: Expression, forms: tuple[str, str]) -> Expression:
    """How far the integral is from a half, times pi x: a wave, and another a quarter later.

    Args:
        x: the numbers, far from 0.
        angle: of the waves.
        forms: their opcodes.
    """
    inverse = spread(x, 1) / (x * x * math.pi)
    square = inverse * inverse
    first = -(square * _quotient(square, FRESNEL_FAR[0])) + 1
    second = inverse * _quotient(square, FRESNEL_FAR[1])
    own, later = (angle.apply(form) for form in forms)
    return first * own + second * later if forms[0] == "cosine" else first * own - second * later


def _fresnel(near: Quotient, forms: tuple[str, str]) -> Formula:
    is_cosine = forms[0] == "sine"  # that of the cosine goes on as a sine

    def value(x: Expression) -> Expression:
        square = x * x
        small = (x if is_cosine else x * square) * _quotient(square * square, near)
        wave = _fresnel_wave(x, square * (math.pi / 2), forms) * (spread(x, 1) / (x * math.pi))
        far = wave + 0.5 if is_cosine else -wave + 0.5
        found = square.compare("LT", _FRESNEL_NEAR).where(small, far)
        return x.compare("GT", _FRESNEL_END).where(spread(x, 0.5), found)

    return _odd(value)


def _spence(x: Expression) -> Expression:
    """The integral of log t / (1 - t) from 1 to x, by numbers between a half and one and a half; NaN below 0."""
    inverse = spread(x, 1) / x
    y = x.compare("LT", 2).where(x, inverse)
    is_low, is_high = y.compare("LT", 0.5), y.compare("GT", 1.5)
    w = is_high.where(spread(y, 1) / y - 1, is_low.where(-y, y - 1))
    found = -w * _quotient(w, SPENCE)
    z = y.apply("log")
    sixth = math.pi**2 / 6
    found = is_low.where(-z * (-y).apply("log-plus-one") + sixth - found, found)
    found = x.compare("GT", 1.5).where(z * z * -0.5 - found, found)
    for at, known in ((0, sixth), (1, 0)):
        found = x.compare("EQ", at).where(spread(x, known), found)
    return x.compare("LT", 0).where(spread(x, math.nan), found)


_ROWS: dict[str, tuple[Callable[[Expression], Expression], str]] = {
    "Dawsn": (_odd(_dawson), "Dawson's integral."),
    "Expint": (_exponential, "The exponential integral, Ei."),
    "FresnelCos": (_fresnel(FRESNEL_COSINE, ("sine", "cosine")), "Fresnel's integral of cosines."),
    "FresnelSin": (_fresnel(FRESNEL_SINE, ("cosine", "sine")), "Fresnel's integral of sines."),
    "Spence": (_spence, "Spence's integral, the dilogarithm of 1 - x."),
}
RECORDS = table(*(row(name, formula, doc) for name, (formula, doc) in _ROWS.items()))
