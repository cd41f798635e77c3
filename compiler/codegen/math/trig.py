"""sine, cosine and tangent, correct for every finite argument.

x * 2/pi = k + y with |y| <= 1/2 is found exactly: of the binary expansion of 2/pi only a window matters, since
what stands left of it makes multiples of 4 (whole turns) and what stands right of it is below the rounding (Payne
and Hanek).  The window depends on the exponent of x and is picked without a branch.  In f32 all is done in double:
a product of x with 26 bits of the window is exact.  In f64 the windows are a small table of four doubles each, and
the products and sums are compensated.  Then pi/2 * y goes into minimax polynomials of sine and cosine on [-pi/4,
pi/4], one of which is chosen by k.

Arguments that are not far from zero, which is nearly all of them, are reduced by less: k times pi/2 in three parts is
taken off, the first of which leaves an exact difference (Cody and Waite).  Whoever can tell that no argument exceeds
`FAST` leaves the other way out; the results are the same to the bit, since otherwise it is chosen by that limit.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

from compiler.codegen.llvm_ir import PTR, Value, floating
from compiler.codegen.math.term import F32, F64, Term, polynomial, two_product, two_sum
from compiler.diagnostics import UnsupportedError

_FRACTION_BITS = 1312
"""Bits of 2/pi behind the point: 41 windows of 32, so 1,024 for the greatest exponent of f64 and 288 to keep and to
round by."""
_TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1c"
    "b129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f"
    "6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc20"
    "9af4361da9e39161",
    16,
)
_HALF_PI, _HALF_PI_TAIL = 1.5707963267948966, 6.123233995736766e-17
"""pi/2 as a sum of two doubles."""
# (sin(r)/r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4 as polynomials of r^2, |r| <= pi/4: relative errors 2^-27.9 and
# 2^-33 in f32, 2^-57.9 and 2^-63.9 in f64, 2^-37.5 and 2^-42.9 for the tangent in f32, which is computed in double.
_SINE = {
    "float": (-0.16666655, 0.008332189, -0.00019518292),
    "double": (
        -0.1666666666666663, 0.008333333333321842, -0.00019841269829360393, 2.7557313539226436e-06,
        -2.5050734505892623e-08, 1.589544027077627e-10,
    ),
}  # fmt: skip
_COSINE = {
    "float": (0.041666646, -0.001388731, 2.4432327e-05),
    "double": (
        0.041666666666666595, -0.001388888888887334, 2.4801587288999796e-05, -2.7557314216181663e-07,
        2.0875705258730025e-09, -1.1358741268888179e-11,
    ),
}  # fmt: skip
_SINE_SHORT = (-0.16666666640789465, 0.008333329304068321, -0.00019839312031627433, 2.7181193512627037e-06)
"""As `_SINE`, with a term less: for f32 that is computed in double, to 2^-27.9."""
_COSINE_SHORT = (0.04166666661945131, -0.0013888883496768895, 2.47994593560659e-05, -2.720569357129207e-07)
"""As `_COSINE`, with a term less."""
FAST = {"float": 2.0**17, "double": 2.0**20}
"""Up to here arguments are reduced by three parts of pi/2."""
_HALF_PI_SLICES = {
    "float": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
_F32_WINDOW = 26
"""Bits of 2/pi that are multiplied at a time: with the 24 of an f32 a product has 50, exact in f64."""
_F64_WINDOW = 32
"""Bits of 2/pi at a time for f64: rows of the table are so far apart, a power of two."""


class _Window(NamedTuple):
    """Two slices of 26 bits of 2/pi, and the double that follows them."""

    first: float
    second: float
    rest: float


@functools.cache
def _f32_windows() -> tuple[_Window, ...]:
    """The window of 2/pi for x below 2^51, 2^77, 2^103 and the rest."""
    rows = []
    for first in range(0, 4 * _F32_WINDOW, _F32_WINDOW):
        rest = _TWO_OVER_PI & ((1 << _FRACTION_BITS - first) - 1)
        row = []
        for end in (first + _F32_WINDOW, first + 2 * _F32_WINDOW):
            head = rest >> _FRACTION_BITS - end << _FRACTION_BITS - end
            row.append(head / (1 << _FRACTION_BITS))
            rest -= head
        rows.append(_Window(row[0], row[1], rest / (1 << _FRACTION_BITS)))
    return tuple(rows)


@functools.cache
def _f64_windows() -> str:
    """2/pi * 2^32j modulo 4, in [-2, 2), as four doubles, for j from 0 to 30: the definition of LLVM's global."""
    one = 1 << _FRACTION_BITS
    numbers: list[float] = []
    for j in range((1023 - 52) // _F64_WINDOW + 1):
        rest = (_TWO_OVER_PI << _F64_WINDOW * j) % (4 * one)
        rest -= 4 * one if rest >= 2 * one else 0
        for _ in range(4):
            quotient = rest / one
            numerator, denominator = quotient.as_integer_ratio()
            rest -= numerator * one // denominator
            numbers.append(quotient)
    text = ", ".join(str(floating(number, "double")) for number in numbers)
    return f"internal unnamed_addr constant [{len(numbers)} x double] [{text}], align 32"


def _reduce_f32(magnitude: Term) -> tuple[Term, Term]:
    """(k in the low bits of an i64, y as a double) for |x| as a double."""
    thresholds = (2.0**51, 2.0**77, 2.0**103)
    beyond = [magnitude.compare("oge", "sge", threshold) for threshold in thresholds]
    slices = []
    for column in range(3):
        chosen = magnitude.literal(_f32_windows()[0][column])
        for condition, row in zip(beyond, _f32_windows()[1:], strict=True):
            chosen = condition.where(magnitude.literal(row[column]), chosen)
        slices.append(chosen)
    first, second = (magnitude.fma(slice_, F64.magic) for slice_ in slices[:2])
    fractions = [
        magnitude.fma(slice_, F64.magic - shifted) for slice_, shifted in zip(slices, (first, second), strict=False)
    ]
    total, tail = fractions[0] + fractions[1], magnitude * slices[2]
    third = total + tail + F64.magic
    y = (total - (third - F64.magic)) + tail
    return first.bits() + second.bits() + third.bits(), y


def _modulo_four(x: Term) -> Term:
    return x - (x * 0.25).rint() * 4.0


class _Quarters(NamedTuple):
    """A magnitude in quarter turns: how many, in the low bits of an i64, the rest, and what rounding that left off."""

    whole: Term
    rest: Term
    error: Term


def _reduce_f64(magnitude: Term) -> _Quarters:
    """The reduction of any f64, to 2^-115 for the worst arguments."""
    if magnitude.type != "double":
        raise UnsupportedError(f"sine and cosine of {magnitude.type}", "the math functions", "emit them lane by lane")
    builder = magnitude.builder
    window = ((magnitude.bits() >> F64.mantissa) - (1023 + F64.mantissa)) >> 5
    window = (window > 0).where(window, 0)
    # NaN and infinity have a window behind the table; they end as NaN whatever is read.
    window = (window > 30).where(window.literal(30), window)
    table = builder.module.define_global("math.two_over_pi", _f64_windows())
    row = builder.gep("[4 x double]", Value(PTR, table.name), window.value)
    slices = [
        Term(builder, builder.load("double", builder.gep("double", row, window.literal(i).value), align=8))
        for i in range(4)
    ]
    x = magnitude * (window.literal(F64.one) - (window << 5 + F64.mantissa)).real()
    (h0, l0), (h1, l1), (h2, l2) = (two_product(x, term) for term in slices[:3])
    total, e1 = two_sum(_modulo_four(h0), _modulo_four(l0))
    total, e2 = two_sum(total, _modulo_four(h1))
    shifted = total + F64.magic
    total = total - (shifted - F64.magic)
    rest, lower = two_sum(e1, e2)
    for term in (h2, l1):
        rest, error = two_sum(rest, term)
        lower = lower + error
    y, tail = two_sum(total, rest)
    tail = tail + (lower + x.fma(slices[3], l2))
    rounded = y + tail
    return _Quarters(shifted.bits(), rounded, (y - rounded) + tail)


@dataclass(frozen=True, slots=True)
class _Reduced:
    """|x| less k quarter turns: k in the low bits of an integer of the format's size, the rest, and its rounding."""

    quadrant: Term
    rest: Term
    tail: Term | None

    def where(self, condition: Term, otherwise: _Reduced) -> _Reduced:
        """This one where the condition holds."""
        tail = self.tail and otherwise.tail and condition.where(self.tail, otherwise.tail)
        return _Reduced(
            condition.where(self.quadrant, otherwise.quadrant), condition.where(self.rest, otherwise.rest), tail
        )


def _reduce_fast(magnitude: Term) -> _Reduced:
    """The reduction of |x| up to `FAST`; tiny arguments come through as they are."""
    format_, (first, second, third) = magnitude.format, _HALF_PI_SLICES[magnitude.format.type]
    shifted = magnitude * (1.0 / _HALF_PI) + format_.magic
    turns = format_.magic - shifted
    exact = turns.fma(first, magnitude)
    if format_ is F32:
        return _Reduced(shifted.bits(), turns.fma(third, turns.fma(second, exact)), None)
    product, lost = two_product(turns, second)
    r, tail = two_sum(exact, product)
    return _Reduced(shifted.bits(), r, turns.fma(third, tail + lost))


def _reduce_slow(magnitude: Term) -> _Reduced:
    """The reduction of any |x|; it would round denormals."""
    if magnitude.format is F32:
        quadrant, y = _reduce_f32(magnitude.cast("fpext", "double"))
        return _Reduced(quadrant.cast("trunc", "i32"), (y * _HALF_PI).cast("fptrunc", "float"), None)
    quadrant, y, rest = _reduce_f64(magnitude)
    r, tail = two_product(y, _HALF_PI)
    return _Reduced(quadrant, r, tail + y.fma(_HALF_PI_TAIL, rest * _HALF_PI))


def _reduce(magnitude: Term, *, fast: bool) -> _Reduced:
    """The reduction of |x|, which is not beyond the limit if `fast`."""
    close = _reduce_fast(magnitude)
    return close if fast else close.where(magnitude < FAST[magnitude.format.type], _reduce_slow(magnitude))


class _SineAndCosine(NamedTuple):
    """Of a reduced |x|: how many quarter turns it is less, as an integer of the format's size, its sine and cosine."""

    quadrant: Term
    sine: Term
    cosine: Term


def _sine_and_cosine(x: Term, *, fast: bool) -> _SineAndCosine:
    reduced = _reduce(x.abs(), fast=fast)
    quadrant, r, tail = reduced.quadrant, reduced.rest, reduced.tail
    z = r * r
    sine_polynomial, cosine_polynomial = polynomial(z, _SINE[x.format.type]), polynomial(z, _COSINE[x.format.type])
    if tail is None:
        return _SineAndCosine(quadrant, (r * z).fma(sine_polynomial, r), z.fma(z.fma(cosine_polynomial, -0.5), 1.0))
    half = z * 0.5
    sine = r + (r * z).fma(sine_polynomial, tail - half * tail)
    head = 1.0 - half
    cosine = head + (((1.0 - head) - half) + (z * z).fma(cosine_polynomial, -(r * tail)))
    return _SineAndCosine(quadrant, sine, cosine)


def _turned(quadrant: Term, sine: Term, cosine: Term, sign: Term) -> Term:
    """The sine after `quadrant` quarter turns, its sign flipped by the sign bit of `sign`."""
    format_ = sine.format
    result = (quadrant & 1).equals(0).where(sine, cosine).bits()
    return (result ^ (((quadrant << int(format_.integer[1:]) - 2) ^ sign) & format_.sign)).real()


def sine(x: Term, *, fast: bool = False) -> Term:
    """Sine; the sign of x is taken off first, so that -0 stays -0."""
    quadrant, sin, cos = _sine_and_cosine(x, fast=fast)
    return _turned(quadrant, sin, cos, x.bits())


def cosine(x: Term, *, fast: bool = False) -> Term:
    """Cosine, the sine a quarter turn later."""
    quadrant, sin, cos = _sine_and_cosine(x, fast=fast)
    return _turned(quadrant + 1, sin, cos, quadrant.literal(0))


def tan(x: Term, *, fast: bool = False) -> Term:
    """sin/cos, or -cos/sin after an odd number of quarter turns; f32 is computed in double throughout."""
    if x.format is F32:
        wide, y = _reduce_f32(x.abs().cast("fpext", "double"))
        r = y * _HALF_PI
        z = r * r
        sin = (r * z).fma(polynomial(z, _SINE_SHORT), r)
        cos = z.fma(z.fma(polynomial(z, _COSINE_SHORT), -0.5), 1.0)
    else:
        wide, sin, cos = _sine_and_cosine(x, fast=fast)
    even = (wide & 1).equals(0)
    quotient = even.where(sin, -cos) / even.where(cos, sin)
    if x.format is F32:
        quotient = quotient.cast("fptrunc", "float")
    return (quotient.bits() ^ (x.bits() & x.format.sign)).real()
