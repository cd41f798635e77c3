"""LU with partial pivoting, blocked: LAPACK's getrf.

The first panel takes the columns that are left over, so that in a square matrix everything behind it is whole strips
and whole tiles.  Pivots are those of the unblocked algorithm but for rounding: NaN is as great as infinity, and a
column of zeros is passed over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES, PANEL, Factors, Tiles
from compiler.codegen.llvm_ir import (
    I32,
    I64,
    PTR,
    Builder,
    Value,
    floating,
    integer,
    keep_rolled,
    vector_type,
    zero,
)


@dataclass(frozen=True, slots=True)
class Lu:
    """The factorisation of a matrix of `rows` x `columns`."""

    tiles: Tiles
    rows: int
    columns: int

    @property
    def pitch(self) -> int:
        """From column to column of a panel."""
        return self.tiles.pitch(self.rows)

    @property
    def steps(self) -> int:
        """The number of pivots."""
        return min(self.rows, self.columns)

    @property
    def first(self) -> int:
        """Columns of the first panel."""
        return self.steps % PANEL or min(PANEL, self.steps)

    @property
    def strip_rows(self) -> int:
        """Rows of a strip beside a panel, in whole tiles."""
        return PANEL + self.tiles.rows

    @property
    def workspace_elements(self) -> int:
        """A panel and a strip."""
        return (PANEL + 1) * self.pitch + self.strip_rows * self.tiles.width

    def emit(self) -> str:
        """`void NAME(ptr matrix, ptr pivots, ptr info, ptr workspace)`: factor a matrix where it lies."""
        t = self.tiles
        panel, turn, swap = self._panel(), t.turn(), self._swap()
        strips = {width: self._strip(width) for width in t.strips(self.columns - self.first) if width}
        parameters = [(PTR, "matrix"), (PTR, "pivots"), (PTR, "info"), (PTR, "workspace")]
        function = t.module.function(f"{t.name}.lu", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, pivots, info, work = function.arguments
        b = Builder(function)
        b.store(integer(0, I32), info)
        sides = b.gep(t.type, work, integer((PANEL + 1) * self.pitch))
        blocks = 1 + (self.steps - self.first) // PANEL
        with b.loop(integer(0), integer(blocks), name="panel", nonempty=True, scalar=True) as block:
            is_first = b.compare("eq", block.index, integer(0))
            start = b.add(b.mul(block.index, integer(PANEL)), integer(self.first - PANEL))
            start = b.select(is_first, integer(0), start)
            width = b.select(is_first, integer(self.first), integer(PANEL))
            height = b.sub(integer(self.rows), start)
            corner = t.at(b, matrix, (start, self.columns + 1))
            pitch, stride = integer(self.pitch), integer(self.columns)
            b.call(turn, "void", [corner, stride, work, pitch, height, width])
            with b.loop(integer(0), width, name="pad", nonempty=True, scalar=True) as column:
                t.store(b, zero(t.vector), b.gep(t.type, t.at(b, work, (column.index, self.pitch)), height))
            b.call(panel, "void", [work, b.gep(I32, pivots, start), info, height, width, start])
            b.call(turn, "void", [work, pitch, corner, stride, width, height])
            behind = b.add(start, width)
            self._swap_rows(b, swap, (matrix, pivots), (start, behind))
            address = t.at(b, matrix, (start, self.columns))
            for columns, strip in strips.items():
                whole = columns == t.width
                left = (self.columns - self.first) % t.width
                stop = integer(self.columns - left) if whole else integer(self.columns)
                begin = behind if whole else integer(self.columns - left)
                with b.loop(begin, stop, step=t.width, name="strip", scalar=True) as column:
                    below = b.sub(height, width)
                    b.call(strip, "void", [b.gep(t.type, address, column.index), work, sides, below, width])
        b.ret()
        return f"@{function.name}"

    def _swap_rows(self, b: Builder, swap: str, given: tuple[Value, Value], panel: tuple[Value, Value]) -> None:
        """What the panel's pivots exchange, left and right of it."""
        t, (matrix, pivots), (start, behind) = self.tiles, given, panel
        with b.loop(start, behind, name="swap", nonempty=True, scalar=True) as row:
            pivot = b.load(I32, b.gep(I32, pivots, row.index))
            other = b.sub(b.cast("sext", pivot, I64), integer(1))
            with b.when(b.compare("ne", other, row.index), "moved"):
                addresses = [t.at(b, matrix, (number, self.columns)) for number in (row.index, other)]
                b.call(swap, "void", [*addresses, start])
                right = b.sub(integer(self.columns), behind)
                b.call(swap, "void", [*(b.gep(t.type, address, behind) for address in addresses), right])

    def _swap(self) -> str:
        """`void NAME(ptr one, ptr other, i64 count)`: exchange elements."""
        t = self.tiles
        parameters = [(f"{PTR} noalias", "one"), (f"{PTR} noalias", "other"), (I64, "count")]
        function = t.module.function(f"{t.name}.swap", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        one, other, count = function.arguments
        b = Builder(function)
        whole = b.binary("and", count, integer(-t.lanes))
        for first, stop, step, type_ in ((integer(0), whole, t.lanes, t.vector), (whole, count, 1, t.type)):
            metadata = keep_rolled(t.module, scalar=True)
            with b.loop(first, stop, step=step, name="swap", scalar=True, metadata=metadata) as at:
                addresses = [b.gep(t.type, base, at.index) for base in (one, other)]
                values = [b.load(type_, address, align=t.bytes) for address in addresses]
                for address, value in zip(addresses, reversed(values), strict=True):
                    b.store(value, address, align=t.bytes)
        b.ret()
        return f"@{function.name}"

    def _strip(self, columns: int) -> str:
        """`void NAME(ptr strip, ptr panel, ptr sides, i64 below, i64 width)`: a panel applied to a strip beside it."""
        t = self.tiles
        beside = t.product(Factors(1, self.pitch, t.width), t.width)
        under = t.product(Factors(1, self.pitch, self.columns), columns)
        triangle = t.triangle(t.rows, (1, self.pitch), lower=True, unit=True)
        parameters = [(PTR, "strip"), (PTR, "panel"), (PTR, "sides"), (I64, "below"), (I64, "width")]
        name = f"{t.name}.strip.{columns}"
        function = t.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        strip, panel, sides, below, width = function.arguments
        b = Builder(function)
        t.copy_rows(b, (width, columns), (strip, self.columns), (sides, t.width))
        with b.loop(integer(0), width, step=t.rows, name="group", nonempty=True, scalar=True) as group:
            lines, left = t.at(b, sides, (group.index, t.width)), b.gep(t.type, panel, group.index)
            with b.when(b.compare("ne", group.index, integer(0)), "known"):
                b.call(beside, "void", [left, sides, lines, integer(t.rows), group.index])
            b.call(triangle, "void", [t.at(b, left, (group.index, self.pitch)), lines])
        t.put_negated(b, (width, columns), (sides, t.width), (strip, self.columns))
        address = t.at(b, strip, (width, self.columns))
        b.call(under, "void", [b.gep(t.type, panel, width), sides, address, below, width])
        b.ret()
        return f"@{function.name}"

    def _panel(self) -> str:
        """`void NAME(ptr panel, ptr pivots, ptr info, i64 height, i64 width, i64 start)`: factor a panel."""
        t = self.tiles
        largest = self._largest()
        parameters = [(PTR, "panel"), (PTR, "pivots"), (PTR, "info"), *((I64, n) for n in ("height", "width", "start"))]
        function = t.module.function(f"{t.name}.panel", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        panel, pivots, info, height, width, start = function.arguments
        b = Builder(function)
        with b.loop(integer(0), width, name="column", nonempty=True, scalar=True) as step:
            column, below = t.at(b, panel, (step.index, self.pitch)), b.add(step.index, integer(1))
            chosen = b.call(largest, I64, [column, step.index, height])
            number = b.add(b.add(chosen, start), integer(1))
            b.store(b.cast("trunc", number, I32), b.gep(I32, pivots, step.index))
            metadata = keep_rolled(t.module, scalar=True)
            with b.loop(integer(0), width, name="swap", nonempty=True, scalar=True, metadata=metadata) as at:
                line = t.at(b, panel, (at.index, self.pitch))
                addresses = [b.gep(t.type, line, row) for row in (step.index, chosen)]
                values = [b.load(t.type, address) for address in addresses]
                for address, value in zip(addresses, reversed(values), strict=True):
                    b.store(value, address)
            pivot = b.load(t.type, b.gep(t.type, column, step.index))
            is_zero = b.compare("oeq", pivot, floating(0.0, t.type))
            with b.when(is_zero, "singular"):
                before = b.load(I32, info)
                failed = b.cast("trunc", b.add(b.add(step.index, start), integer(1)), I32)
                b.store(b.select(b.compare("eq", before, integer(0, I32)), failed, before), info)
            with b.when(b.binary("xor", is_zero, Value("i1", "true")), "eliminate"):
                divisor = b.broadcast(pivot, t.lanes)
                with b.loop(below, height, step=t.lanes, name="scale", metadata=keep_rolled(t.module)) as row:
                    address = b.gep(t.type, column, row.index)
                    t.store(b, b.binary("fdiv", t.load(b, address), divisor), address)
                heads = b.gep(t.type, panel, step.index), self.pitch
                t.take_from_others(b, column, (panel, self.pitch), heads, (below, width, height))
        b.ret()
        return f"@{function.name}"

    def _largest(self) -> str:
        """`i64 NAME(ptr column, i64 first, i64 stop)`: where the greatest magnitude is first; `first` if all are 0."""
        t = self.tiles
        parameters = [(PTR, "column"), (I64, "first"), (I64, "stop")]
        function = t.module.function(f"{t.name}.largest", I64, parameters, linkage="internal", attributes=ATTRIBUTES)
        column, first, stop = function.arguments
        b, infinity = Builder(function), floating(math.inf, t.vector)
        numbers = vector_type(I32, t.lanes)
        counted = Value(numbers, "<" + ", ".join(f"i32 {lane}" for lane in range(t.lanes)) + ">")
        start = b.broadcast(b.cast("trunc", first, I32), t.lanes)
        carried = [zero(t.vector), start, b.binary("add", start, counted)]
        with b.loop(first, stop, step=t.lanes, carried=carried, name="rows", nonempty=True) as row:
            best, where, here = row.carried
            size = b.overloaded("fabs", [t.load(b, b.gep(t.type, column, row.index))])
            size = b.select(b.compare("olt", size, infinity), size, infinity)
            larger = b.compare("ogt", size, best)
            following = b.binary("add", here, integer(t.lanes, numbers))
            row.carry(b.select(larger, size, best), b.select(larger, here, where), following)
        best, where, _ = row.results
        most = b.overloaded("vector.reduce.fmax", [best], result=t.type)
        is_most = b.compare("oeq", best, b.broadcast(most, t.lanes))
        candidates = b.select(is_most, where, integer(2**31 - 1, numbers))
        chosen = b.overloaded("vector.reduce.smin", [candidates], result=I32)
        b.ret(b.cast("sext", chosen, I64))
        return f"@{function.name}"
