"""asin, acos and atan2: one odd polynomial each, after folding the argument where it converges."""

from __future__ import annotations

from compiler.codegen.math.term import Term, polynomial

# pi/2 and what rounding it left off.
_HALF_PI = {
    "float": (1.5707963705062866, -4.371138828673793e-08),
    "double": (1.5707963267948966, 6.123233995736766e-17),
}
# (asin(s)/s - 1) / s^2 as a polynomial of s^2 for |s| <= 1/2: 2^-31.5 and 2^-55.9.
_ASIN = {
    "float": (0.1666666, 0.07500522, 0.04451374, 0.031832714, 0.014349082, 0.03763872),
    "double": (
        0.1666666666666541, 0.07500000000336723, 0.04464285682848404, 0.03038195913230188, 0.022371758137291326,
        0.017359703703675858, 0.013885244172098478, 0.0121691631178858, 0.006528156180719272, 0.019527833078170572,
        -0.01622365452423411, 0.03191190436000924,
    ),
}  # fmt: skip
# (atan(a)/a - 1) / a^2 as a polynomial of a^2 for |a| <= 1: 2^-28.5 and 2^-57.6.
_ATAN = {
    "float": (
        -0.333333, 0.1999853, -0.14264016, 0.10950878, -0.083992854, 0.057880644, -0.031095715, 0.010867648,
        -0.0017824944,
    ),
    "double": (
        -0.33333333333333065, 0.1999999999995096, -0.14285714282545647, 0.11111111006136282, -0.0909090698679487,
        0.07692279644630466, -0.06666402419706004, 0.058805177786747515, -0.052534725299175994, 0.04722161277641374,
        -0.04218744558808047, 0.036632801381422886, -0.02988899689617755, 0.021966069961907853,
        -0.013882365567778734, 0.007183259411930871, -0.0028779126433857156, 0.0008287805392713602,
        -0.00015159575475211741, 1.3167005723444631e-05,
    ),
}  # fmt: skip


def _asin_folded(x: Term) -> tuple[Term, Term]:
    """(|x| > 1/2, asin(s)) with s = |x|, or s = sqrt((1 - |x|) / 2), for which asin|x| = pi/2 - 2 asin(s)."""
    magnitude = x.abs()
    folded = magnitude > 0.5
    z = folded.where(0.5 - magnitude * 0.5, magnitude * magnitude)
    s = folded.where(z.sqrt(), magnitude)
    # What rounding the root left off; the denominator only has to be kept from zero.
    rest = folded.where((-s).fma(s, z) / (s + s + x.format.smallest), 0.0)
    return folded, s + (s * z).fma(polynomial(z, _ASIN[x.format.type]), rest)


def asin(x: Term) -> Term:
    """Arc sine by a polynomial up to 1/2, beyond it pi/2 less twice the folded one; NaN beyond 1 by the root."""
    head, tail = _HALF_PI[x.format.type]
    folded, p = _asin_folded(x)
    return folded.where(head - (p + p - tail), p).copysign(x)


def acos(x: Term) -> Term:
    """pi/2 - asin x up to 1/2; 2 asin(sqrt((1 - |x|) / 2)) above, and pi less that below."""
    head, tail = _HALF_PI[x.format.type]
    folded, p = _asin_folded(x)
    outer = (x < 0.0).where(2.0 * head - (p + p - 2.0 * tail), p + p)
    return folded.where(outer, head - (p.copysign(x) - tail))


def atan2(y: Term, x: Term) -> Term:
    """The angle of (x, y): a = min/max of the magnitudes, atan(a) by an odd polynomial, then the octant.

    All C99 cases hold: the signs of zeros count, infinities count as equal, NaN in either operand gives NaN.
    """
    head, tail = _HALF_PI[x.format.type]
    width, height = x.abs(), y.abs()
    steep = height > width
    low, high = steep.where(width, height), steep.where(height, width)
    a = low.equals(high).where(low.literal(1.0), low / high)
    a = (low + high).equals(0.0).where(low.literal(0.0), a)
    z = a * a
    angle = (a * z).fma(polynomial(z, _ATAN[x.format.type]), a)
    leftward = x.bits() < 0
    angle = steep.where(-angle, angle)
    # Both the vertical and the leftward fold subtract; together they add to pi/2.
    angle = leftward.where(-angle, angle)
    base = leftward.where(angle.literal(2.0 * head), 0.0)
    base_tail = leftward.where(angle.literal(2.0 * tail), 0.0)
    base, base_tail = steep.where(angle.literal(head), base), steep.where(angle.literal(tail), base_tail)
    return (base + (angle + base_tail)).copysign(y)
