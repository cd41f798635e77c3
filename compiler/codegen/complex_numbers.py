"""Complex numbers as pairs of LLVM values, with the arithmetic that formulas on them are written in.

A complex value is LLVM's `{ float, float }` or `{ double, double }`, in memory two scalars.  The optimiser takes such
pairs apart again, so loops over them vectorise like any other.  Sums, products and comparisons are computed in the
parts' own type and never contracted, so that z times its conjugate has no imaginary part; everything else is computed
in f64, where squares of f32 parts cannot overflow.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Iterable
from dataclasses import dataclass

from compiler.codegen import math
from compiler.codegen.llvm_ir import Builder, Value
from compiler.codegen.math.term import Term


def pair(builder: Builder, real: Value, imaginary: Value) -> Value:
    """A complex value from its parts.

    Args:
        builder: where code is emitted.
        real: the real part, or a vector of them.
        imaginary: the imaginary part, alike.
    """
    type_ = f"{{ {real.type}, {imaginary.type} }}"
    first = builder.emit(type_, f"insertvalue {type_} poison, {real}, 0")
    return builder.emit(type_, f"insertvalue {first}, {imaginary}, 1")


def component(builder: Builder, value: Value, number: int) -> Value:
    """The real (0) or the imaginary (1) part.

    Args:
        builder: where code is emitted.
        value: a complex value.
        number: 0 or 1.
    """
    return builder.emit(component_type(value.type), f"extractvalue {value}, {number}")


def add(builder: Builder, left: Value, right: Value, flags: str) -> Value:
    """The sum; with `reassoc` among the flags it is one of many, whose order is free.

    Args:
        builder: where code is emitted.
        left: a complex number, a pair of components.
        right: another.
        flags: LLVM's fast-math flags.
    """
    numbers = ((component(builder, left, number), component(builder, right, number)) for number in (0, 1))
    return pair(builder, *[builder.binary("fadd", a, b, flags) for a, b in numbers])


def taken_apart(builder: Builder, values: Iterable[Value]) -> list[Value]:
    """Values with the parts of each complex one in its place."""
    return [
        one
        for value in values
        for one in ([component(builder, value, number) for number in (0, 1)] if value.type[0] == "{" else [value])
    ]


def put_together(builder: Builder, values: Iterable[Value], types: Iterable[str]) -> list[Value]:
    """Values of these types from the parts that they were taken apart into.

    Args:
        builder: where code is emitted.
        values: their parts.
        types: of the values.
    """
    left = iter(values)
    return [pair(builder, next(left), next(left)) if type_[0] == "{" else next(left) for type_ in types]


def component_type(type_: str) -> str:
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
        return Complex(*(Term(builder, component(builder, value, number)) for number in (0, 1)))

    @property
    def value(self) -> Value:
        """The number as an LLVM value, a pair."""
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
        return quotient(self, other)

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

    def is_lost(self) -> Term:
        """Whether both parts are NaN, as they come out of a quotient that is zero or infinite too."""
        return is_nan(self.re) & is_nan(self.im)

    def is_zero(self) -> Term:
        """Whether both parts are zero."""
        return self.re.equals(0.0) & self.im.equals(0.0)


def choose(condition: Term, then: Complex, otherwise: Complex) -> Complex:
    """`condition ? then : otherwise`."""
    return Complex(condition.where(then.re, otherwise.re), condition.where(then.im, otherwise.im))


def call(name: str, *terms: Term) -> Term:
    """A function of real numbers from the math library."""
    builder = terms[0].builder
    return Term(builder, math.emit(builder, name, [term.value for term in terms]))


def is_infinite(term: Term) -> Term:
    """Whether a part is infinite."""
    return term.abs().equals(python_math.inf)


def is_nan(term: Term) -> Term:
    """Whether a part is NaN."""
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
    infinite = is_infinite(z.re) | is_infinite(z.im)
    return infinite.where(size.literal(python_math.inf), size)


def narrow_quotient(dividend: Complex, divisor: Complex) -> Complex:
    """The quotient of numbers that were f32, computed in f64; zeros and infinities as in C99's annex G."""
    return _annex_g(fast_narrow_quotient(dividend, divisor), dividend, divisor)


def fast_narrow_quotient(dividend: Complex, divisor: Complex) -> Complex:
    """The quotient of numbers that were f32, unless it `is_lost`: no square leaves the range, and one division does."""
    a, b, c, d = dividend.re, dividend.im, divisor.re, divisor.im
    inverse = c.literal(1.0) / (c * c + d * d)
    return Complex((a * c + b * d) * inverse, (b * c - a * d) * inverse)


