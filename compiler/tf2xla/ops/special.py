"""Special functions of one number: the inverses of the error function and of the normal distribution, Bessel's.

They are the approximations that XLA has, by Giles for the inverse of the error function, from Cephes for the others,
each with one table of coefficients for f32 and another for f64.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from compiler.expansion.expression import Expression
from compiler.ir.types import F64
from compiler.tf2xla.ops.coefficients import BESSEL, ERROR_INVERSE, NORMAL_INVERSE
from compiler.tf2xla.ops.unary import in_f32, polynomial
from compiler.tf2xla.record import Record, record, table


def spread(x: Expression, value: float) -> Expression:
    """An array like another, everywhere a value."""
    return x.literal(value).spread(x.dims, ())


def _error_inverse(x: Expression) -> Expression:
    """By polynomials of w = -log(1 - x^2), or of its root where x is near 1 or -1."""
    w = -(-(x * x)).apply("log-plus-one")
    first, *others = ERROR_INVERSE[x.type is F64]
    found = polynomial(w - first.shift, first.coefficients)
    root = w.apply("sqrt")
    for before, piece in itertools.pairwise((first, *others)):
        found = w.compare("LT", before.limit).where(found, polynomial(root - piece.shift, piece.coefficients))
    end = x.apply("abs").compare("EQ", 1)
    return end.where(x * math.inf, found * x)


def _normal_inverse(x: Expression) -> Expression:
    """The number below which normal numbers are with probability x: Cephes's three quotients of polynomials."""
    (center_p, center_q), near, far = NORMAL_INVERSE
    upper = x.compare("GT", 1 - math.exp(-2))
    y = upper.where(-x + 1, x)
    half = y - 0.5
    square = half * half
    quotient = square * polynomial(square, center_p) / polynomial(square, center_q)
    center = (half + half * quotient) * math.sqrt(2 * math.pi)
    z = (y.apply("log") * -2).apply("sqrt")
    inverse = spread(z, 1) / z
    first = z - z.apply("log") / z
    tails = [inverse * polynomial(inverse, p) / polynomial(inverse, q) for p, q in (near, far)]
    tail = first - z.compare("LT", 8).where(*tails)
    found = y.compare("GT", math.exp(-2)).where(center, upper.where(tail, -tail))
    found = x.compare("EQ", 0).where(spread(x, -math.inf), found)
    return x.compare("EQ", 1).where(spread(x, math.inf), found)


def chebyshev(x: Expression, coefficients: Sequence[float]) -> Expression:
    """The value of a series of Chebyshev's polynomials, its highest coefficient first."""
    newest, before, last = (spread(x, 0) for _ in range(3))
    for coefficient in coefficients:
        newest, before, last = x * newest - before + coefficient, newest, before
    return (newest - last) * 0.5


def _bessel(order: int) -> Callable[[Expression], Expression]:
    """Bessel's modified function of the first kind over e^|x|."""

    def value(x: Expression) -> Expression:
        near, far = BESSEL[order][x.type is F64]
        size = x.apply("abs")
        inside = chebyshev(size * 0.5 - 2, near)
        inside = size * inside if order else inside
        outside = chebyshev(spread(size, 32) / size - 2, far) / size.apply("sqrt")
        found = size.compare("LE", 8).where(inside, outside)
        return x.apply("sign") * found if order else found

    return value


def row(name: str, formula: Callable[[Expression], Expression], doc: str) -> Record:
    """A record of a function of one number.

    Args:
        name: the op's.
        formula: writes it in f32 or f64.
        doc: what it computes, in a line.
    """
    widened = in_f32(formula)
    return record(name, "x: T -> y: T; T: {floats}", lambda operation: widened(operation["x"]), doc)


def whole_first_kind(order: int) -> Callable[[Expression], Expression]:
    """Bessel's modified function of the first kind."""
    return lambda x: _bessel(order)(x) * x.apply("abs").apply("exponential")


RECORDS = table(
    row("Erfinv", _error_inverse, "The inverse of the error function."),
    row("Ndtri", _normal_inverse, "The inverse of the normal distribution."),
    row("BesselI0", whole_first_kind(0), "Bessel's function I0."),
    row("BesselI1", whole_first_kind(1), "Bessel's function I1."),
    row("BesselI0e", _bessel(0), "Bessel's function I0 over e^|x|."),
    row("BesselI1e", _bessel(1), "Bessel's function I1 over e^|x|."),
)
