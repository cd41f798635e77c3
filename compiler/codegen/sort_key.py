"""The key of a sort: what a comparator orders by (`ir.ordering`), as an unsigned integer that orders alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.codegen import element
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission
from compiler.codegen.kernel import computed
from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.codegen.movement import always
from compiler.ir.module import Computation, Instruction
from compiler.ir.ordering import Ordering, ordering, orderings
from compiler.ir.types import BF16, F16, F32, F64, ElementType, Kind

_FLOATS = (BF16, F16, F32, F64)


@dataclass(frozen=True, slots=True)
class SortKey(Ordering):
    """The key that elements are ordered by, and how it is made of them."""

    @property
    def canonical(self) -> bool:
        """Whether the value is the element itself, but for zeros being one zero and NaNs one NaN."""
        return _canonical(self.expression)

    @property
    def body(self) -> list[Instruction]:
        """The comparator's instructions that compute the key, from parameters."""
        return [value for value in computed([self.expression], ()) if value.opcode != "parameter"]

    @property
    def parameters(self) -> list[Instruction]:
        """The comparator's parameters that are looked at."""
        return [value for value in computed([self.expression], ()) if value.opcode == "parameter"]

    @property
    def operands(self) -> list[int]:
        """The sort's operands whose elements are looked at, by their numbers."""
        return sorted(set(map(_operand, self.parameters)))

    def value(self, emission: Emission, elements: Sequence[Value] | Mapping[int, Value]) -> Value:
        """The value for one element of each operand, by its number, that is looked at."""
        leaves = {parameter: always(elements[_operand(parameter)]) for parameter in self.parameters}
        emission.enter()
        value = Elemental(emission, leaves).value(self.expression, ())
        emission.leave()
        return value

    def bits(self, builder: Builder, value: Value) -> Value:
        """The unsigned integer, of the type's width, that orders as the value does; the greatest where NaN is last."""
        is_nan: Value | None = None
        if self.partial:
            is_nan = builder.compare("uno", value, value)
            is_zero = builder.compare("oeq", value, floating(0.0, value.type))
            value = builder.select(is_zero, floating(0.0, value.type), value)
        bits = ordered(builder, self.element_type, element.to_bits(builder, self.element_type, value))
        bits = self.directed(builder, bits)
        return bits if is_nan is None else builder.select(is_nan, integer(-1, bits.type), bits)

    def directed(self, builder: Builder, bits: Value) -> Value:
        """Integers that rise with the value as those that rise along the sorted line, and back again."""
        return builder.binary("xor", bits, integer(-1, bits.type)) if self.descending else bits


def _operand(parameter: Instruction) -> int:
    """The number of the operand whose elements a comparator's parameter is."""
    return parameter.parameter_number // 2


def ordered(builder: Builder, element_type: ElementType, bits: Value) -> Value:
    """The bits of a value, or of a vector, as unsigned integers that order alike; floats in total order.

    Args:
        builder: where code is emitted.
        element_type: of the value.
        bits: those of a value, or of a vector of them.
    """
    width = element_type.bits

    def literal(number: int) -> Value:
        one = integer(number, f"i{width}")
        return one if bits.type[0] != "<" else Value(bits.type, f"splat ({one})")

    sign = literal(1 << (width - 1))
    if element_type.is_float:
        negative = builder.binary("ashr", bits, literal(width - 1))
        return builder.binary("xor", bits, builder.binary("or", negative, sign))
    return builder.binary("xor", bits, sign) if element_type.is_signed else bits


def restored(builder: Builder, element_type: ElementType, bits: Value) -> Value:
    """The bits of a value out of what `ordered` made of them.

    Args:
        builder: where code is emitted.
        element_type: of the value.
        bits: what `ordered` gave.
    """
    width = element_type.bits
    sign = integer(1 << (width - 1), bits.type)
    if element_type.is_float:
        positive = builder.binary("ashr", bits, integer(width - 1, bits.type))
        negative = builder.binary("xor", positive, integer(-1, bits.type))
        return builder.binary("xor", bits, builder.binary("or", negative, sign))
    return builder.binary("xor", bits, sign) if element_type.is_signed else bits


def has_order(element_type: ElementType) -> bool:
    """Whether `ordered` knows a type."""
    return element_type in _FLOATS or element_type.is_integer or element_type.kind is Kind.PRED


def sort_key(comparator: Computation) -> SortKey | None:
    """The key that a comparator orders by, or None where it is of another kind or type."""
    found = ordering(comparator)
    if found is None or not has_order(found.element_type):
        return None
    return SortKey(found.expression, found.descending, found.partial)


def sort_keys(comparator: Computation) -> list[SortKey]:
    """The keys that a comparator orders by, the next one where those before are equal; none if they are not known."""
    found = orderings(comparator)
    if not all(has_order(one.element_type) for one in found):
        return []
    return [SortKey(one.expression, one.descending, one.partial) for one in found]


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
