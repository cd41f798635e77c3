"""Functions of complex numbers: for each elementwise opcode a formula on real and imaginary components.

Sums and products are computed in the parts' own type; everything else in f64, where squares of f32 parts cannot
overflow.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable, Sequence
from functools import partial

from compiler.codegen.complex_numbers import (
    Complex,
    call,
    choose,
    fast_narrow_quotient,
    fast_quotient,
    fast_quotient_by_real,
    is_infinite,
    is_nan,
    magnitude,
    narrow_quotient,
    quotient,
    quotient_by_real,
    scale,
)
from compiler.codegen.llvm_ir import Builder, Value
from compiler.codegen.math.term import Term
from compiler.codegen.scalar.complex_exponentials import (
    Taking,
    by_steps,
    cosh,
    cosine,
    expm1,
    exponential,
    product_with_zero,
    sine,
    sinh,
    whole,
)

_FAR = 2.0**100
"""Beyond which 1 is nothing, with room for squares of squares."""


def _log(z: Complex) -> Complex:
    """log|z| by log1p where |z| is near 1."""
    x, y = z.re.abs(), z.im.abs()
    low, high = (x < y).where(x, y), (x < y).where(y, x)
    near = call("log-plus-one", (high - 1.0) * (high + 1.0) + low * low) * 0.5
    is_near = (high > 0.5) & (high < 1.5) & (low < 1.5)
    return Complex(is_near.where(near, _log_of_size(z)), call("atan2", z.im, z.re))


def _log_of_size(z: Complex) -> Term:
    """log|z| for numbers of any size, those included whose magnitude no number holds, or only with few digits."""
    factor = scale(z)
    known = call("log", magnitude(z.scaled(factor)))
    missing = python_math.log(2) * 699
    up, down = factor > 1.0, factor < 1.0
    return up.where(known - missing, down.where(known + missing, known))


def _log1p(z: Complex) -> Complex:
    """log|1+z| = log1p(x (2 + x) + y^2) / 2 keeps the digits that an addition of 1 would lose."""
    x, y = z.re, z.im
    shifted = Complex(x + 1.0, y)
    near = call("log-plus-one", x * (x + 2.0) + y * y) * 0.5
    small = (x.abs() + y.abs()) < 0.5
    return Complex(small.where(near, _log_of_size(shifted)), call("atan2", y, shifted.re))


def _sqrt(z: Complex) -> Complex:
    x, y = z.re, z.im
    # Scaled by 4^k, so that the sum of two large parts is finite and one of small parts keeps its digits.
    size = magnitude(z)
    huge, tiny = size > 2.0**1000, size < 2.0**-900
    scale = huge.where(x.literal(2.0**-8), tiny.where(x.literal(2.0**200), 1.0))
    back = huge.where(x.literal(2.0**4), tiny.where(x.literal(2.0**-100), 1.0))
    a, b = x * scale, y * scale
    root = ((a.abs() + magnitude(Complex(a, b))) * 0.5).sqrt()
    other = b.abs() / (root * 2.0)
    positive = x >= 0.0
    real, imaginary = positive.where(root, other) * back, positive.where(other, root).copysign(y) * back
    zero = z.is_zero()
    real, imaginary = zero.where(x.literal(0.0), real), zero.where(y, imaginary)
    endless = is_infinite(y)
    result = Complex(endless.where(x.literal(python_math.inf), real), endless.where(y, imaginary))
    # Of -inf and a finite number: (0, inf); of inf and a finite one: (inf, 0).
    finite = (y - y).equals(0.0)
    down = x.equals(-python_math.inf) & finite
    up = x.equals(python_math.inf) & finite
    result = choose(down, Complex(x.literal(0.0), x.literal(python_math.inf).copysign(y)), result)
    return choose(up, Complex(x, x.literal(0.0).copysign(y)), result)


def _rsqrt(z: Complex) -> Complex:
    infinite = is_infinite(z.re) | is_infinite(z.im)
    return choose(infinite, z.real(0.0), z.real(1.0) / _sqrt(z))


def _tanh(z: Complex) -> Complex:
    """Kahan's formula, and beyond where cosh^2 is large its limit."""
    x, y = z.re, z.im
    tangent, hyperbolic = call("tan", y), call("sinh", x.at_most(25.0).at_least(-25.0))
    beta, square = tangent * tangent + 1.0, hyperbolic * hyperbolic
    rho = (square + 1.0).sqrt()
    below = beta * square + 1.0
    near = Complex(beta * rho * hyperbolic / below, tangent / below)
    decay = call("exponential", x.abs() * -2.0)
    one = x.literal(1.0).copysign(x)
    far = Complex(one, 4.0 * call("sine", y) * call("cosine", y) * decay)
    far = Complex(one, is_infinite(x).where(x.literal(0.0).copysign(far.im), far.im))
    # A tangent without bound: tanh(x + i pi/2) is coth(x), which the formula would make inf/inf of.
    return choose(x.abs() > 22.0, far, near)


