"""Formulas as Python expressions: a `Term` is an SSA value together with the builder that its uses are emitted to.

`x * y + 1` on terms emits `fmul` and `fadd`; a Python number beside a term is a literal of the term's type, on
vectors a splat.  No instruction carries fast-math flags: compensated sums and the rounding by a large constant
below depend on every operation being done as it is written, and `fma` stands exactly where one rounding is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.codegen.llvm_ir import SM_80, Builder, Value, element_of, floating, integer
from compiler.diagnostics import UnsupportedError


@dataclass(frozen=True, slots=True)
class Format:
    """Constants of an IEEE 754 binary format, for the algorithms."""

    type: str
    integer: str
    mantissa: int
    """Bits of the stored significand."""
    one: int
    """The bits of 1.0."""
    sqrt_half: int
    """The bits of sqrt(1/2)."""
    smallest: float
    """The smallest normal number."""
    magic: float
    """1.5 * 2^mantissa: a number added to it is rounded to an integer, found in the low bits of the sum."""

    @property
    def sign(self) -> int:
        """The sign bit as the integer type's smallest number."""
        return -1 << int(self.integer[1:]) - 1

    @property
    def magic_bits(self) -> int:
        """The bits of `magic`."""
        return self.one + (self.mantissa << self.mantissa) + (1 << self.mantissa - 1)


F32 = Format("float", "i32", 23, 0x3F800000, 0x3F3504F3, 2.0**-126, 1.5 * 2.0**23)
F64 = Format("double", "i64", 52, 0x3FF0000000000000, 0x3FE6A09E667F3BCD, 2.0**-1022, 1.5 * 2.0**52)
_FORMATS = {format_.type: format_ for format_ in (F32, F64)}


