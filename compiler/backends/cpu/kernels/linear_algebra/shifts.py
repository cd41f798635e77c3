"""Shifts of Francis's steps, from the last two rows and the first three of a block, as in `expansion.schur`."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.backends.cpu.kernels.linear_algebra.numbers import Number, Numbers
from compiler.codegen.llvm_ir import Builder, Value, floating

_EPS = {"float": 2.0**-23, "double": 2.0**-52}


def absolute(b: Builder, value: Value) -> Value:
    """|x| of a real number."""
    return b.overloaded("fabs", [value])


def magnitude(b: Builder, number: Number) -> Value:
    """The sum of the components' magnitudes."""
    sizes = [absolute(b, component) for component in number]
    return b.binary("fadd", sizes[0], sizes[1]) if sizes[1:] else sizes[0]


def nonzero(b: Builder, value: Value) -> Value:
    """The value, to be divided by: 1 where it is 0."""
    is_zero = b.compare("oeq", value, floating(0.0, value.type))
    return b.select(is_zero, floating(1.0, value.type), value)


def root(b: Builder, value: Value) -> Value:
    """The square root of a number, of a negative one 0."""
    return b.overloaded("sqrt", [b.overloaded("maximum", [value, floating(0.0, value.type)])])


@dataclass(frozen=True, slots=True)
class LastRows:
    """[[a, b], [c, d]], the last two rows and columns of a block."""

    builder: Builder
    numbers: Numbers
    a: Number
    b: Number
    c: Number
    d: Number

    def _real(self, value: float) -> Value:
        return floating(value, self.numbers.tiles.type)

    @property
    def _half(self) -> Number:
        n = self.numbers
        return n.scaled(self.builder, n.subtract(self.builder, self.a, self.d), self._real(0.5))

    @property
    def _product(self) -> Number:
        return self.numbers.multiply(self.builder, self.b, self.c)

    @property
    def _square(self) -> Number:
        half = self._half
        return self.numbers.multiply_add(self.builder, half, half, self._product)

    @property
    def is_pair(self) -> Value:
        """Whether the eigenvalues are a conjugate pair."""
        b, n = self.builder, self.numbers
        if n.components > 1:
            return Value("i1", "false")
        (half,), (product,), (square,) = self._half, self._product, self._square
        larger = b.overloaded("maximum", [b.binary("fmul", half, half), absolute(b, product)])
        doubt = b.binary("fmul", larger, self._real(-4 * _EPS[half.type]))
        return b.compare("olt", square, doubt)

    @property
    def rise(self) -> Number:
        """The distance from d of the eigenvalue that is farther from it."""
        b, n, half = self.builder, self.numbers, self._half
        found = self._root()
        cosine = half[0]
        if n.components > 1:
            terms = [b.binary("fmul", *pair) for pair in zip(half, found, strict=True)]
            cosine = b.binary("fadd", terms[0], terms[1])
        turned = b.compare("olt", cosine, self._real(0.0))
        found = n.select(b, turned, n.negated(b, found), found)
        return tuple(b.binary("fadd", *pair) for pair in zip(half, found, strict=True))

    def _root(self) -> Number:
        b, n, square = self.builder, self.numbers, self._square
        if n.components == 1:
            return (root(b, square[0]),)
        real, imaginary = square
        half = self._real(0.5)
        size = b.binary("fadd", n.size(b, square), absolute(b, real))
        larger = root(b, b.binary("fmul", size, half))
        smaller = b.binary("fdiv", b.binary("fmul", imaginary, half), nonzero(b, larger))
        is_right = b.compare("oge", real, self._real(0.0))
        signed = b.overloaded("copysign", [larger, imaginary])
        return n.select(b, is_right, (larger, smaller), (absolute(b, smaller), signed))

    def direction(self) -> list[Number]:
        """The rotation that makes two rows triangular, or of a pair the diagonal elements alike."""
        b, n = self.builder, self.numbers
        straight = [self.rise, self.c]
        if n.components > 1:
            return straight
        (half,), total = self._half, b.binary("fadd", self.b[0], self.c[0])
        twice = b.binary("fadd", half, half)
        length = nonzero(b, n.hypot(b, absolute(b, total), absolute(b, twice)))
        share = b.binary("fdiv", absolute(b, total), length)
        cosine = root(b, b.binary("fmul", b.binary("fadd", share, self._real(1.0)), self._real(0.5)))
        sine = b.binary("fdiv", half, b.binary("fmul", length, cosine))
        sine = b.select(b.compare("olt", total, self._real(0.0)), sine, b.unary("fneg", sine))
        level: list[Number] = [(cosine,), (sine,)]
        return [n.select(b, self.is_pair, *pair) for pair in zip(level, straight, strict=True)]

    def shifts(self, is_late: Value) -> tuple[Number, Value]:
        """Centre and distance of two shifts: the pair, or the nearer to d twice; others where those did not help."""
        b, n, rise = self.builder, self.numbers, self.rise
        none = b.compare("oeq", magnitude(b, rise), self._real(0.0))
        safe = n.select(b, none, (self._real(1.0), *n.zero()[1:]), rise)
        share = n.divided(b, self._product, n.divisor(b, safe))
        centre, distance = n.subtract(b, self.d, share), self._real(0.0)
        if n.components == 1:
            mean = n.scaled(b, (b.binary("fadd", self.a[0], self.d[0]),), self._real(0.5))
            centre = n.select(b, self.is_pair, mean, centre)
            distance = b.select(self.is_pair, root(b, b.unary("fneg", self._square[0])), distance)
        size = n.size(b, self.c)
        aside = b.binary("fadd", self.d[0], b.binary("fmul", size, self._real(0.75)))
        centre = n.select(b, is_late, (aside, *self.d[1:]), centre)
        return centre, b.select(is_late, b.binary("fmul", size, self._real(0.4375**0.5)), distance)

    def bulge(self, head: list[Number], centre: Number, distance: Value) -> list[Number]:
        """The first column of (H - s1)(H - s2), divided by its magnitude, from elements of H's first rows.

        Args:
            head: H's elements (1, 1), (1, 2), (2, 1) and (2, 2), and (3, 2) behind them.
            centre: half of the sum of both shifts.
            distance: what either is away from it along the imaginary axis; 0 where both are one.
        """
        b, n = self.builder, self.numbers
        own, right, below, following, further = head
        away = n.subtract(b, own, centre)
        size = b.binary("fadd", b.binary("fadd", magnitude(b, away), distance), magnitude(b, below))
        inverse = nonzero(b, size)

        def shared(number: Number) -> Number:
            return tuple(b.binary("fdiv", component, inverse) for component in number)

        share = shared(below)
        start = n.multiply_add(b, away, shared(away), n.multiply(b, share, right))
        squared = b.binary("fmul", distance, b.binary("fdiv", distance, inverse))
        rest = tuple(b.binary("fadd", *pair) for pair in zip(away, n.subtract(b, following, centre), strict=True))
        return [
            (b.binary("fadd", start[0], squared), *start[1:]),
            n.multiply(b, share, rest),
            n.multiply(b, share, further),
        ]