def _tan(z: Complex) -> Complex:
    return _tanh(z.turned()).turned_back()


def _logistic(z: Complex) -> Complex:
    """Only exponentials of what has no positive real part, which do not overflow."""
    left = z.re < 0.0
    decay = exponential(choose(left, z, -z), taken=whole)
    return choose(left, decay, z.real(1.0)) / (z.real(1.0) + decay)


def _sign(z: Complex) -> Complex:
    z = z.scaled(scale(z))
    size = magnitude(z)
    safe = size.equals(0.0).where(size.literal(1.0), size)
    return choose(size.equals(0.0), z.real(0.0), Complex(z.re / safe, z.im / safe))


def _power(base: Complex, exponent: Complex, taken: Taking = by_steps) -> Complex:
    result = exponential(exponent * _log(base), taken)
    undefined = base.re.literal(python_math.nan)
    of_zero = choose(exponent.re > 0.0, base.real(0.0), Complex(undefined, undefined))
    result = choose(base.is_zero(), of_zero, result)
    return choose(exponent.is_zero(), base.real(1.0), result)


def _cbrt(z: Complex) -> Complex:
    """A third of the angle: by a logarithm digits would be lost that the exponential needs."""
    factor = scale(z)
    back = (factor > 1.0).where(factor.literal(2.0**-233), (factor < 1.0).where(factor.literal(2.0**233), 1.0))
    size = call("cbrt", magnitude(z.scaled(factor))) * back
    angle = call("atan2", z.im, z.re) / 3.0
    result = Complex(size * call("cosine", angle), product_with_zero(size, call("sine", angle)))
    return choose(z.is_zero(), z.real(0.0), result)


def _atan2(y: Complex, x: Complex) -> Complex:
    """-i log((x + iy) / sqrt(x^2 + y^2)), by angles and logarithms of u = x + iy and v = x - iy: the root is uv's."""
    larger = _larger(_larger(x.re, x.im), _larger(y.re, y.im))
    factor = (larger > 2.0**1000).where(larger.literal(0.25), 1.0)
    x, y = x.scaled(factor), y.scaled(factor)
    u, v = x + y.turned(), x - y.turned()
    above, below = call("atan2", u.im, u.re), call("atan2", v.im, v.re)
    angle = (above - below) * 0.5 + _turns(above + below) * python_math.pi
    angle = angle - _turns(angle) * (2 * python_math.pi)
    ratio = magnitude(v) / magnitude(u)
    ordinary = (ratio > 2.0**-100) & (ratio < 2.0**100)
    logarithm = ordinary.where(call("log", ratio), _log_of_size(v) - _log_of_size(u))
    small = magnitude(y) < magnitude(x) * 0.5
    result = choose(small, _small_atan2(fast_quotient(y, x), angle), Complex(angle, logarithm * 0.5))
    known = (larger > 0.0) & (x.re - x.re).equals(0.0) & (x.im - x.im).equals(0.0)
    known = known & (y.re - y.re).equals(0.0) & (y.im - y.im).equals(0.0)
    unknown = larger.literal(python_math.nan)
    return choose(known, result, Complex(unknown, unknown))


