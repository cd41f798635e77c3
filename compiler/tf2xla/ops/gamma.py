"""Incomplete gamma and beta functions, their derivatives, and Hurwitz's zeta function with what follows from it.

Incomplete functions are series or continued fractions, by the argument, computed until no element changes any more:
elements that are done, and those that the other formula is for, keep what they have.  The derivative by `a` goes along
with the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression
from compiler.ir.types import F64, S32
from compiler.tf2xla.broadcasting import together
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.coefficients import ZETA
from compiler.tf2xla.ops.unary import digamma, lgamma
from compiler.tf2xla.record import Lower, record, table
from compiler.tf2xla.reducing import in_f32

_MOST = 2000
"""Steps of a continued fraction before it is given up, as XLA's igammac does (XLA, math.cc)."""
_BETA = {False: 200, True: 600}
_TERMS = 9
"""Terms of zeta's sum that are added up before Euler and Maclaurin's formula stands for the rest."""


def _full(x: Expression, value: float) -> Expression:
    return x.literal(value).spread(x.dims, ())


def _epsilon(x: Expression) -> float:
    return float(np.finfo(x.type.dtype).eps)


def _any(flags: Expression) -> Expression:
    return flags.to(S32).sum(*range(len(flags.dims))).compare("GT", 0)


def _kept(goes_on: Expression, after: Sequence[Expression], before: Sequence[Expression]) -> list[Expression]:
    return [goes_on.where(new, old) for new, old in zip(after, before, strict=True)]


def _series(a: Expression, x: Expression, enabled: Expression, *, by_a: bool) -> tuple[Expression, Expression]:
    """The sum of x^n / ((a+1) ... (a+n)) over n, and its derivative by a."""
    zero, one, eps = _full(a, 0), _full(a, 1), _epsilon(a)

    def step(_: Expression, state: list[Expression]) -> list[Expression]:
        goes_on, r, c, total, slope, slopes, x = state
        r_new = r + 1
        slope_new = slope * (x / r_new) - c * x / (r_new * r_new)
        slopes_new = slopes + slope_new
        c_new = c * (x / r_new)
        total_new = total + c_new
        change = (slope_new / slopes_new).apply("abs") if by_a else c_new / total_new
        kept = _kept(goes_on, [r_new, c_new, total_new, slope_new, slopes_new], [r, c, total, slope, slopes])
        return [goes_on & change.compare("GT", eps), *kept, x]

    start = [enabled, a, one, one, zero, zero, x]
    found = counted_loop("series", 2**31 - 1, start, step, lambda _, state: _any(state[0]))
    return found[3], found[5]


def _fraction(a: Expression, x: Expression, enabled: Expression, *, by_a: bool) -> tuple[Expression, Expression]:
    """The continued fraction of the upper function, and its derivative by a: numerators p, denominators q."""
    eps = _epsilon(a)
    ones, zeros = _full(a, 1), _full(a, 0)

    def step(number: Expression, state: list[Expression]) -> list[Expression]:
        goes_on, value, slope, y, z, *rest = state
        p1, q1, p2, q2, dp1, dq1, dp2, dq2 = rest
        c = (number + 1).to(a.type).spread(a.dims, ())
        y_new, z_new = y + 1, z + 2
        yc = y_new * c
        p, q = p1 * z_new - p2 * yc, q1 * z_new - q2 * yc
        there = q.compare("NE", 0)
        ratio = p / q
        change = there.where(((value - ratio) / ratio).apply("abs"), _full(p, 1))
        value_new = there.where(ratio, value)
        dp = dp1 * z_new - p1 - dp2 * yc + p2 * c
        dq = dq1 * z_new - q1 - dq2 * yc + q2 * c
        slope_new = there.where((dp - value_new * dq) / q, slope)
        if by_a:
            change = there.where((slope_new - slope).apply("abs"), _full(p, 1))
        large = p.apply("abs").compare("GT", 1 / eps)
        scaled = [large.where(one * eps, one) for one in (p, q, p1, q1, dp, dq, dp1, dq1)]
        kept = _kept(goes_on, [value_new, slope_new, y_new, z_new, *scaled], [value, slope, y, z, *rest])
        return [goes_on & change.compare("GT", eps), *kept]

    y = -a + 1
    z = x + y + 1
    p1, q1 = x + 1, z * x
    value = p1 / q1
    start = [enabled, value, value * x / q1, y, z, p1, q1, ones, x, zeros, -x, zeros, zeros]
    found = counted_loop("fraction", _MOST, start, step, lambda _, state: _any(state[0]))
    return found[1], found[2]


def _factor_and_small(a: Expression, x: Expression) -> tuple[Expression, Expression]:
    """x^a e^-x / gamma(a), and where it is too small to be told from 0."""
    exponent = a * x.apply("log") - x - lgamma(a)
    small = exponent.compare("LT", -math.log(float(np.finfo(a.type.dtype).max)))
    return exponent.apply("exponential"), small


