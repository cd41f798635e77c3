"""What lines are ordered by, as one unsigned integer for each element: keys, one behind the other.

A comparator may order by several values: by the second one where the first ones are equal, and so on.  Their bits side
by side, those of the first on top, are one key.  Numbers of elements along the line (an iota) take no more bits than
the line's length has; where they rise and come last they take none at all, since sorts are stable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import I32, I64, Builder, Value, integer
from compiler.codegen.sort_key import SortKey, sort_keys
from compiler.ir.module import Instruction

_WIDEST = 64
"""Bits of a key at most."""


@dataclass(frozen=True, slots=True)
class LineKey:
    """The key of the elements of a line.

    Attributes:
        pieces: what it is made of, with the bits of each, the lowest ones of its value.
    """

    pieces: tuple[tuple[SortKey, int], ...]

    @staticmethod
    def of(sort: Instruction) -> LineKey | None:
        """The key that a sort orders by; None where there is none, or it is too wide."""
        pieces = [(key, _bits(sort, key)) for key in sort_keys(sort.attributes["to_apply"])]
        while len(pieces) > 1 and _is_number(sort, pieces[-1][0]) and not pieces[-1][0].descending:
            pieces.pop()
        found = LineKey(tuple(pieces))
        return found if 0 < found.bits <= _WIDEST else None

    @property
    def bits(self) -> int:
        """How many it has."""
        return sum(bits for _, bits in self.pieces)

    def value(self, builder: Builder, elements: Sequence[Value]) -> Value:
        """The key of an element.

        Args:
            builder: where code is emitted.
            elements: one of each operand.
        """
        found = [key.bits(builder, key.value(Emission(builder), elements)) for key, _ in self.pieces]
        if len(found) == 1 and found[0].type == f"i{self.bits}":
            return found[0]
        type_ = I32 if self.bits <= int(I32[1:]) else I64
        total = integer(0, type_)
        for value, (_, bits) in zip(found, self.pieces, strict=True):
            wide = int(value.type[1:]) > int(type_[1:])
            low = builder.cast("trunc" if wide else "zext", value, type_)
            low = builder.binary("and", low, integer((1 << bits) - 1, type_))
            shifted = builder.binary("shl", total, integer(bits, type_)) if bits < int(type_[1:]) else total
            total = builder.binary("or", shifted, low)
        return total


def _bits(sort: Instruction, key: SortKey) -> int:
    """Bits of a key by which the elements of a line differ."""
    length = sort.operands[0].array.dims[sort.attributes["dimensions"][0]]
    return (length - 1).bit_length() if _is_number(sort, key) else key.element_type.bits


def _is_number(sort: Instruction, key: SortKey) -> bool:
    """Whether a key is the number of its element in the line."""
    (dimension,) = sort.attributes["dimensions"]
    operand = sort.operands[key.operands[0]]
    is_iota = operand.opcode == "iota" and operand.attributes["iota_dimension"] == dimension
    fits = sort.operands[0].array.dims[dimension] <= 1 << (key.element_type.bits - 1)
    return key.expression.opcode == "parameter" and key.element_type.is_integer and is_iota and fits
