"""What elementwise opcodes do to complex numbers: formulas on their two parts.

A complex value is LLVM's `{ float, float }` or `{ double, double }`, in memory two scalars.  The optimiser takes such
pairs apart again, so loops over them vectorise like any other.  Sums, products and comparisons are computed in the
parts' own type and never contracted, so that z times its conjugate has no imaginary part; everything else is computed
in f64, where squares of f32 parts cannot overflow.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.codegen import math
from compiler.codegen.llvm_ir import Builder, Value
from compiler.codegen.math.term import Term


def pair(builder: Builder, real: Value, imaginary: Value) -> Value:
    """A complex value from its parts."""
    type_ = f"{{ {real.type}, {imaginary.type} }}"
    first = builder.emit(type_, f"insertvalue {type_} poison, {real}, 0")
    return builder.emit(type_, f"insertvalue {first}, {imaginary}, 1")


def part(builder: Builder, value: Value, number: int) -> Value:
    """The real (0) or the imaginary (1) part."""
    return builder.emit(part_type(value.type), f"extractvalue {value}, {number}")


def part_type(type_: str) -> str:
    """The type of the parts of a complex type."""
    return type_[2 : type_.index(",")]


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex number in a formula."""

    re: Term
    im: Term

    @staticmethod
    def of(builder: Builder, value: Value) -> Complex:
        """The parts of a value."""
        return Complex(*(Term(builder, part(builder, value, number)) for number in (0, 1)))

    @property
    def value(self) -> Value:
        """The LLVM value."""
        return pair(self.re.builder, self.re.value, self.im.value)

    def converted(self, type_: str) -> Complex:
        """The number with parts of another float type."""
        if self.re.type == type_:
            return self
        opcode = "fpext" if type_ == "double" else "fptrunc"
        return Complex(self.re.cast(opcode, type_), self.im.cast(opcode, type_))

    def real(self, number: float) -> Complex:
        """A real number of the same type."""
        return Complex(self.re.literal(number), self.re.literal(0.0))

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __truediv__(self, other: Complex) -> Complex:
        return _quotient(self, other)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def scaled(self, factor: Term | float) -> Complex:
        """The product with a real number."""
        return Complex(self.re * factor, self.im * factor)

    def turned(self) -> Complex:
        """The product with i."""
        return Complex(-self.im, self.re)

    def turned_back(self) -> Complex:
        """The product with -i."""
        return Complex(self.im, -self.re)

    def is_zero(self) -> Term:
        """Whether both parts are zero."""
        return self.re.equals(0.0) & self.im.equals(0.0)


def choose(condition: Term, then: Complex, otherwise: Complex) -> Complex:
    """`condition ? then : otherwise`."""
    return Complex(condition.where(then.re, otherwise.re), condition.where(then.im, otherwise.im))


def _call(name: str, *terms: Term) -> Term:
    builder = terms[0].builder
    return Term(builder, math.emit(builder, name, [term.value for term in terms]))


def _is_infinite(term: Term) -> Term:
    return term.abs().equals(python_math.inf)


def _is_nan(term: Term) -> Term:
    return term.differs(term)


def magnitude(z: Complex) -> Term:
    """sqrt(x^2 + y^2) without overflow: the larger part is taken out, scaled by a power of two."""
    x, y = z.re.abs(), z.im.abs()
    low, high = (x < y).where(x, y), (x < y).where(y, x)
    # The exponent of the larger part with an empty mantissa; halved so that neither it nor its inverse overflows.
    huge, tiny = high > 2.0**500, high < 2.0**-500
    scale = huge.where(high.literal(2.0**-600), tiny.where(high.literal(2.0**600), 1.0))
    back = huge.where(high.literal(2.0**600), tiny.where(high.literal(2.0**-600), 1.0))
    a, b = low * scale, high * scale
    size = a.fma(a, b * b).sqrt() * back
    infinite = _is_infinite(z.re) | _is_infinite(z.im)
    return infinite.where(size.literal(python_math.inf), size)


def _quotient(dividend: Complex, divisor: Complex) -> Complex:
    """Divisor scaled by a power of two so that squares stay in range; zeros and infinities as in C99's annex G."""
    a, b, c, d = dividend.re, dividend.im, divisor.re, divisor.im
    larger = (c.abs() < d.abs()).where(d.abs(), c.abs())
    huge, tiny = larger > 2.0**400, larger < 2.0**-400
    scale = huge.where(c.literal(2.0**-700), tiny.where(c.literal(2.0**700), 1.0))
    c, d = c * scale, d * scale
    size = c * c + d * d
    real, imaginary = (a * c + b * d) / size * scale, (b * c - a * d) / size * scale
    lost = _is_nan(real) & _is_nan(imaginary)
    result = Complex(real, imaginary)
    for condition, value in _special_quotients(dividend, divisor):
        result = choose(lost & condition, value, result)
    return result


