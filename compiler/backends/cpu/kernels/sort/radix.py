"""Sorting a line by radix: stable counting sorts by the digits of the elements' keys, the least significant first.

An element is one integer on the way, a record: its key above, and below what it takes to write the result, which is the
element itself where that is all there is to move, and otherwise its number in the line.
"""

from __future__ import annotations

from compiler.backends.cpu.kernels.sort.lines import Lines
from compiler.codegen import element
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import I32, I64, PTR, Builder, Module, Value, integer, zero
from compiler.codegen.sort_key import SortKey
from compiler.codegen.workspace import whole_lines

_RECORD_NS = 1.5
"""Nanoseconds to move a record by one digit on one core."""
_BUCKET_NS = 0.7
"""Nanoseconds for each bucket of a digit: clearing, adding up."""
_DIGITS = (4, 6, 8, 11)
"""Bits of a digit among which is chosen, by what the passes are expected to take; 2^11 counters of 8 bytes are half of
an L1 cache."""


class Radix:
    """The radix sort of a kernel's lines by a key."""

    def __init__(self, lines: Lines, key: SortKey) -> None:
        self.lines = lines
        self.key = key
        self.width = max(1, key.element_type.bits)
        self.moves_elements = len(lines.types) == 1 and not lines.types[0].is_complex
        carried = lines.types[0].bits if self.moves_elements else 32
        self.half = 32 if max(self.width, carried) <= 32 else 64
        self.record = f"i{2 * self.half}"
        self.digit = min(_DIGITS, key=self._passes_ns)
        self.passes = -(-self.width // self.digit)
        self.digit = -(-self.width // self.passes)

    def _passes_ns(self, digit: int) -> float:
        return -(-self.width // digit) * (_RECORD_NS * self.lines.length + _BUCKET_NS * (1 << digit))

    @property
    def line_ns(self) -> float:
        """The expected time for a line."""
        return self._passes_ns(self.digit) + 2 * _RECORD_NS * self.lines.length

    @property
    def _records_bytes(self) -> int:
        return whole_lines(-(-self.lines.length * self.half // 4))

    @property
    def _counts_bytes(self) -> int:
        return whole_lines(self.passes * (4 << self.digit))

    @property
    def workspace_bytes(self) -> int:
        """Two copies of a line's records and the digits' counts, for one thread."""
        return 2 * self._records_bytes + self._counts_bytes

    def emit(self, module: Module) -> str:
        """`ptr pass(ptr from, ptr to, ptr counts, i64 shift)`: sort by one digit; returns where the records are.

        That is still `from` where all have the same digit.
        """
        parameters = [(f"{PTR} noalias", "from"), (f"{PTR} noalias", "to"), (f"{PTR} noalias", "counts"), (I64, "by")]
        function = module.function(
            f"{self.lines.kernel.name}.pass", PTR, parameters, linkage="internal", attributes="noinline nounwind"
        )
        builder = Builder(function)
        source, target, counts, shift = function.arguments
        length = integer(self.lines.length)
        first = self._digit(builder, builder.load(self.record, source, align=16), shift)
        same = builder.load(I32, builder.gep(I32, counts, first), align=4)
        work, done = builder.new_label("work"), builder.new_label("done")
        builder.branch_if(builder.compare("eq", same, integer(self.lines.length, I32)), done, work)
        builder.begin(done)
        builder.ret(source)
        builder.begin(work)
        with builder.loop(integer(0), integer(1 << self.digit), carried=[integer(0, I32)], nonempty=True) as bucket:
            address = builder.gep(I32, counts, bucket.index)
            count = builder.load(I32, address, align=4)
            builder.store(bucket.carried[0], address, align=4)
            bucket.carry(builder.add(bucket.carried[0], count))
        with builder.loop(integer(0), length, nonempty=True) as loop:
            record = builder.load(self.record, builder.gep(self.record, source, loop.index), align=8)
            address = builder.gep(I32, counts, self._digit(builder, record, shift))
            position = builder.load(I32, address, align=4)
            builder.store(builder.add(position, integer(1, I32)), address, align=4)
            to = builder.gep(self.record, target, builder.cast("zext", position, I64))
            builder.store(record, to, align=8)
        builder.ret(target)
        return function.name

    def _digit(self, builder: Builder, record: Value, shift: Value) -> Value:
        """The digit of a record that starts at a bit of the key."""
        key = builder.binary("lshr", record, integer(self.half, self.record))
        key = builder.cast("trunc", key, I64)
        return builder.binary("and", builder.binary("lshr", key, shift), integer((1 << self.digit) - 1))

    def _load(self, builder: Builder, line: Value, workspace: Value) -> None:
        """Write a line's records into the workspace."""
        with builder.loop(integer(0), integer(self.lines.length), nonempty=True) as loop:
            values = self.lines.load(builder, line, loop.index)
            key = self.key.value(Emission(builder), values)
            high = builder.cast("zext", self.key.bits(builder, key), self.record)
            low = loop.index
            if self.moves_elements:
                low = element.to_bits(builder, self.lines.types[0], values[0])
            low = builder.cast("zext" if self.record != low.type else "", low, self.record)
            record = builder.binary("or", builder.binary("shl", high, integer(self.half, self.record)), low)
            builder.store(record, builder.gep(self.record, workspace, loop.index), align=8)

    def line(self, builder: Builder, counting_pass: str, line: Value, workspace: Value) -> None:
        """Sort the line of that number.

        Args:
            builder: where code is emitted.
            counting_pass: the name of the function that does a pass.
            line: the line's number, an i64.
            workspace: the address of the thread's.
        """
        self._load(builder, line, workspace)
        records = [workspace, builder.gep("i8", workspace, integer(self._records_bytes))]
        counts = builder.gep("i8", workspace, integer(2 * self._records_bytes))
        self._count(builder, records[0], counts)
        source, target = records
        for number in range(self.passes):
            of_digit = builder.gep(I32, counts, integer(number << self.digit))
            sorted_ = builder.call(f"@{counting_pass}", PTR, [source, target, of_digit, integer(number * self.digit)])
            # A pass moves nothing where all records have the same digit: then the other buffer is still free.
            has_moved = builder.compare("eq", sorted_, target)
            source, target = sorted_, builder.select(has_moved, source, target)
        self._store(builder, line, source)

    def _count(self, builder: Builder, records: Value, counts: Value) -> None:
        """How often each value of each digit occurs."""
        with builder.loop(integer(0), integer(self._counts_bytes // 64), nonempty=True) as block:
            builder.store(zero("<16 x i32>"), builder.gep("<16 x i32>", counts, block.index), align=64)
        with builder.loop(integer(0), integer(self.lines.length), nonempty=True) as loop:
            record = builder.load(self.record, builder.gep(self.record, records, loop.index), align=8)
            for number in range(self.passes):
                digit = self._digit(builder, record, integer(number * self.digit))
                address = builder.gep(I32, counts, builder.add(digit, integer(number << self.digit)))
                count = builder.load(I32, address, align=4)
                builder.store(builder.add(count, integer(1, I32)), address, align=4)

    def _store(self, builder: Builder, line: Value, records: Value) -> None:
        with builder.loop(integer(0), integer(self.lines.length), nonempty=True) as loop:
            record = builder.load(self.record, builder.gep(self.record, records, loop.index), align=8)
            if self.moves_elements:
                type_ = self.lines.types[0]
                values = [element.from_bits(builder, type_, builder.cast("trunc", record, f"i{type_.bits}"))]
            else:
                number = builder.binary("and", builder.cast("trunc", record, I64), integer(0xFFFFFFFF))
                values = self.lines.load(builder, line, number)
            self.lines.store(builder, line, loop.index, values)
