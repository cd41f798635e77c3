"""Bessel's functions of the first and second kind, and the modified ones of the third, of the orders 0 and 1.

They are Cephes's approximations, as TensorFlow's kernels have them: polynomials near 0, and waves, or what falls like
e^-x, further out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler.expansion.expression import Expression
from compiler.ir.types import F64
from compiler.tf2xla.ops.bessel_coefficients import THIRD_KIND, WAVES, Quotient
from compiler.tf2xla.ops.special import chebyshev, row, spread, whole_first_kind
from compiler.tf2xla.ops.unary import Formula, polynomial
from compiler.tf2xla.record import table

_NARROW_LIMIT, _WIDE_LIMIT = 2.0, 5.0
"""Beyond which the functions are waves, in f32 and in f64 (Cephes, j0f.c and j0.c)."""
_NEAR_ZERO = {False: 1e-3, True: 1e-5}
"""Below which J0 is 1 - x^2 / 4, in f32 and in f64 (Cephes, j0f.c and j0.c)."""
_SCALE = 25.0
"""The square of the limit in f64: quotients are those of 25 / x^2 (Cephes, j0.c)."""


def _quotient(x: Expression, quotient: Quotient) -> Expression:
    return polynomial(x, quotient[0]) / polynomial(x, quotient[1])


def _phase(order: int) -> float:
    """How far behind x the wave of an order is."""
    return -(2 * order + 1) * math.pi / 4


def _wave(x: Expression, order: int, forms: tuple[str, str]) -> Expression:
    """The function far from 0, of positive numbers: `forms` is a wave, and the wave a quarter later.

    Args:
        x: the numbers.
        order: of the function.
        forms: opcodes of two waves.
    """
    narrow, wide = WAVES[order]
    if x.type is F64:
        square = spread(x, _SCALE) / (x * x)
        angle = x + _phase(order)
        first, second = (angle.apply(form) for form in forms)
        sign = -1.0 if forms[0] == "cosine" else 1.0
        sides = spread(x, sign * _WIDE_LIMIT) / x
        sum_ = _quotient(square, wide.cosine) * first + sides * (_quotient(square, wide.sine) * second)
        return sum_ * (x.apply("rsqrt") * math.sqrt(2 / math.pi))
    inverse = spread(x, 1) / x
    size = x.apply("rsqrt") * polynomial(inverse, narrow.size)
    angle = inverse * polynomial(inverse * inverse, narrow.angle) + _phase(order)
    return size * (angle + x).apply(forms[0])


def _first_near(x: Expression, order: int) -> Expression:
    """J of small numbers, whose least roots are taken out so that they are exact."""
    narrow, wide = WAVES[order]
    square = x * x
    if x.type is F64:
        found = _quotient(square, wide.first)
        found = found * x if order else found
        for root in wide.roots:
            found = found * (square - root)
    else:
        found = polynomial(square, narrow.first)
        found = (square - narrow.root) * (x * found if order else found)
    if order:
        return found
    tiny = x.apply("abs").compare("LT", _NEAR_ZERO[x.type is F64])
    return tiny.where(square * -0.25 + 1, found)


def _limit(x: Expression) -> float:
    return _WIDE_LIMIT if x.type is F64 else _NARROW_LIMIT


def _first(order: int) -> Formula:
    """J, which is even of order 0 and odd of order 1."""

    def value(x: Expression) -> Expression:
        size = x.apply("abs")
        far = _wave(size, order, ("cosine", "sine"))
        far = x.compare("LT", 0).where(-far, far) if order else far
        return size.compare("LE", _limit(x)).where(_first_near(x, order), far)

    return value


def _second_near(x: Expression, order: int) -> Expression:
    """Y of small numbers: J times a logarithm, which has a pole, and what is left."""
    narrow, wide = WAVES[order]
    square = x * x
    if x.type is F64:
        rest = _quotient(square, wide.second)
    else:
        rest = (square - narrow.second_root) * polynomial(square, narrow.second)
    grown = _first_near(x, order) * x.apply("log")
    if order:
        rest, grown = rest * x, grown - spread(x, 1) / x
    return rest + grown * (2 / math.pi)


def _second(order: int) -> Formula:
    """Y, which is minus infinity at 0, and as the kernels say below it."""

    def value(x: Expression) -> Expression:
        near = x.compare("LE", 0).where(spread(x, -math.inf), _second_near(x, order))
        return x.compare("LE", _limit(x)).where(near, _wave(x, order, ("sine", "cosine")))

    return value


def _third(order: int, *, is_scaled: bool) -> Formula:
    """K, or K over e^-x; infinite at 0, and as the kernels say below it."""

    def value(x: Expression) -> Expression:
        near, far = THIRD_KIND[order][x.type is F64]
        series = chebyshev(x * x - 2, near)
        grown = whole_first_kind(order)(x) * (x * 0.5).apply("log")
        inside = series / x + grown if order else series - grown
        inside = inside * x.apply("exponential") if is_scaled else inside
        outside = chebyshev(spread(x, 8) / x - 2, far) * x.apply("rsqrt")
        outside = outside if is_scaled else (-x).apply("exponential") * outside
        inside = x.compare("LE", 0).where(spread(x, math.inf), inside)
        return x.compare("LE", 2).where(inside, outside)

    return value


_KINDS: dict[str, Callable[[int], Formula]] = {"J": _first, "Y": _second}
RECORDS = table(
    *(row(f"Bessel{kind}{n}", of(n), f"Bessel's function {kind}{n}.") for kind, of in _KINDS.items() for n in (0, 1)),
    *(row(f"BesselK{n}", _third(n, is_scaled=False), f"Bessel's function K{n}.") for n in (0, 1)),
    *(row(f"BesselK{n}e", _third(n, is_scaled=True), f"Bessel's function K{n} over e^-x.") for n in (0, 1)),
)