def quotient_by_real(dividend: Complex, divisor: Complex) -> Complex:
    """The quotient by a number without an imaginary part, in the parts' own type."""
    return _annex_g(fast_quotient_by_real(dividend, divisor), dividend, divisor)


def fast_quotient_by_real(dividend: Complex, divisor: Complex) -> Complex:
    """A quotient by a real number, unless it `is_lost`, as by zero."""
    a, b, c = dividend.re, dividend.im, divisor.re
    c = c.equals(0.0).where(c.literal(python_math.nan), c)
    return Complex(b.fma(0.0, a) / c, a.fma(-0.0, b) / c)


_UP, _DOWN = 2.0**699, 2.0**-699
"""Powers of two whose exponents 3 divides, so that cube roots can be scaled back as well."""


def scale(z: Complex) -> Term:
    """A power of 2 that brings a number so large or small that its square leaves the range near to 1."""
    x, y = z.re.abs(), z.im.abs()
    larger = (x < y).where(y, x)
    huge, tiny = larger > 2.0**400, larger < 2.0**-400
    return huge.where(x.literal(_DOWN), tiny.where(x.literal(_UP), 1.0))


def inverse_scale(factor: Term) -> Term:
    """The power of 2 that undoes a scale."""
    return factor.equals(_DOWN).where(factor.literal(_UP), factor.equals(_UP).where(factor.literal(_DOWN), 1.0))


def quotient(dividend: Complex, divisor: Complex) -> Complex:
    """The quotient of numbers of any size; zeros and infinities as in C99's annex G."""
    return _annex_g(fast_quotient(dividend, divisor), dividend, divisor)


def fast_quotient(dividend: Complex, divisor: Complex) -> Complex:
    """The quotient unless it `is_lost`, both scaled by powers of two so that products stay in range."""
    above, below = scale(dividend), scale(divisor)
    a, b, c, d = dividend.re * above, dividend.im * above, divisor.re * below, divisor.im * below
    # Back by one factor after the other, where they do not cancel: their product may leave the range.
    same = above.equals(below)
    first, second = same.where(a.literal(1.0), below), same.where(a.literal(1.0), inverse_scale(above))
    size = c * c + d * d
    real, imaginary = (a * c + b * d) / size * first * second, (b * c - a * d) / size * first * second
    return Complex(real, imaginary)


def _annex_g(result: Complex, dividend: Complex, divisor: Complex) -> Complex:
    """The quotient, or what it is where both parts came out as NaN though it is zero or infinite."""
    lost = result.is_lost()
    for condition, value in _special_quotients(dividend, divisor):
        result = choose(lost & condition, value, result)
    return result


def _special_quotients(dividend: Complex, divisor: Complex) -> list[tuple[Term, Complex]]:
    a, b, c, d = dividend.re, dividend.im, divisor.re, divisor.im
    infinity, zero = a.literal(python_math.inf), a.literal(0.0)
    numbers = (is_nan(a) & is_nan(b)) ^ 1
    above, below = is_infinite(a) | is_infinite(b), is_infinite(c) | is_infinite(d)
    finite_above = (a - a).equals(0.0) & (b - b).equals(0.0)
    finite_below = (c - c).equals(0.0) & (d - d).equals(0.0)
    a1, b1 = (is_infinite(t).where(t.literal(1.0), 0.0).copysign(t) for t in (a, b))
    c1, d1 = (is_infinite(t).where(t.literal(1.0), 0.0).copysign(t) for t in (c, d))
    signed = infinity.copysign(c)
    return [
        (above & finite_below, Complex(infinity * (a1 * c + b1 * d), infinity * (b1 * c - a1 * d))),
        (below & finite_above, Complex(zero * (a * c1 + b * d1), zero * (b * c1 - a * d1))),
        (c.equals(0.0) & d.equals(0.0) & numbers, Complex(signed * a, signed * b)),
    ]


def absolute(builder: Builder, operand: Value) -> Value:
    """The magnitude."""
    number = Complex.of(builder, operand)
    size = magnitude(number.converted("double"))
    return builder.cast("fptrunc", size.value, number.re.type)


def equal(builder: Builder, left: Value, right: Value) -> Value:
    """Whether both parts are equal.

    Args:
        builder: where code is emitted.
        left: a complex value.
        right: another.
    """
    a, b = Complex.of(builder, left), Complex.of(builder, right)
    return (a.re.equals(b.re) & a.im.equals(b.im)).value