def format_of(type_: str) -> Format:
    """The format of a float type or of a vector's elements; others are not computed in.

    Raises:
        UnsupportedError: the type is another.
    """
    format_ = _FORMATS.get(element_of(type_))
    if format_ is None:
        raise UnsupportedError(type_, "the math functions", "convert to float or double around the call")
    return format_


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A value in a formula: float, integer or i1, scalar or vector."""

    builder: Builder
    value: Value

    @property
    def type(self) -> str:
        """LLVM's spelling of the type."""
        return self.value.type

    @property
    def is_float(self) -> bool:
        """Whether arithmetic on it is floating-point."""
        return element_of(self.type) in _FORMATS

    @property
    def format(self) -> Format:
        """The format of a float term."""
        return format_of(self.type)

    def like(self, element: str) -> str:
        """The type of the same number of lanes of `element`."""
        return self.type.replace(f"x {element_of(self.type)}>", f"x {element}>") if self.type[0] == "<" else element

    def literal(self, number: float) -> Term:
        """A literal of this term's type."""
        element = element_of(self.type)
        value = floating(number, element) if self.is_float else integer(int(number), element)
        return Term(self.builder, Value(self.type, f"splat ({value})") if self.type[0] == "<" else value)

    def lift(self, other: Term | float) -> Value:
        """The other operand of a binary operation."""
        return other.value if isinstance(other, Term) else self.literal(other).value

    def _binary(self, float_opcode: str, integer_opcode: str, other: Term | float) -> Term:
        opcode = float_opcode if self.is_float else integer_opcode
        return Term(self.builder, self.builder.binary(opcode, self.value, self.lift(other)))

    def __add__(self, other: Term | float) -> Term:
        return self._binary("fadd", "add", other)

    __radd__ = __add__

    def __sub__(self, other: Term | float) -> Term:
        return self._binary("fsub", "sub", other)

    def __rsub__(self, other: float) -> Term:
        return self.literal(other) - self

    def __mul__(self, other: Term | float) -> Term:
        return self._binary("fmul", "mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Term | float) -> Term:
        return self._binary("fdiv", "sdiv", other)

    def __rtruediv__(self, other: float) -> Term:
        return self.literal(other) / self

    def __neg__(self) -> Term:
        return Term(self.builder, self.builder.unary("fneg", self.value))

    def __and__(self, other: Term | int) -> Term:
        return self._binary("and", "and", other)

    def __or__(self, other: Term | int) -> Term:
        return self._binary("or", "or", other)

    def __xor__(self, other: Term | int) -> Term:
        return self._binary("xor", "xor", other)

    def __lshift__(self, bits: int) -> Term:
        return self._binary("shl", "shl", bits)

    def __rshift__(self, bits: int) -> Term:
        """Arithmetic shift."""
        return self._binary("ashr", "ashr", bits)

    def __lt__(self, other: Term | float) -> Term:
        return self.compare("olt", "slt", other)

    def __gt__(self, other: Term | float) -> Term:
        return self.compare("ogt", "sgt", other)

    def __ge__(self, other: Term | float) -> Term:
        return self.compare("oge", "sge", other)

    def equals(self, other: Term | float) -> Term:
        """`self == other`, false on NaN."""
        return self.compare("oeq", "eq", other)

    def differs(self, other: Term | float) -> Term:
        """`self != other`, true on NaN."""
        return self.compare("une", "ne", other)

    def compare(self, float_predicate: str, integer_predicate: str, other: Term | float) -> Term:
        """The comparison by the predicate of the type's kind.

        Args:
            float_predicate: LLVM's, where terms are floats.
            integer_predicate: LLVM's, where they are integers.
            other: what it is compared with.
        """
        predicate = float_predicate if self.is_float else integer_predicate
        return Term(self.builder, self.builder.compare(predicate, self.value, self.lift(other)))

    def where(self, then: Term, otherwise: Term | float) -> Term:
        """`self ? then : otherwise`."""
        return Term(self.builder, self.builder.select(self.value, then.value, then.lift(otherwise)))

    def intrinsic(self, name: str, *others: Term | float) -> Term:
        """`llvm.NAME.TYPE(self, others...)`."""
        arguments = [self.value, *map(self.lift, others)]
        return Term(self.builder, self.builder.overloaded(name, arguments))

    def fma(self, factor: Term | float, addend: Term | float) -> Term:
        """`self * factor + addend`, rounded once."""
        return self.intrinsic("fma", factor, addend)

    def abs(self) -> Term:
        """The magnitude."""
        return self.intrinsic("fabs")

    def sqrt(self) -> Term:
        """The square root, correctly rounded."""
        return self.intrinsic("sqrt")

    def rint(self) -> Term:
        """The nearest integer, ties to even; one instruction on either target."""
        return self.intrinsic("rint")

    def copysign(self, sign: Term) -> Term:
        """The magnitude of the term with the sign of `sign`."""
        return self.intrinsic("copysign", sign)

    def at_most(self, bound: float) -> Term:
        """The smaller one of term and bound; NaN stays NaN."""
        if self._has_extrema(bound):
            return self.intrinsic("minimum", self.literal(bound))
        return (self > bound).where(self.literal(bound), self)

    def at_least(self, bound: float) -> Term:
        """The larger one of term and bound; NaN stays NaN."""
        if self._has_extrema(bound):
            return self.intrinsic("maximum", self.literal(bound))
        return (self < bound).where(self.literal(bound), self)

    def _has_extrema(self, bound: float) -> bool:
        """Whether there is an instruction for what is asked; of zeros it would take the sign into account."""
        return bound != 0 and element_of(self.type) == "float" and SM_80 in self.builder.module.features

    def cast(self, opcode: str, element: str) -> Term:
        """Convert the lanes to `element` by an LLVM cast."""
        return Term(self.builder, self.builder.cast(opcode, self.value, self.like(element)))

    def bits(self) -> Term:
        """The bits of a float as an integer of its size."""
        return self.cast("bitcast", self.format.integer)

    def real(self) -> Term:
        """The float whose bits an integer holds."""
        return self.cast("bitcast", "float" if element_of(self.type) == "i32" else "double")


def polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    """`c[0] + c[1]*x + c[2]*x^2 + ...` by Horner's rule."""
    result = x.literal(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result.fma(x, coefficient)
    return result


def paired_polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    """A polynomial by Estrin's scheme: a product more for each doubling of the terms, half the latency or less."""
    terms, power = [x.literal(coefficient) for coefficient in coefficients], x
    while len(terms) > 1:
        rest = terms[len(terms) & ~1 :]
        terms = [power.fma(high, low) for low, high in zip(terms[::2], terms[1::2], strict=False)] + rest
        power = power * power
    return terms[0]


def squared_polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    """A polynomial by Horner's rule in `x^2` for pairs of terms: a product more, often there, in half the time."""
    square = x * x
    pairs = [polynomial(x, coefficients[first : first + 2]) for first in range(0, len(coefficients), 2)]
    result = pairs[-1]
    for pair in reversed(pairs[:-1]):
        result = square.fma(result, pair)
    return result


def two_sum(a: Term, b: Term) -> tuple[Term, Term]:
    """The rounded sum and its exact error (Knuth)."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def two_product(a: Term, b: Term | float) -> tuple[Term, Term]:
    """The rounded product and its exact error, unless that underflows."""
    product = a * b
    return product, a.fma(b, -product)
