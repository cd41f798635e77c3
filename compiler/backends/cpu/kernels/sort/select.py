"""Sorting no further than is read: where no more is used of a sort than the first few of each line, those are selected.

The best records so far (a key above the element's number, so that no two are equal) are kept in order, few in one
vector, many in vectors of which only those behind a new record's place are moved.  An element is looked at closer only
when it beats the last of them, and a whole block of elements is passed over by one vectorised comparison when none
does, so that nearly all of a line costs no more than reading it.
"""

from __future__ import annotations

from compiler.backends.cpu.kernels.sort.lines import Lines
from compiler.backends.cpu.kernels.vectors.lanes import at_lane, in_lane, row_lane
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import I1, I32, I64, Builder, Value, integer
from compiler.codegen.sort_key import SortKey

_BLOCK = 32
"""Elements that are compared with the last of the selected before any is looked at: a word of bits."""
_FEW = 64
"""Elements up to which the selected lie in registers; more are in memory, and found by bisection."""
_STEP = 8
"""Of many records, how many are moved at a time; as many of the least come before the first."""
_KEY_BITS = 32
"""Bits of a key, so that it and a place fit into a record of 64."""
_READ_NS = 0.3
"""Nanoseconds to read an element and to compare it (11-21)."""
_INSERT_NS, _INSERT_AMONG_MANY_NS, _MOVE_NS = 20.0, 12.0, 0.02
"""Nanoseconds to insert among few, which lie in registers, and among many; and for each of many that is moved
(11-22)."""
_SORT_NS = 0.18
"""What an element costs where a whole line is sorted, for each halving of it."""