class _Domain(NamedTuple):
    """What functions of a > 0 and x >= 0 have in common.

    Attributes:
        undefined: which elements are NaN.
        zero: where x is 0.
        factor: x^a e^-x / gamma(a).
        enabled: where something is to be computed.
    """

    undefined: Expression
    zero: Expression
    factor: Expression
    enabled: Expression


def _domain(a: Expression, x: Expression) -> _Domain:
    undefined = x.compare("LT", 0) | a.compare("LE", 0) | a.compare("NE", a) | x.compare("NE", x)
    zero = x.compare("EQ", 0)
    factor, small = _factor_and_small(a, x)
    return _Domain(undefined, zero, factor, (zero | undefined | small).apply("not"))


def _lower_gamma(a: Expression, x: Expression) -> Expression:
    undefined, zero, factor, enabled = _domain(a, x)
    above = x.compare("GT", 1) & x.compare("GT", a)
    upper = _fraction(a, x, enabled & above, by_a=False)[0] * factor
    lower = _series(a, x, enabled & above.apply("not"), by_a=False)[0] * factor / a
    found = above.where(-upper + 1, lower)
    found = x.compare("EQ", math.inf).where(_full(a, 1), found)
    found = a.compare("EQ", math.inf).where(_full(a, 0), found)
    return zero.where(_full(a, 0), undefined.where(_full(a, math.nan), found))


def _upper_gamma(a: Expression, x: Expression) -> Expression:
    undefined, zero, factor, enabled = _domain(a, x)
    below = x.compare("LT", 1) | x.compare("LT", a)
    lower = _series(a, x, enabled & below, by_a=False)[0] * factor / a
    upper = _fraction(a, x, enabled & below.apply("not"), by_a=False)[0] * factor
    found = (zero | a.compare("EQ", math.inf)).where(_full(a, 1), below.where(-lower + 1, upper))
    found = x.compare("EQ", math.inf).where(_full(a, 0), found)
    return undefined.where(_full(a, math.nan), found)


def _by_a(*, of_sample: bool) -> Callable[[Expression, Expression], Expression]:
    """The derivative of the lower function by a, or that of a gamma number that was drawn as x."""

    def value(a: Expression, x: Expression) -> Expression:
        undefined, zero, factor, enabled = _domain(a, x)
        above = x.compare("GT", 1) & x.compare("GT", a)
        upper, upper_slope = _fraction(a, x, enabled & above, by_a=True)
        lower, lower_slope = _series(a, x, enabled & above.apply("not"), by_a=True)
        log_x = x.apply("log")
        derivatives = [
            -(upper * (log_x - digamma(a)) + upper_slope),
            (lower * (log_x - digamma(a + 1)) + lower_slope) / a,
        ]
        scaled = [-(one * x) if of_sample else one * factor for one in derivatives]
        is_flat = x.compare("EQ", math.inf) | a.compare("EQ", math.inf)
        found = is_flat.where(_full(a, 0), above.where(*scaled))
        return zero.where(_full(a, 0), undefined.where(_full(a, math.nan), found))

    return value


def _beta_fraction(a: Expression, b: Expression, x: Expression) -> Expression:
    """The continued fraction of the incomplete beta function, by Lentz's algorithm."""
    tiny = _epsilon(a) / 2

    def away(value: Expression) -> Expression:
        return value.apply("abs").compare("LT", tiny).where(_full(value, tiny), value)

    def step(number: Expression, state: list[Expression]) -> list[Expression]:
        _, c, d, found, a, b, x = state
        is_odd = (number & 1).compare("EQ", 1).spread(a.dims, ())
        m = (number >> 1).to(a.type).spread(a.dims, ())
        twice = a + m * 2
        even = m * (b - m) * x / ((twice - 1) * twice)
        odd = -(a + m) * (a + b + m) * x / (twice * (twice + 1))
        first = number.compare("EQ", 0).spread(a.dims, ())
        numerator = first.where(_full(a, 1), is_odd.where(odd, even))
        c, d = away(numerator / c + 1), away(numerator * d + 1)
        d = _full(d, 1) / d
        delta = c * d
        going = (delta - 1).apply("abs").compare("GE", tiny)
        return [_any(going), c, d, found * delta, a, b, x]

    start = _full(a, tiny)
    truth = a.literal(0).compare("EQ", 0)
    loop = counted_loop(
        "beta", _BETA[a.type is F64] - 1, [truth, start, _full(a, 0), start, a, b, x], step, lambda _, state: state[0]
    )
    return loop[3]