def _special_quotients(dividend: Complex, divisor: Complex) -> list[tuple[Term, Complex]]:
    a, b, c, d = dividend.re, dividend.im, divisor.re, divisor.im
    infinity, zero = a.literal(python_math.inf), a.literal(0.0)
    numbers = (_is_nan(a) & _is_nan(b)) ^ 1
    above, below = _is_infinite(a) | _is_infinite(b), _is_infinite(c) | _is_infinite(d)
    finite_above = (a - a).equals(0.0) & (b - b).equals(0.0)
    finite_below = (c - c).equals(0.0) & (d - d).equals(0.0)
    a1, b1 = (_is_infinite(t).where(t.literal(1.0), 0.0).copysign(t) for t in (a, b))
    c1, d1 = (_is_infinite(t).where(t.literal(1.0), 0.0).copysign(t) for t in (c, d))
    signed = infinity.copysign(c)
    return [
        (above & finite_below, Complex(infinity * (a1 * c + b1 * d), infinity * (b1 * c - a1 * d))),
        (below & finite_above, Complex(zero * (a * c1 + b * d1), zero * (b * c1 - a * d1))),
        (c.equals(0.0) & d.equals(0.0) & numbers, Complex(signed * a, signed * b)),
    ]


def _exponential(z: Complex) -> Complex:
    size = _call("exponential", z.re)
    real, imaginary = size * _call("cosine", z.im), size * _call("sine", z.im)
    # A real argument has a real result, also where 0 * inf would make a NaN of it; e^-inf is 0 in any direction.
    vanishes = z.re.equals(-python_math.inf) & _is_nan(real)
    real, imaginary = vanishes.where(size, real), vanishes.where(size, imaginary)
    is_real = z.im.equals(0.0)
    return Complex(is_real.where(size, real), is_real.where(z.im, imaginary))


def _expm1(z: Complex) -> Complex:
    """exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2 keeps the digits that a subtraction of 1 would lose."""
    half = _call("sine", z.im * 0.5)
    small = _call("exponential-minus-one", z.re)
    real = small * _call("cosine", z.im) - 2.0 * half * half
    imaginary = _call("exponential", z.re) * _call("sine", z.im)
    is_real = z.im.equals(0.0)
    return Complex(is_real.where(small, real), is_real.where(z.im, imaginary))


def _log(z: Complex) -> Complex:
    """log|z| by log1p where |z| is near 1."""
    x, y = z.re.abs(), z.im.abs()
    low, high = (x < y).where(x, y), (x < y).where(y, x)
    near = _call("log-plus-one", (high - 1.0) * (high + 1.0) + low * low) * 0.5
    is_near = (high > 0.5) & (high < 1.5) & (low < 1.5)
    return Complex(is_near.where(near, _call("log", magnitude(z))), _call("atan2", z.im, z.re))


def _log1p(z: Complex) -> Complex:
    """log|1+z| = log1p(x (2 + x) + y^2) / 2 keeps the digits that an addition of 1 would lose."""
    x, y = z.re, z.im
    shifted = Complex(x + 1.0, y)
    near = _call("log-plus-one", x * (x + 2.0) + y * y) * 0.5
    small = (x.abs() + y.abs()) < 0.5
    return Complex(small.where(near, _call("log", magnitude(shifted))), _call("atan2", y, shifted.re))


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
    endless = _is_infinite(y)
    result = Complex(endless.where(x.literal(python_math.inf), real), endless.where(y, imaginary))
    # Of -inf and a finite number: (0, inf); of inf and a finite one: (inf, 0).
    finite = (y - y).equals(0.0)
    down = x.equals(-python_math.inf) & finite
    up = x.equals(python_math.inf) & finite
    result = choose(down, Complex(x.literal(0.0), x.literal(python_math.inf).copysign(y)), result)
    return choose(up, Complex(x, x.literal(0.0).copysign(y)), result)


def _rsqrt(z: Complex) -> Complex:
    infinite = _is_infinite(z.re) | _is_infinite(z.im)
    return choose(infinite, z.real(0.0), z.real(1.0) / _sqrt(z))


def _tanh(z: Complex) -> Complex:
    """Kahan's formula, and beyond where cosh^2 is large its limit."""
    x, y = z.re, z.im
    tangent, hyperbolic = _call("tan", y), _call("sinh", x.at_most(25.0).at_least(-25.0))
    beta, square = tangent * tangent + 1.0, hyperbolic * hyperbolic
    rho = (square + 1.0).sqrt()
    below = beta * square + 1.0
    near = Complex(beta * rho * hyperbolic / below, tangent / below)
    decay = _call("exponential", x.abs() * -2.0)
    one = x.literal(1.0).copysign(x)
    far = Complex(one, 4.0 * _call("sine", y) * _call("cosine", y) * decay)
    far = Complex(one, _is_infinite(x).where(x.literal(0.0).copysign(far.im), far.im))
    # A tangent without bound: tanh(x + i pi/2) is coth(x), which the formula would make inf/inf of.
    return choose(x.abs() > 22.0, far, near)


