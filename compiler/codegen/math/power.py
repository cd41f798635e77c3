"""Roots and powers.

x^y = 2^(y log2|x|) needs the logarithm more precisely than the result by the bits of the largest exponent: f32
computes it in double (polynomial of 14 terms, error 2^-38), f64 as a sum of two doubles (atanh series, its first
term and all products compensated, error below 2^-64).  The special cases are C99's and are selected last.
"""

from __future__ import annotations

from compiler.codegen.math.exp_log import LN2, exp_reduced, integer_to_real, scale, split_exponent
from compiler.codegen.math.term import F32, F64, Term, paired_polynomial, polynomial, two_product, two_sum

# log2(1+f)/f for sqrt(1/2) <= 1+f <= sqrt(2): 2^-38.5.
_LOG2 = (
    1.4426950408865702, -0.7213475203273837, 0.4808983488053052, -0.3606737931724487, 0.2885387955162893,
    -0.24044643138969934, 0.20610712892503416, -0.180436808734364, 0.16021662032259332, -0.14249793818106798,
    0.13027536416385066, -0.13463251117422037, 0.13251550951943517, -0.06973824198466157,
)  # fmt: skip
# 2^g for |g| <= 1/2: 2^-29.
_EXP2 = (
    1.0000000005522887, 0.6931472057721588, 0.24022646895712668, 0.055503287058956366, 0.009618488581169149,
    0.0013399958797006128, 0.00015345916666897476,
)  # fmt: skip
# ((atanh(s)/s - 1)/s^2 - 1/3) / s^2 as a polynomial of s^2: 2^-54.
_ATANH_TAIL = (
    0.2, 0.14285714285710768, 0.11111111112922717, 0.09090908745936933, 0.0769233801169861, 0.0666539961823197,
    0.059022505107612935, 0.053876108256721754,
)  # fmt: skip
# (1 - h)^(-1/3) - 1 over h.
_INVERSE_CBRT = (0.3333333333333333, 0.2222222222222222, 0.1728395061728395)
_THIRD = (0.3333333333333333, 1.850371707708594e-17)
"""1/3 as a sum of two doubles."""
_TWO_LOG2_E = (2.8853900817779268, 4.0710547481862066e-17)
"""2 log2(e) as a sum of two doubles."""


def sqrt(x: Term) -> Term:
    """The square root; either target has it, correctly rounded."""
    return x.sqrt()


def rsqrt(x: Term) -> Term:
    """1 / sqrt x, both steps correctly rounded; -0 gives -infinity."""
    return 1.0 / x.sqrt()


def cbrt(x: Term) -> Term:
    """The cube root of the magnitude, with the sign put back."""
    magnitude = x.abs()
    root = _cbrt_f32(magnitude) if x.format is F32 else _cbrt_f64(magnitude)
    ordinary = (magnitude > 0.0) & (magnitude < float("inf"))
    return ordinary.where(root.copysign(x), x)


def _cbrt_f32(magnitude: Term) -> Term:
    """The product a y^2 in double, with y = a^(-1/3) by two steps without divisions, which triple the right bits.

    With h = 1 - a y^3 it is y (1 - h)^(-1/3), of which the steps take three and two terms: h is 2^-3.2, 2^-14.2 and
    2^-42.9.
    """
    a = magnitude.cast("fpext", "double")
    # Four thirds of the exponent's bias, less a third of the high word and the error's mean, times 2^32.
    third = ((a.bits() >> 32) * 0x55555556) >> 32
    y = ((third * -1 + 1430186264) << 32).real()
    for terms in (_INVERSE_CBRT, _INVERSE_CBRT[:2]):
        h = (y * y).fma(-(y * a), 1.0)
        y = (y * h).fma(polynomial(h, terms), y)
    return (a * y * y).cast("fptrunc", "float")


def _cbrt_f64(magnitude: Term) -> Term:
    """Halley's iteration, which triples the right bits, from a third of the exponent."""
    # Away from the denormals, and from where the denominator below would overflow.
    small = magnitude < 1.0
    a = magnitude * small.where(magnitude.literal(2.0**54), 2.0**-54)
    # The high word over three, by its reciprocal, plus two thirds of the exponent's bias less the mean error.
    third = ((a.bits() >> 32) * 0x55555556) >> 32
    root = ((third + 715094163) << 32).real()
    for _ in range(3):
        cube = root * root * root
        root = root - root * ((cube - a) / (cube + cube + a))
    return root * small.where(root.literal(2.0**-18), 2.0**18)