class Selection:
    """The selection of the first `count` of each line by a key."""

    def __init__(self, lines: Lines, key: SortKey, count: int) -> None:
        self.lines = lines
        self.key = key
        self.count = count
        self.many = count > _FEW
        self.lanes = _STEP if self.many else 1 << max(1, (count - 1).bit_length())
        self.vector = f"<{self.lanes} x i64>"
        self.room = -(-count // self.lanes) * self.lanes
        self.head = _STEP if self.many else 0

    @staticmethod
    def suits(lines: Lines, key: SortKey, count: int) -> bool:
        """Whether lines can be dealt with in this way, and not sorted faster.

        Args:
            lines: what is sorted.
            key: what the order is decided by.
            count: elements of a line that anybody reads, the first ones.
        """
        if key.element_type.bits > _KEY_BITS or not 0 < count <= lines.length // 4:
            return False
        # A single line would be sorted by several threads.
        whole_ns = _SORT_NS * lines.length * lines.length.bit_length() / (2 if lines.count == 1 else 1)
        return count <= _FEW or Selection(lines, key, count).line_ns < whole_ns

    @property
    def line_ns(self) -> float:
        """The expected time for a line."""
        inserted = self.count * max(1, (self.lines.length // self.count).bit_length())
        each = _INSERT_AMONG_MANY_NS + _MOVE_NS * self.room if self.many else _INSERT_NS
        return _READ_NS * self.lines.length + each * inserted

    @property
    def workspace_bytes(self) -> int:
        """The best records, for one thread."""
        return max(64, 8 * (self.head + self.room))

    def _insert(self, builder: Builder, best: Value, record: Value) -> None:
        """Put a record where it belongs, and drop the last."""
        new = builder.broadcast(record, self.lanes)
        if self.many:
            self._insert_among_many(builder, best, new, record)
            return
        old = builder.load(self.vector, best, align=8)
        shifted = builder.shuffle(old, new, [self.lanes, *range(self.lanes - 1)])
        builder.store(self._pushed(builder, shifted, new, old), best, align=8)

    def _pushed(self, builder: Builder, before: Value, new: Value, old: Value) -> Value:
        """What comes where records were, given those before them: the new one at its place, and others one further."""
        return builder.umin(builder.overloaded("umax", [before, new]), old)

    def _insert_among_many(self, builder: Builder, best: Value, new: Value, record: Value) -> None:
        """From the last vector to the one that the record belongs into."""
        header, done = builder.new_label("push"), builder.new_label("push.end")
        start = builder.block
        builder.branch(header)
        builder.begin(header)
        (position,) = builder.placeholders(I64, 1)
        address = builder.gep(I64, best, position)
        before = builder.load(self.vector, builder.gep(I64, address, integer(-1)), align=8)
        pushed = self._pushed(builder, before, new, builder.load(self.vector, address, align=8))
        builder.store(pushed, address, align=8)
        following = builder.sub(position, integer(_STEP))
        builder.fill(position, [(integer(self.room - _STEP), start), (following, header)])
        # What comes before the first is less than any record.
        builder.branch_if(builder.compare("ugt", builder.extract(before, 0), record), header, done)
        builder.begin(done)

    def _clear(self, builder: Builder, best: Value) -> None:
        """No record yet."""
        if self.many:
            builder.store(Value(self.vector, "zeroinitializer"), builder.gep(I64, best, integer(-_STEP)), align=8)
        with builder.loop(integer(0), integer(self.room), step=self.lanes, name="clear", nonempty=True) as loop:
            builder.store(Value(self.vector, "splat (i64 -1)"), builder.gep(I64, best, loop.index), align=8)

    def line(self, builder: Builder, line: Value, best: Value) -> None:
        """Select from the line of that number with the thread's workspace.

        Args:
            builder: where code is emitted.
            line: the line's number, an i64.
            best: the address of the thread's workspace.
        """
        best = builder.gep(I64, best, integer(self.head))
        self._clear(builder, best)
        length = self.lines.length
        start = length - (length - self.count) // _BLOCK * _BLOCK
        with builder.loop(integer(0), integer(start), name="first", nonempty=True, scalar=True) as first:
            self._examine(builder, line, best, first.index)
        with builder.loop(integer(start), integer(length), step=_BLOCK, name="block", scalar=True) as block:
            limit = builder.cast("trunc", builder.binary("lshr", self._last(builder, best), integer(_KEY_BITS)), I32)
            word = self._better(builder, line, block.index, limit)
            count = builder.cast("zext", builder.overloaded("ctpop", [word]), I64)
            with builder.loop(integer(0), count, carried=[word], name="better", scalar=True) as each:
                (left,) = each.carried
                lowest = builder.overloaded("cttz", [left, Value(I1, "true")])
                self._examine(builder, line, best, builder.add(block.index, builder.cast("zext", lowest, I64)))
                each.carry(builder.binary("and", left, builder.binary("sub", left, integer(1, I32))))
        with builder.loop(integer(0), integer(self.count), name="result", nonempty=True, scalar=True) as result:
            record = builder.load(I64, builder.gep(I64, best, result.index), align=8)
            number = builder.binary("and", record, integer(0xFFFFFFFF))
            self.lines.store(builder, line, result.index, self.lines.load(builder, line, number))

    def _better(self, builder: Builder, line: Value, first: Value, limit: Value) -> Value:
        """Which elements of a block have a lesser key than the limit, as bits of a word, the first one's lowest."""
        if self.lines.has_lanes(self.key):
            emission = Emission(builder)
            lane = row_lane(emission, first, _BLOCK, self.lines.length)
            with in_lane(emission, lane):
                keys = self._keys(emission, line, at_lane(lane))
            is_less = builder.compare("ult", keys, limit)
            if is_less.type == I1:  # of a line whose elements are all alike
                return builder.cast("sext", is_less, I32)
            return builder.emit(I32, f"bitcast {is_less} to {I32}")
        with builder.loop(
            integer(0), integer(_BLOCK), carried=[integer(0, I32)], name="each", nonempty=True, scalar=True
        ) as each:
            is_less = builder.compare("ult", self._key(builder, line, builder.add(first, each.index)), limit)
            bit = builder.binary("shl", builder.cast("zext", is_less, I32), builder.cast("trunc", each.index, I32))
            each.carry(builder.binary("or", each.carried[0], bit))
        return each.results[0]

    def _examine(self, builder: Builder, line: Value, best: Value, number: Value) -> None:
        """Insert the element of that number, if it belongs to the best."""
        record = self._record(builder, line, number)
        with builder.when(builder.compare("ult", record, self._last(builder, best)), "better"):
            self._insert(builder, best, record)

    def _last(self, builder: Builder, best: Value) -> Value:
        return builder.load(I64, builder.gep(I64, best, integer(self.count - 1)), align=8)

    def _key(self, builder: Builder, line: Value, number: Value) -> Value:
        emission = Emission(builder)
        return self._keys(emission, line, emission.opaque(number, self.lines.length))

    def _keys(self, emission: Emission, line: Value, number: Index) -> Value:
        value = self.key.value(emission, self.lines.keyed(emission, line, number, self.key))
        return emission.builder.cast("zext", self.key.bits(emission.builder, value), I32)

    def _record(self, builder: Builder, line: Value, number: Value) -> Value:
        key = builder.cast("zext", self._key(builder, line, number), I64)
        return builder.binary("or", builder.binary("shl", key, integer(_KEY_BITS)), number)
