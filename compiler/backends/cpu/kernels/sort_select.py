"""Sorting no further than is read: where no more is used of a sort than the first few of each line, those are selected.

The best records so far (a key above the element's number, so that no two are equal) are kept in order in one vector.
An element is looked at closer only when it beats the last of them, and a whole block of elements is passed over by one
vectorised comparison when none does, so that nearly all of a line costs no more than reading it.
"""

from __future__ import annotations

from compiler.backends.cpu.kernels.sort_lines import Lines
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import I1, I64, PTR, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.sort_key import SortKey

_BLOCK = 32
_MOST = 64
_KEY_BITS = 32
_READ_NS = 0.3
_INSERT_NS = 20.0


class Selection:
    """The selection of the first `count` of each line by a key."""

    def __init__(self, lines: Lines, key: SortKey, count: int) -> None:
        self.lines = lines
        self.key = key
        self.count = count
        self.lanes = 1 << max(1, (count - 1).bit_length())
        self.vector = f"<{self.lanes} x i64>"

    @staticmethod
    def suits(lines: Lines, key: SortKey, count: int) -> bool:
        """Whether lines can be dealt with in this way."""
        return key.element_type.bits <= _KEY_BITS and 0 < count <= min(_MOST, lines.length // 4)

    @property
    def line_ns(self) -> float:
        """The expected time for a line."""
        inserted = self.count * max(1, (self.lines.length // self.count).bit_length())
        return _READ_NS * self.lines.length + _INSERT_NS * inserted

    @property
    def workspace_bytes(self) -> int:
        """The best records, for one thread."""
        return max(64, 8 * self.lanes)

    def emit(self, module: Module) -> str:
        """`void insert(ptr best, i64 record)`: put a record where it belongs, and drop the last."""
        function = module.function(
            f"{self.lines.kernel.name}.insert", "void", [(PTR, "best"), (I64, "record")], linkage="internal"
        )
        builder = Builder(function)
        best, record = function.arguments
        old = builder.load(self.vector, best, align=8)
        new = builder.broadcast(record, self.lanes)
        shifted = builder.shuffle(old, new, [self.lanes, *range(self.lanes - 1)])
        name = f"v{self.lanes}i64"
        greater = builder.intrinsic(f"umax.{name}", [shifted, new])
        builder.store(builder.intrinsic(f"umin.{name}", [greater, old]), best, align=8)
        builder.ret()
        return function.name

    def line(self, builder: Builder, insert: str, line: Value, best: Value) -> None:
        """Select from the line of that number, with the insert function and the thread's workspace."""
        builder.store(Value(self.vector, "splat (i64 -1)"), best, align=8)
        rolled = keep_rolled(builder.module, scalar=True)
        with builder.loop(integer(0), integer(self.count), name="first", nonempty=True, metadata=rolled) as first:
            builder.call(f"@{insert}", "void", [best, self._record(builder, line, first.index)])
        length = self.lines.length
        start = length - (length - self.count) // _BLOCK * _BLOCK
        self._examine(builder, insert, line, best, (integer(self.count), integer(start)))
        with builder.loop(integer(start), integer(length), step=_BLOCK, name="block") as block:
            limit = builder.cast("trunc", builder.binary("lshr", self._last(builder, best), integer(32)), "i32")
            stop = builder.add(block.index, integer(_BLOCK))
            with builder.loop(block.index, stop, carried=[Value(I1, "false")], name="any", nonempty=True) as each:
                beats = builder.compare("ult", self._key(builder, line, each.index), limit)
                each.carry(builder.binary("or", each.carried[0], beats))
            with builder.when(each.results[0], "some"):
                self._examine(builder, insert, line, best, (block.index, stop))
        rolled = keep_rolled(builder.module, scalar=True)
        with builder.loop(integer(0), integer(self.count), name="result", nonempty=True, metadata=rolled) as result:
            record = builder.load(I64, builder.gep(I64, best, result.index), align=8)
            number = builder.binary("and", record, integer(0xFFFFFFFF))
            self.lines.store(builder, line, result.index, self.lines.load(builder, line, number))

    def _examine(self, builder: Builder, insert: str, line: Value, best: Value, part: tuple[Value, Value]) -> None:
        """Insert those of a part of a line that belong to the best."""
        with builder.loop(*part, name="examine", metadata=keep_rolled(builder.module, scalar=True)) as loop:
            record = self._record(builder, line, loop.index)
            with builder.when(builder.compare("ult", record, self._last(builder, best)), "better"):
                builder.call(f"@{insert}", "void", [best, record])

    def _last(self, builder: Builder, best: Value) -> Value:
        return builder.load(I64, builder.gep(I64, best, integer(self.count - 1)), align=8)

    def _key(self, builder: Builder, line: Value, number: Value) -> Value:
        values = self.lines.load(builder, line, number)
        bits = self.key.bits(builder, self.key.value(Emission(builder), values))
        return builder.cast("zext", bits, "i32")

    def _record(self, builder: Builder, line: Value, number: Value) -> Value:
        key = builder.cast("zext", self._key(builder, line, number), I64)
        return builder.binary("or", builder.binary("shl", key, integer(32)), number)
