"""The key of a sort: what a comparator orders by, as an unsigned integer that orders alike.

Most comparators compare one expression of the first elements with the same expression of the second ones (JAX's, for
floats, first makes all NaN one and all zeros one).  Then the elements can be ordered by that expression, computed once
for each, and the expression by its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.codegen import element
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.codegen.movement import Indices, Leaf
from compiler.ir.module import Computation, Instruction
from compiler.ir.types import BF16, F16, F32, F64, ElementType, Kind

_FLOATS = (BF16, F16, F32, F64)


@dataclass(frozen=True, slots=True)
class SortKey:
    """What elements are ordered by.

    Attributes:
        expression: the value, on one side of the comparison.
        descending: whether the greatest goes first.
        partial: whether NaN is unordered, so that with one there is no order by key, and both zeros are equal.
    """

    expression: Instruction
    descending: bool
    partial: bool

    @property
    def canonical(self) -> bool:
        """Whether the value is the element itself, but for zeros being one zero and NaNs one NaN."""
        return _canonical(self.expression)

    @property
    def element_type(self) -> ElementType:
        """The type of the value."""
        return self.expression.array.element_type

    def value(self, emission: Emission, elements: Sequence[Value]) -> Value:
        """The value for one element of each operand."""
        leaves = {
            parameter: _always(elements[parameter.parameter_number // 2])
            for parameter in self.expression.computation.parameters
        }
        emission.enter()
        value = Elemental(emission, leaves).value(self.expression, ())
        emission.leave()
        return value

    def bits(self, builder: Builder, value: Value) -> Value:
        """The unsigned integer, of the type's width, that orders as the value does."""
        if self.partial:
            is_zero = builder.compare("oeq", value, floating(0.0, value.type))
            value = builder.select(is_zero, floating(0.0, value.type), value)
        bits = ordered(builder, self.element_type, element.to_bits(builder, self.element_type, value))
        return self.directed(builder, bits)

    def directed(self, builder: Builder, bits: Value) -> Value:
        """Integers that rise with the value as those that rise along the sorted line, and back again."""
        return builder.binary("xor", bits, integer(-1, bits.type)) if self.descending else bits


def ordered(builder: Builder, element_type: ElementType, bits: Value) -> Value:
    """The bits of a value, or of a vector, as unsigned integers that order alike; floats in total order."""
    width = element_type.bits

    def literal(number: int) -> Value:
        one = integer(number, f"i{width}")
        return one if bits.type[0] != "<" else Value(bits.type, f"splat ({one})")

    sign = literal(1 << (width - 1))
    if element_type.is_float:
        negative = builder.binary("ashr", bits, literal(width - 1))
        return builder.binary("xor", bits, builder.binary("or", negative, sign))
    return builder.binary("xor", bits, sign) if element.is_signed(element_type) else bits


def restored(builder: Builder, element_type: ElementType, bits: Value) -> Value:
    """The bits of a value out of what `ordered` made of them."""
    width = element_type.bits
    sign = integer(1 << (width - 1), bits.type)
    if element_type.is_float:
        positive = builder.binary("ashr", bits, integer(width - 1, bits.type))
        negative = builder.binary("xor", positive, integer(-1, bits.type))
        return builder.binary("xor", bits, builder.binary("or", negative, sign))
    return builder.binary("xor", bits, sign) if element.is_signed(element_type) else bits


def has_order(element_type: ElementType) -> bool:
    """Whether `ordered` knows a type."""
    return element_type in _FLOATS or element_type.is_integer or element_type.kind is Kind.PRED


def sort_key(comparator: Computation) -> SortKey | None:
    """The key that a comparator orders by, or None where it is of another kind."""
    root = comparator.root
    if root.opcode != "compare" or root.attributes["direction"] not in ("LT", "GT"):
        return None
    left, right = root.operands
    element_type = left.array.element_type
    sides: set[int] = set()
    if not has_order(element_type) or not _mirrored(left, right, sides) or len(sides) != 1:
        return None
    descending = (root.attributes["direction"] == "GT") != (sides == {1})
    return SortKey(left, descending, element_type.is_float and root.attributes.get("type") != "TOTALORDER")


def _mirrored(left: Instruction, right: Instruction, sides: set[int]) -> bool:
    """Whether two expressions are one, of either elements; adds which of the two the left one is of."""
    pending, seen = [(left, right)], set()
    while pending:
        pair = pending.pop()
        if pair in seen:
            continue
        seen.add(pair)
        one, other = pair
        if one.opcode != other.opcode or one.shape != other.shape or len(one.operands) != len(other.operands):
            return False
        if one.opcode == "parameter":
            if one.parameter_number != other.parameter_number ^ 1:
                return False
            sides.add(one.parameter_number % 2)
        elif one is not other and (not one.operands or one.meaning != other.meaning):
            return False
        pending.extend(zip(one.operands, other.operands, strict=True))
    return True


def _canonical(value: Instruction) -> bool:
    """Whether a value is a parameter, or `x == 0 ? 0 : value` or `x != x ? NaN : value` of such a value."""
    if value.opcode != "select":
        return value.opcode == "parameter"
    test, then, otherwise = value.operands
    replaced = _constant(then)
    if test.opcode != "compare" or replaced is None or not _canonical(otherwise):
        return False
    left, right = test.operands
    if left.opcode != "parameter":
        return False
    if right is left:
        return test.attributes["direction"] == "NE" and replaced != replaced
    return test.attributes["direction"] == "EQ" and _constant(right) == replaced == 0


def _constant(value: Instruction) -> float | None:
    """What a real constant is; None for anything else."""
    if value.opcode != "constant" or value.literal.array is None or value.array.element_type not in _FLOATS:
        return None
    return float(value.literal.array)


def _always(value: Value) -> Leaf:
    def leaf(_: Indices) -> Value:
        return value

    return leaf
