"""Records of a sorting network: an unsigned integer for each element, which orders as the element does.

Where nothing but the key moves along, the record is the key, out of which the element is made again.  Zeros of both
signs, or NaNs, that the comparator takes for equal become one record; where a line has such, they are put right in the
end, in the order in which they came.  Otherwise the record is the key above the element's number in the line, so that
no two are equal and the order is the stable one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.sort.lines import Lines
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.codegen import element
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import I64, Builder, Value, integer
from compiler.codegen.sort_key import SortKey, ordered, restored
from compiler.ir.types import TYPES, ElementType

_LEAST_WIDTH = 16
"""Bits of a record: vectors have unsigned minima from 8 bits on, but keys of bytes have numbers beside them."""


@dataclass(frozen=True, slots=True)
class Record:
    """The records of a kernel's lines.

    Attributes:
        type: their LLVM type.
        number_bits: how many of the bits, the lowest, are the element's number; 0 where the record is the key alone.
        alike: whether different elements may have one record, so that the sorted line has to be mended.
        lanes: neighbours of which records are made at a time, None where the key has no form on vectors.
    """

    lines: Lines
    key: SortKey
    type: str
    number_bits: int
    alike: bool
    lanes: Lanes | None

    @property
    def stored_as(self) -> ElementType:
        """The type of an array of records."""
        return TYPES[f"u{self.type[1:]}"]

    @property
    def result_lanes(self) -> Lanes | None:
        """Neighbours of which elements are made again at a time; those that are read lie anywhere."""
        alone = self.number_bits and not self.lines.results_have_lanes
        return None if alone or self.lines.results.stored < self.lines.length else self.lanes

    def load(self, emission: Emission, line: Value, number: Index) -> tuple[Value, list[Value]]:
        """An element's record, and where some may be alike whether this is one of them; or those of neighbours.

        Args:
            emission: where code is emitted; with lanes, for as many neighbours.
            line: the number of the line.
            number: that of the element in it.
        """
        builder, flags = emission.builder, list[Value]()
        values = self.lines.keyed(emission, line, number, self.key)
        record = self._record(emission, values)
        if self.alike:
            type_ = self.key.element_type
            plain = self.key.directed(builder, ordered(builder, type_, element.to_bits(builder, type_, values[0])))
            flags.append(builder.compare("ne", builder.cast("zext", plain, self.type), record))
        if self.number_bits:
            low = builder.cast("trunc", emission.value(number), self.type)
            record = builder.binary("or", builder.binary("shl", record, integer(self.number_bits, record.type)), low)
        return record, flags

    def _record(self, emission: Emission, values: Mapping[int, Value]) -> Value:
        """The bits of the key as wide as a record."""
        builder = emission.builder
        return builder.cast("zext", self.key.bits(builder, self.key.value(emission, values)), self.type)

    def store(self, emission: Emission, line: Value, number: Index, record: Value) -> None:
        """Write the element of a record to its position in the results, or neighbours to theirs.

        Args:
            emission: where code is emitted.
            line: the line's number, an i64.
            number: the element's position in the result, or that of the first lane.
            record: an integer, or a vector of such.
        """
        builder = emission.builder
        if self.number_bits:
            low = builder.binary("and", record, integer((1 << self.number_bits) - 1, self.type))
            first = emission.opaque(builder.cast("zext", low, I64), self.lines.length)
            values = self.lines.elements(emission, line, first, self.lines.results.numbers)
        else:
            type_ = self.key.element_type
            bits = self.key.directed(builder, builder.cast("trunc", record, f"i{type_.bits}"))
            values = {0: element.from_bits(builder, type_, restored(builder, type_, bits))}
        self.lines.write(emission, line, number, values)

    def mend(self, builder: Builder, line: Value, records: Value) -> None:
        """Write the elements that are alike, zeros and NaNs, to their places in a sorted line.

        Args:
            builder: where code is emitted.
            line: the line's number, an i64.
            records: the address of the sorted records.
        """
        length, type_ = integer(self.lines.length), self.key.element_type
        alike = [self._record(Emission(builder), {0: element.constant(type_, value)}) for value in (0.0, math.nan)]
        positions = self._positions(builder, records, alike)
        with builder.loop(integer(0), length, carried=positions, name="mend", nonempty=True, scalar=True) as loop:
            emission = Emission(builder)
            values = self.lines.keyed(emission, line, emission.opaque(loop.index, self.lines.length), self.key)
            record = self._record(emission, values)
            following = []
            for position, one in zip(loop.carried, alike, strict=True):
                found = builder.compare("eq", record, one)
                with builder.when(found, "alike"):
                    self.lines.store(builder, line, position, values)
                following.append(builder.add(position, builder.cast("zext", found, I64)))
            loop.carry(*following)

    def _positions(self, builder: Builder, records: Value, wanted: Sequence[Value]) -> list[Value]:
        """How many records of a sorted line are less than each wanted one, found by halving."""
        length, bits = integer(self.lines.length), self.lines.length.bit_length()
        start = [integer(0) for _ in wanted]
        with builder.loop(integer(0), integer(bits), carried=start, name="halve", nonempty=True, scalar=True) as loop:
            step, following = builder.binary("lshr", integer(1 << (bits - 1)), loop.index), []
            for position, record in zip(loop.carried, wanted, strict=True):
                ahead = builder.add(position, step)
                last = builder.sub(builder.smin(ahead, length), integer(1))
                is_less = builder.compare("ult", builder.load(self.type, builder.gep(self.type, records, last)), record)
                goes_on = builder.binary("and", is_less, builder.compare("sle", ahead, length))
                following.append(builder.select(goes_on, ahead, position))
            loop.carry(*following)
        return loop.results


def record_of(lines: Lines, key: SortKey, has: Callable[[str], bool]) -> Record | None:
    """The records of lines that are ordered by a key, on a target with features; None where none are wide enough.

    Args:
        lines: what is sorted.
        key: what the order is decided by.
        has: says whether the target has a feature, by LLVM's name.
    """
    width = key.element_type.bits
    lanes = lines.lanes(key, has)
    if len(lines.types) == 1 and lines.types[0] is key.element_type and key.canonical:
        plain = key.expression.opcode == "parameter" and not key.partial
        return Record(lines, key, f"i{max(_LEAST_WIDTH, width)}", 0, alike=not plain, lanes=lanes)
    number_bits = 16 if width <= 16 and lines.length <= 1 << 16 else 32
    if width > 32 or lines.length > 1 << 31:
        return None
    return Record(lines, key, f"i{2 * number_bits}", number_bits, alike=False, lanes=lanes)
