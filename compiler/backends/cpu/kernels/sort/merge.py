"""Sorting a line by merging: bottom up, stable, by any comparator.

A line is copied into the thread's own workspace, merged back and forth between two halves of it, and stored.  A merge
step is free of branches: both candidates are loaded, the comparator decides, and one is stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.backends.cpu.kernels.sort.lines import Lines
from compiler.codegen import element, elemental
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import I1, I64, PTR, Builder, Module, Value, integer
from compiler.codegen.workspace import whole_lines

_COMPARISON_NS = 4.0
"""Nanoseconds for each comparison and move on one core."""


class Merging:
    """The merge sort of a kernel's lines."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.sizes = [whole_lines(type_.size_bytes * lines.length) for type_ in lines.types]

    @property
    def workspace_bytes(self) -> int:
        """Two copies of a line, for one thread."""
        return 2 * sum(self.sizes)

    @property
    def line_ns(self) -> float:
        """The expected time for a line."""
        return _COMPARISON_NS * self.lines.length * max(1, math.ceil(math.log2(max(2, self.lines.length))))

    def emit(self, module: Module) -> str:
        """`void merge(from..., to..., i64 width)`: merge all pairs of neighbouring runs of that width."""
        count = len(self.lines.types)
        names = [*(f"from{n}" for n in range(count)), *(f"to{n}" for n in range(count))]
        parameters = [*((f"{PTR} noalias", name) for name in names), (I64, "width")]
        function = module.function(f"{self.lines.kernel.name}.merge", "void", parameters, linkage="internal")
        builder = Builder(function)
        *pointers, width = function.arguments
        length, double = integer(self.lines.length), builder.binary("shl", width, integer(1))
        pairs = builder.binary("udiv", builder.add(length, builder.sub(double, integer(1))), double)
        with builder.loop(integer(0), pairs, name="pair", nonempty=True) as pair:
            start = builder.mul(pair.index, double)
            middle = builder.smin(builder.add(start, width), length)
            end = builder.smin(builder.add(start, double), length)
            with builder.loop(start, end, carried=[start, middle], name="merge", nonempty=True) as step:
                left, right = step.carried
                takes_right = self._take(builder, pointers, step.index, (left, middle), (right, end))
                taken = builder.cast("zext", takes_right, I64)
                kept = builder.sub(integer(1), taken)
                step.carry(builder.add(left, kept), builder.add(right, taken))
        builder.ret()
        return function.name

    def line(self, builder: Builder, merge: str, line: Value, workspace: Value) -> None:
        """Sort the line of that number, with the merge function and the thread's workspace.

        Args:
            builder: where code is emitted.
            merge: the merge function's name, without its `@`.
            line: the line's number, an i64.
            workspace: the address of the thread's.
        """
        halves = self._halves(builder, workspace)
        self._load(builder, line, halves[0])
        width, side = 1, 0
        while width < self.lines.length:
            builder.call(f"@{merge}", "void", [*halves[side], *halves[1 - side], integer(width)])
            width, side = 2 * width, 1 - side
        self._store(builder, line, halves[side])

    def _halves(self, builder: Builder, base: Value) -> tuple[list[Value], list[Value]]:
        offset = 0
        halves: tuple[list[Value], list[Value]] = [], []
        for half in halves:
            for size in self.sizes:
                half.append(builder.gep("i8", base, integer(offset)))
                offset += size
        return halves

    def _load(self, builder: Builder, line: Value, target: Sequence[Value]) -> None:
        with builder.loop(integer(0), integer(self.lines.length), nonempty=True) as loop:
            values = self.lines.load(builder, line, loop.index)
            for type_, value, pointer in zip(self.lines.types, values, target, strict=True):
                element.store(builder, type_, value, builder.gep(element.storage_type(type_), pointer, loop.index))

    def _store(self, builder: Builder, line: Value, source: Sequence[Value]) -> None:
        with builder.loop(integer(0), integer(self.lines.length), nonempty=True) as loop:
            elements = self._elements(builder, source, loop.index)
            self.lines.store(builder, line, loop.index, elements)

    def _elements(self, builder: Builder, source: Sequence[Value], at: Value) -> list[Value]:
        return [
            element.load(builder, type_, builder.gep(element.storage_type(type_), pointer, at))
            for type_, pointer in zip(self.lines.types, source, strict=True)
        ]

    def _take(
        self,
        builder: Builder,
        pointers: Sequence[Value],
        to: Value,
        left: tuple[Value, Value],
        right: tuple[Value, Value],
    ) -> Value:
        """Store the lesser of the two runs' next elements; the left one unless the right one goes strictly before."""
        types = self.lines.types
        count = len(types)
        present = [builder.compare("slt", position, end) for position, end in (left, right)]
        positions = [
            builder.select(has, position, to) for has, (position, _) in zip(present, (left, right), strict=True)
        ]
        candidates = [self._elements(builder, pointers[:count], chosen) for chosen in positions]
        values = [value for pair in zip(candidates[1], candidates[0], strict=True) for value in pair]
        (before,) = elemental.apply(Emission(builder), self.lines.sort.attributes["to_apply"], values)
        left_over = builder.binary("xor", present[0], Value(I1, "true"))
        takes_right = builder.binary("and", present[1], builder.binary("or", left_over, before))
        for type_, pointer, l_value, r_value in zip(types, pointers[count:], *candidates, strict=True):
            address = builder.gep(element.storage_type(type_), pointer, to)
            element.store(builder, type_, builder.select(takes_right, r_value, l_value), address)
        return takes_right