def _exp2_of_log2_f32(magnitude: Term, y: Term) -> Term:
    """magnitude^y for f32, in double, where no power of two needs a second factor."""
    wide = magnitude.cast("fpext", "double")
    e, significand = split_exponent(wide)
    f = significand - 1.0
    log2 = f.fma(paired_polynomial(f, _LOG2), integer_to_real(e, F64))
    z = (y.cast("fpext", "double") * log2).at_most(200.0).at_least(-200.0)
    shifted = z + F64.magic
    p = paired_polynomial(z - (shifted - F64.magic), _EXP2)
    return (p * ((shifted.bits() << F64.mantissa) + F64.one).real()).cast("fptrunc", "float")


def _log2_f64(magnitude: Term) -> tuple[Term, Term]:
    """log2 as an unevaluated sum of two doubles."""
    denormal = magnitude < F64.smallest
    e, m = split_exponent(denormal.where(magnitude * 2.0**53, magnitude))
    e = integer_to_real(denormal.where(e - 53, e), F64)
    f = m - 1.0
    d, d_tail = two_sum(f, f.literal(2.0))
    s = f / d
    s_tail = (-s).fma(d, f) - s * d_tail
    s_tail = s_tail / d
    z, z_tail = two_product(s, s)
    z_tail = (s + s).fma(s_tail, z_tail)
    third, third_tail = _THIRD
    tail = z * polynomial(z, _ATANH_TAIL)
    c = tail + third
    c_tail = ((third - c) + tail) + third_tail
    t, t_tail = two_product(z, c)
    t_tail = z.fma(c_tail, z_tail.fma(c, t_tail))
    o = t + 1.0
    o_tail = ((1.0 - o) + t) + t_tail
    p, p_tail = two_product(s, o)
    p_tail = s.fma(o_tail, s_tail.fma(o, p_tail))
    head, head_tail = _TWO_LOG2_E
    q, q_tail = two_product(p, head)
    q_tail = p.fma(head_tail, p_tail.fma(head, q_tail))
    total = e + q
    return total, ((e - total) + q) + q_tail


def _exp2_of_log2_f64(magnitude: Term, y: Term) -> Term:
    """magnitude^y for f64."""
    log2, log2_tail = _log2_f64(magnitude)
    z, z_tail = two_product(y, log2)
    z_tail = y.fma(log2_tail, z_tail)
    beyond = z.abs() > 1200.0
    z = beyond.where(z.literal(1200.0).copysign(z), z)
    z_tail = beyond.where(z.literal(0.0), z_tail)
    shifted = z + F64.magic
    g = (z - (shifted - F64.magic)) + z_tail
    return scale(exp_reduced(g * LN2), shifted.bits())


def power(x: Term, y: Term) -> Term:
    """x^y with C99's special cases: 1^y and x^0 are 1 even for NaN, (-1)^inf is 1, odd y keep the sign of x."""
    format_, magnitude = x.format, x.abs()
    # Larger exponents are even integers and have the same effect; products with them stay finite.
    largest = 2.0**126 if format_ is F32 else 2.0**700
    bounded = y.at_most(largest).at_least(-largest)
    result = (_exp2_of_log2_f32 if format_ is F32 else _exp2_of_log2_f64)(magnitude, bounded)

    infinity = x.literal(float("inf"))
    zero = magnitude.equals(0.0)
    vanishes = zero ^ (y < 0.0)
    result = (zero | magnitude.equals(infinity)).where(vanishes.where(x.literal(0.0), infinity), result)

    half = bounded * 0.5
    integral = bounded.rint().equals(bounded)
    odd = integral & half.rint().differs(half)
    sign = odd.where(x.bits() & format_.sign, 0)
    result = (result.bits() ^ sign).real()
    imaginary = (x < 0.0) & (magnitude < infinity) & (integral ^ 1)
    result = imaginary.where(x.literal(float("nan")), result)
    result = x.compare("uno", "eq", y).where(x + y, result)
    return (x.equals(1.0) | y.equals(0.0)).where(x.literal(1.0), result)