def _small_atan2(w: Complex, angle: Term) -> Complex:
    """atan2 by the quotient of its arguments, near a known angle: a difference of angles would lose its digits."""
    real = call("atan2", w.re * 2.0, 1.0 - (w.re * w.re + w.im * w.im)) * 0.5
    real = real + ((angle - real) / python_math.pi).rint() * python_math.pi
    side = 1.0 - w.im.abs()
    imaginary = call("log-plus-one", w.im.abs() * 4.0 / (side * side + w.re * w.re)) * 0.25
    return Complex(real, imaginary.copysign(w.im))


def _larger(left: Term, right: Term) -> Term:
    left, right = left.abs(), right.abs()
    return (left < right).where(right, left)


def _turns(angle: Term) -> Term:
    """How many whole turns an angle is away from where a logarithm has its own, in (-pi, pi]."""
    below = (angle > -python_math.pi).where(angle.literal(0.0), -1.0)
    return (angle > python_math.pi).where(angle.literal(1.0), below)


def _before(left: Complex, right: Complex) -> Term:
    return (left.re < right.re) | (left.re.equals(right.re) & (left.im < right.im))


def _maximum(left: Complex, right: Complex) -> Complex:
    return _extremum(_before(left, right), left, right)


def _minimum(left: Complex, right: Complex) -> Complex:
    return _extremum(_before(right, left), left, right)


def _extremum(takes_right: Term, left: Complex, right: Complex) -> Complex:
    """The right one where it goes beyond, or is NaN; but a NaN on the left wins."""
    left_nan, right_nan = (is_nan(z.re) | is_nan(z.im) for z in (left, right))
    return choose((takes_right | right_nan) & (left_nan ^ 1), right, left)


def _roots(z: Complex) -> tuple[Complex, Complex]:
    """The square roots of 1 - z and 1 + z; the signs of a zero imaginary part, which say which side it is, are kept."""
    return _sqrt(Complex(1.0 - z.re, -z.im)), _sqrt(Complex(z.re + 1.0, z.im))


def _is_far(z: Complex) -> Term:
    """Whether 1 is nothing beside z, and products of its parts may overflow."""
    return (z.re.abs() > _FAR) | (z.im.abs() > _FAR)


def _log_of_double(z: Complex) -> Term:
    """log|2z|, which does not overflow."""
    return call("log", magnitude(z.scaled(0.5))) + 2 * python_math.log(2)


def _asin(z: Complex) -> Complex:
    """Kahan's formulas ("Much ado about nothing's sign bit"), here and below; far from 0 their limits."""
    minus, plus = _roots(z)
    real = call("atan2", z.re, minus.re * plus.re - minus.im * plus.im)
    imaginary = call("asinh", minus.re * plus.im - minus.im * plus.re)
    far = Complex(call("atan2", z.re, z.im.abs()), _log_of_double(z).copysign(z.im))
    result = choose(_is_far(z), far, Complex(real, imaginary))
    return Complex(_is_axis(z).where(z.re, result.re), result.im)


def _acos(z: Complex) -> Complex:
    minus, plus = _roots(z)
    real = 2.0 * call("atan2", minus.re, plus.re)
    imaginary = call("asinh", plus.re * minus.im - plus.im * minus.re)
    far = Complex(call("atan2", z.im.abs(), z.re), _log_of_double(z).copysign(-z.im))
    result = choose(_is_far(z), far, Complex(real, imaginary))
    return Complex(_is_axis(z).where(z.re.literal(python_math.pi / 2), result.re), result.im)


def _is_axis(z: Complex) -> Term:
    """Whether z is on the imaginary axis, nobody knows where: one part of the result is known all the same."""
    return z.re.equals(0.0) & is_nan(z.im)


def _asinh(z: Complex) -> Complex:
    return _asin(z.turned()).turned_back()


def _acosh(z: Complex) -> Complex:
    """The arc cosine turned to where the real part is positive."""
    angle = _acos(z)
    return Complex(angle.im.abs(), angle.re.copysign(z.im))


