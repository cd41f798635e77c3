"""tanh, logistic, sinh, cosh and the inverse hyperbolic functions, from exp, expm1 and log1p."""

from __future__ import annotations

from compiler.codegen.math.exp_log import LN2, exp_scaled, log_plus_one, power_of_two_and_rest
from compiler.codegen.math.term import Term, polynomial

# Where tanh has rounded to 1 for good.
_TANH_ONE = {"float": 10.0, "double": 20.0}
# Where the logistic of -x has become 1 and 0, and -log2 of the scale between.
_LOGISTIC_RANGE = {"float": (-30.0, 104.0, 24), "double": (-50.0, 746.0, 53)}
# (sinh(x)/x - 1) / x^2 as a polynomial of x^2 for |x| <= 1: 2^-31.6 and 2^-61.8.
_SINH = {
    "float": (0.16666667, 0.0083333105, 0.00019842896, 2.7822118e-06),
    "double": (
        0.16666666666666669, 0.008333333333332912, 0.00019841269841593427, 2.755731910674539e-06,
        2.505213100147464e-08, 1.6056658883820563e-10, 7.776610661173032e-13,
    ),
}  # fmt: skip
# Squares overflow beyond, and 1 is nothing beside x.
_HUGE = {"float": 2.0**60, "double": 2.0**500}


def tanh(x: Term) -> Term:
    """(1 - e^-2|x|) / (1 + e^-2|x|), both halved, of e^-2|x| = 2h (1 + w), and the sign of x; never above 1.

    Of a small x numerator and denominator are x and 1, rounded last; the denominator of a negative exponent lies below
    2, where it loses half as much as above.
    """
    doubled = x.abs().at_most(_TANH_ONE[x.format.type]) * -2.0
    # The more n there is for ln2 to be wrong by, the less is left of the power.
    half, w = power_of_two_and_rest(doubled, minus=1, exact=False)
    return (w.fma(half, half - 0.5) / w.fma(half, half + 0.5)).copysign(x)


def logistic(x: Term) -> Term:
    """1 / (1 + e^-x) = c / (c + s + s w) with e^-x = s (1 + w) / c; c keeps the denominator finite."""
    low, high, minus = _LOGISTIC_RANGE[x.format.type]
    s, w = power_of_two_and_rest((-x).at_most(high).at_least(low), minus=minus)
    c = 2.0**-minus
    total = s + c
    # What c + s rounds away where s is a little larger than 2^mantissa c.
    lost = c - (total - s)
    return c / (total + s.fma(w, lost))


def sinh(x: Term) -> Term:
    """Odd polynomial up to 1, beyond it h - 1/(4h) with h = e^|x| / 2."""
    magnitude = x.abs()
    half = exp_scaled(magnitude, minus=1)
    square = magnitude * magnitude
    small = (magnitude * square).fma(polynomial(square, _SINH[x.format.type]), magnitude)
    return (magnitude < 1.0).where(small, half - 0.25 / half).copysign(x)


def cosh(x: Term) -> Term:
    """Compute h + 1/(4h) with h = e^|x| / 2."""
    half = exp_scaled(x.abs(), minus=1)
    return half + 0.25 / half


def _log_plus_one_doubled(condition: Term, huge: Term, moderate: Term) -> Term:
    """log(2 * huge) where the condition holds, log(1 + moderate) elsewhere."""
    result = log_plus_one(condition.where(huge, moderate))
    return result + condition.where(result.literal(LN2), 0.0)


def asinh(x: Term) -> Term:
    """log1p(|x| + x^2 / (1 + sqrt(1 + x^2))), log(2|x|) for huge x, and the sign of x."""
    magnitude = x.abs()
    square = magnitude * magnitude
    moderate = magnitude + square / ((square + 1.0).sqrt() + 1.0)
    return _log_plus_one_doubled(magnitude > _HUGE[x.format.type], magnitude, moderate).copysign(x)


def acosh(x: Term) -> Term:
    """log1p(t + sqrt(t^2 + 2t)) with t = x - 1, log(2x) for huge x."""
    t = x - 1.0
    moderate = t + t.fma(t, t + t).sqrt()
    result = _log_plus_one_doubled(x > _HUGE[x.format.type], x, moderate)
    return (x < 1.0).where(x.literal(float("nan")), result)


def atanh(x: Term) -> Term:
    """log1p(2|x| + 2x^2 / (1 - |x|)) / 2, and the sign of x."""
    magnitude = x.abs()
    twice = magnitude + magnitude
    result = log_plus_one(twice + twice * magnitude / (1.0 - magnitude)) * 0.5
    return (magnitude > 1.0).where(x.literal(float("nan")), result).copysign(x)