def _tan(z: Complex) -> Complex:
    return _tanh(z.turned()).turned_back()


def _sine(z: Complex) -> Complex:
    return Complex(
        _product_with_zero(_call("sine", z.re), _call("cosh", z.im)),
        _product_with_zero(_call("cosine", z.re), _call("sinh", z.im)),
    )


def _cosine(z: Complex) -> Complex:
    return Complex(
        _product_with_zero(_call("cosine", z.re), _call("cosh", z.im)),
        -_product_with_zero(_call("sine", z.re), _call("sinh", z.im)),
    )


def _sinh(z: Complex) -> Complex:
    return _sine(z.turned()).turned_back()


def _cosh(z: Complex) -> Complex:
    return _cosine(z.turned())


def _product_with_zero(left: Term, right: Term) -> Term:
    """The product, in which an exact zero stays one beside an infinity: on the axes these functions are real."""
    product = left * right
    signs = left.literal(1.0).copysign(left) * left.literal(1.0).copysign(right)
    zero = (left.equals(0.0) & _is_infinite(right)) | (right.equals(0.0) & _is_infinite(left))
    return zero.where(left.literal(0.0).copysign(signs), product)


def _logistic(z: Complex) -> Complex:
    """Only exponentials of what has no positive real part, which do not overflow."""
    left = z.re < 0.0
    decay = _exponential(choose(left, z, -z))
    return choose(left, decay, z.real(1.0)) / (z.real(1.0) + decay)


def _sign(z: Complex) -> Complex:
    size = magnitude(z)
    safe = size.equals(0.0).where(size.literal(1.0), size)
    return choose(size.equals(0.0), z.real(0.0), Complex(z.re / safe, z.im / safe))


def _power(base: Complex, exponent: Complex) -> Complex:
    result = _exponential(exponent * _log(base))
    result = choose(base.is_zero(), base.real(0.0), result)
    return choose(exponent.is_zero(), base.real(1.0), result)


def _cbrt(z: Complex) -> Complex:
    return choose(z.is_zero(), z.real(0.0), _exponential(_log(z).scaled(1 / 3)))


def _atan2(y: Complex, x: Complex) -> Complex:
    """-i log((x + iy) / sqrt(x^2 + y^2))."""
    return _log((x + y.turned()) / _sqrt(x * x + y * y)).turned_back()


def _before(left: Complex, right: Complex) -> Term:
    return (left.re < right.re) | (left.re.equals(right.re) & (left.im < right.im))


def _maximum(left: Complex, right: Complex) -> Complex:
    return _extremum(_before(left, right), left, right)


def _minimum(left: Complex, right: Complex) -> Complex:
    return _extremum(_before(right, left), left, right)


def _extremum(takes_right: Term, left: Complex, right: Complex) -> Complex:
    """The right one where it goes beyond, or is NaN; but a NaN on the left wins."""
    left_nan, right_nan = (_is_nan(z.re) | _is_nan(z.im) for z in (left, right))
    return choose((takes_right | right_nan) & (left_nan ^ 1), right, left)


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

WIDE: dict[str, Formula] = {
    "atan2": _atan2,
    "cbrt": _cbrt,
    "cosh": _cosh,
    "cosine": _cosine,
    "divide": _quotient,
    "exponential": _exponential,
    "exponential-minus-one": _expm1,
    "log": _log,
    "log-plus-one": _log1p,
    "logistic": _logistic,
    "power": _power,
    "rsqrt": _rsqrt,
    "sign": _sign,
    "sine": _sine,
    "sinh": _sinh,
    "sqrt": _sqrt,
    "tan": _tan,
    "tanh": _tanh,
}
"""Formulas by opcode that are evaluated in f64."""


def emit(builder: Builder, opcode: str, operands: Sequence[Value]) -> Value | None:
    """The value of an opcode that yields a complex number from complex numbers; None for one that is not known."""
    numbers = [Complex.of(builder, operand) for operand in operands]
    if opcode in EXACT:
        return EXACT[opcode](*numbers).value
    if opcode not in WIDE:
        return None
    own = numbers[0].re.type
    return WIDE[opcode](*(number.converted("double") for number in numbers)).converted(own).value


def absolute(builder: Builder, operand: Value) -> Value:
    """The magnitude."""
    number = Complex.of(builder, operand)
    size = magnitude(number.converted("double"))
    return builder.cast("fptrunc", size.value, number.re.type)


def equal(builder: Builder, left: Value, right: Value) -> Value:
    """Whether both parts are equal."""
    a, b = Complex.of(builder, left), Complex.of(builder, right)
    return (a.re.equals(b.re) & a.im.equals(b.im)).value