def _beta(a: Expression, b: Expression, x: Expression) -> Expression:
    outside = a.compare("LE", 0) | b.compare("LE", 0) | x.compare("LT", 0) | x.compare("GT", 1)
    a, b, x = (outside.where(_full(one, 0.5), one) for one in (a, b, x))  # which is soon done
    fast = x.compare("LT", (a + 1) / (a + b + 2))
    a, b, x = fast.where(a, b), fast.where(b, a), fast.where(x, -x + 1)
    of_both = lgamma(a) + lgamma(b) - lgamma(a + b)
    scale = (x.apply("log") * a + (-x).apply("log-plus-one") * b - of_both).apply("exponential")
    found = _beta_fraction(a, b, x) * scale / a
    return outside.where(_full(a, math.nan), fast.where(found, -found + 1))


def _zeta(x: Expression, q: Expression) -> Expression:
    """The sum of (q + n)^-x: its first terms, and Euler and Maclaurin's formula for the others."""
    at, total = q, q.apply("power", -x)
    for _ in range(_TERMS):
        at = at + 1
        total = total + at.apply("power", -x)
    at = at + 1
    last = at.apply("power", -x)
    integral = last * at / (x - 1)
    inverse = _full(at, 1) / (at * at)
    correction = _full(at, 0)
    for number, coefficient in enumerate(ZETA[:-1]):
        k = 2 * (len(ZETA) - number) - 2
        correction = (x + k) * (x + (k - 1)) * inverse * (correction + 1 / coefficient)
    rest = last * (x / at * (correction + 1 / ZETA[-1]) + 0.5)
    enough = last.apply("abs").compare("LT", total.apply("abs") * _epsilon(x))
    found = enough.where(total, total + integral + rest)
    infinite, nan = _full(x, math.inf), _full(x, math.nan)
    is_whole = x.compare("EQ", x.apply("floor"))
    not_positive = q.compare("LE", 0)
    undefined = x.compare("LT", 1) | (not_positive & is_whole.apply("not"))
    found = undefined.where(nan, found)
    is_even = is_whole & x.apply("remainder", 2).compare("EQ", 0)
    pole = not_positive & q.compare("EQ", q.apply("floor"))
    found = pole.where(is_even.where(infinite, nan), found)
    return x.compare("EQ", 1).where(infinite, found)


def _polygamma(n: Expression, x: Expression) -> Expression:
    """The derivatives of digamma: n! zeta(n + 1, x), its sign that of (-1)^(n+1)."""
    sign = n.apply("remainder", 2) * 2 - 1
    found = sign * lgamma(n + 1).apply("exponential") * _zeta(n + 1, x)
    found = n.compare("EQ", 0).where(digamma(x), found)
    natural = n.compare("EQ", n.apply("floor")) & n.compare("GE", 0)
    return natural.where(found, _full(n, math.nan))


def _in_f32(formula: Callable[[Expression, Expression], Expression]) -> Lower:
    """A formula on two inputs, spread over each other; numbers of 16 bits go through f32."""

    def lower(operation: Operation) -> Expression:
        first, second = (port.name for port in operation.signature.inputs)
        x, y = together(operation, operation[first], operation[second])
        kind = in_f32(x.type)
        return formula(x.to(kind), y.to(kind)).to(x.type)

    return lower


def _three(operation: Operation) -> Expression:
    """Scalars among the arguments are spread over the others, which must have the same sizes."""
    given = [operation[name] for name in ("a", "b", "x")]
    sizes = {one.dims for one in given if one.dims}
    operation.require(len(sizes) <= 1, lambda: f"arrays of {sorted(map(list, sizes))} do not go together")
    return _beta(*together(operation, *given))


_PAIR = "a: T, x: T -> z: T; T: {{{}}}"
_LONG = "float32 float64"
RECORDS = table(
    record("Igamma", _PAIR.format("floats"), _in_f32(_lower_gamma), "The regularized lower incomplete gamma function."),
    record("Igammac", _PAIR.format("floats"), _in_f32(_upper_gamma), "The upper one."),
    record("IgammaGradA", _PAIR.format(_LONG), _in_f32(_by_a(of_sample=False)), "The lower one's derivative by a."),
    record(
        "RandomGammaGrad",
        f"alpha: T, sample: T -> output: T; T: {{{_LONG}}}",
        _in_f32(_by_a(of_sample=True)),
        "The derivative of a gamma number that was drawn by its parameter.",
    ),
    record("Betainc", f"a: T, b: T, x: T -> z: T; T: {{{_LONG}}}", _three, "The regularized incomplete beta function."),
    record("Zeta", f"x: T, q: T -> z: T; T: {{{_LONG}}}", _in_f32(_zeta), "Hurwitz's zeta function."),
    record("Polygamma", _PAIR.format(_LONG), _in_f32(_polygamma), "The derivatives of log gamma's derivative."),
)