def _atanh(z: Complex) -> Complex:
    """(log|1+z| - log|1-z|) / 2 by log1p, in the right half plane; the left one mirrors it."""
    x, y = z.re.abs(), z.im
    left, right = 1.0 - x, 1.0 + x
    below = left * left + y * y
    pole = (python_math.log(2) - call("log", magnitude(Complex(left, y)))) * 0.5
    real = (below < 2.0**-900).where(pole, call("log-plus-one", 4.0 * x / below) * 0.25)
    real = _is_axis(z).where(x, real)
    imaginary = call("atan2", y * 2.0, left * right - y * y) * 0.5
    # Far away it is 1/z, less the right angle that the logarithms differ by.
    endless = is_infinite(x) | is_infinite(y)
    limit = endless.where(x.literal(0.0), quotient(z.real(1.0), z).re.abs())
    angle = y.literal(python_math.pi / 2).copysign(y)
    unknown = is_nan(y) | (is_nan(x) & (is_infinite(y) ^ 1))
    far = Complex(limit, unknown.where(y.literal(python_math.nan), angle))
    result = choose(_is_far(z), far, Complex(real, imaginary))
    return Complex(result.re.copysign(z.re), result.im)


Formula = Callable[..., Complex]

EXACT: dict[str, Formula] = {
    "add": lambda a, b: a + b,
    "copy": lambda a: a,
    "maximum": _maximum,
    "minimum": _minimum,
    "multiply": lambda a, b: a * b,
    "negate": lambda a: -a,
    "subtract": lambda a, b: a - b,
}
"""Formulas by opcode that are evaluated in the parts' own type."""

_GROWING: dict[str, Formula] = {
    "cosh": cosh,
    "cosine": cosine,
    "exponential": exponential,
    "exponential-minus-one": expm1,
    "power": _power,
    "sine": sine,
    "sinh": sinh,
}
"""Formulas by opcode that take e^x by steps where it is no number."""

WIDE: dict[str, Formula] = _GROWING | {
    "acos": _acos,
    "acosh": _acosh,
    "asin": _asin,
    "asinh": _asinh,
    "atan2": _atan2,
    "atanh": _atanh,
    "cbrt": _cbrt,
    "divide": quotient,
    "log": _log,
    "log-plus-one": _log1p,
    "logistic": _logistic,
    "rsqrt": _rsqrt,
    "sign": _sign,
    "sqrt": _sqrt,
    "tan": _tan,
    "tanh": _tanh,
}
"""Formulas by opcode that are evaluated in f64."""

NARROW: dict[str, Formula] = {"divide": narrow_quotient} | {
    opcode: partial(formula, taken=whole) for opcode, formula in _GROWING.items()
}
"""Those that are cheaper where the numbers in f64 were f32."""


FAST: dict[str, Formula] = {"divide": fast_quotient}
FAST_NARROW: dict[str, Formula] = {"divide": fast_narrow_quotient}
"""Those that are cheaper where the result is not lost."""


def is_lost(builder: Builder, value: Value) -> Value:
    """Whether both parts of a number are NaN."""
    return Complex.of(builder, value).is_lost().value


def divide_by_real(builder: Builder, operands: Sequence[Value], *, fast: bool) -> Value:
    """A quotient, by `builder`, of `operands` whose second is real; with `fast` it must not be lost."""
    dividend, divisor = (Complex.of(builder, operand) for operand in operands)
    return (fast_quotient_by_real if fast else quotient_by_real)(dividend, divisor).value


def emit(builder: Builder, opcode: str, operands: Sequence[Value], *, fast: bool = False) -> Value | None:
    """The complex value, by `builder`, of an `opcode` on complex `operands`; None for an unknown one.

    With `fast`, of an opcode in `FAST`, it must not be lost.
    """
    numbers = [Complex.of(builder, operand) for operand in operands]
    if opcode in EXACT:
        return EXACT[opcode](*numbers).value
    if opcode not in WIDE:
        return None
    own = numbers[0].re.type
    wide, narrow = (FAST, FAST_NARROW) if fast else (WIDE, NARROW)
    formula = wide[opcode] if own == "double" else narrow.get(opcode, wide[opcode])
    return formula(*(number.converted("double") for number in numbers)).converted(own).value
