"""Cholesky factors by rows of the transposed factor, several at a time.

A row of the transposed factor is the matrix's own less the sum of all rows above, each times one of its elements.  So
the long loop runs over the rows above, and what it computes is a tile: a few rows by a few vectors, kept in registers.
All of it is in f64 in the thread's workspace; the result is rounded once.  Nothing is kept of what lies below the
diagonal: rows come in bands as high as a tile is wide, and those of a band begin where it meets the diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.codegen.llvm_ir import PTR, Builder, Module, Value, floating, integer, zero
from compiler.codegen.triangular import Factorisation, Matrix

_LANES = 8
_VECTOR = f"<{_LANES} x double>"
_ROWS = 4
_FMA_NS = 0.1
_ELEMENT_NS = 1.5
_FLAGS = "contract"


class Factor:
    """The factorisation of one matrix of a kernel's size."""

    def __init__(self, form: Factorisation) -> None:
        self.size = form.size
        self.vectors = 4 if form.size > 2 * _LANES else 1
        self.width = self.vectors * _LANES
        self.stride = -(-form.size // self.width) * self.width
        self.rows = -(-form.size // _ROWS) * _ROWS

    @property
    def workspace_bytes(self) -> int:
        """The transposed factor in f64, for one thread."""
        return 8 * self.elements

    @property
    def elements(self) -> int:
        """How many there are in all bands."""
        bands = self.stride // self.width
        return self.width * self.width * bands * (bands + 1) // 2

    @property
    def work(self) -> float:
        """The expected time for a matrix."""
        return _FMA_NS * self.size**3 / 6 + _ELEMENT_NS * self.size**2

    def emit(self, module: Module, name: str) -> str:
        """`void tile(ptr rows, i64 row, i64 column)`: take from a tile what the rows above it contribute."""
        parameters = [(PTR, "rows"), ("i64", "row"), ("i64", "column")]
        function = module.function(f"{name}.tile", "void", parameters, linkage="internal")
        builder = Builder(function)
        base, row, column = function.arguments
        places = [
            self._at(builder, base, builder.add(row, integer(r)), builder.add(column, integer(v * _LANES)))
            for r in range(_ROWS)
            for v in range(self.vectors)
        ]
        start = [builder.load(_VECTOR, place, align=8) for place in places]
        with builder.loop(integer(0), row, step=self.width, carried=start, name="band") as band:
            end = builder.intrinsic("smin.i64", [builder.add(band.index, integer(self.width)), row])
            with builder.loop(band.index, end, carried=band.carried, name="above") as above:
                line = self._at(builder, base, above.index, integer(0), band.index)
                above.carry(*self._take(builder, line, (row, column), above.carried))
            band.carry(*above.results)
        for place, value in zip(places, band.results, strict=True):
            builder.store(value, place, align=8)
        builder.ret()
        return function.name

    def _take(self, builder: Builder, line: Value, at: tuple[Value, Value], sums: Sequence[Value]) -> list[Value]:
        """The sums of a tile at a row and a column, less what a row above it contributes."""
        row, column = at
        vectors = [
            builder.load(_VECTOR, builder.gep("double", line, builder.add(column, integer(v * _LANES))), align=8)
            for v in range(self.vectors)
        ]
        following = []
        for r in range(_ROWS):
            one = builder.load("double", builder.gep("double", line, builder.add(row, integer(r))), align=8)
            factor = builder.broadcast(one, _LANES)
            mine = sums[r * self.vectors : (r + 1) * self.vectors]
            following += [self._less(builder, *pair) for pair in zip(mine, [factor] * len(mine), vectors, strict=True)]
        return following

    def _less(self, builder: Builder, value: Value, left: Value, right: Value) -> Value:
        return builder.binary("fsub", value, builder.binary("fmul", left, right, _FLAGS), _FLAGS)

    def _at(self, builder: Builder, base: Value, row: Value, column: Value, band: Value | None = None) -> Value:
        """The address of an element; `band` is the first row of the row's band, which is the first column there, too.

        Before a band that begins at `b` there are `b / w` bands of `w` rows, shorter by `w` from one to the next:
        `b stride - b (b - w) / 2` elements.
        """
        if band is None:
            band = builder.binary("and", row, integer(-self.width))
        missing = builder.mul(band, builder.sub(band, integer(self.width)))
        before = builder.sub(builder.mul(band, integer(self.stride)), builder.binary("lshr", missing, integer(1)))
        length = builder.sub(integer(self.stride), band)
        start = builder.add(before, builder.mul(builder.sub(row, band), length))
        return builder.gep("double", base, builder.add(start, builder.sub(column, band)))

    def factorise(self, builder: Builder, tile: str, source: Matrix, target: Matrix, rows: Value) -> Value:
        """Compute a matrix's factor, zeros above it; returns a NaN if one of its pivots is, otherwise 0."""
        self._load(builder, source, rows)
        size, stride = integer(self.size), integer(self.stride)
        with builder.loop(
            integer(0), integer(self.rows), step=_ROWS, carried=[floating(0.0, "double")], name="rows"
        ) as block:
            first = builder.binary("and", block.index, integer(-self.width))
            with builder.loop(first, stride, step=self.width, name="tile") as column:
                builder.call(f"@{tile}", "void", [rows, block.index, column.index])
            end = builder.intrinsic("smin.i64", [builder.add(block.index, integer(_ROWS)), size])
            with builder.loop(block.index, end, carried=list(block.carried), name="row") as row:
                row.carry(builder.binary("fadd", row.carried[0], self._finish(builder, rows, block.index, row.index)))
            block.carry(row.results[0])
        self._store(builder, target, rows)
        return block.results[0]

    def _finish(self, builder: Builder, rows: Value, block: Value, row: Value) -> Value:
        """Take from a row what those of its own block contribute, and divide it by the root of its pivot."""
        size = integer(self.size)
        with builder.loop(block, row, name="beside") as beside:
            factor = builder.load("double", self._at(builder, rows, beside.index, row), align=8)
            with builder.loop(row, size, name="column") as column:
                place = self._at(builder, rows, row, column.index)
                above = builder.load("double", self._at(builder, rows, beside.index, column.index), align=8)
                value = builder.load("double", place, align=8)
                builder.store(self._less(builder, value, factor, above), place, align=8)
        diagonal = self._at(builder, rows, row, row)
        pivot = builder.intrinsic("sqrt.f64", [builder.load("double", diagonal, align=8)])
        builder.store(pivot, diagonal, align=8)
        with builder.loop(builder.add(row, integer(1)), size, name="scale") as column:
            place = self._at(builder, rows, row, column.index)
            builder.store(builder.binary("fdiv", builder.load("double", place, align=8), pivot), place, align=8)
        is_bad = builder.compare("uno", pivot, pivot)
        return builder.select(is_bad, floating(math.nan, "double"), floating(0.0, "double"))

    def _load(self, builder: Builder, source: Matrix, rows: Value) -> None:
        """The lower triangle, transposed; zeros everywhere else."""
        with builder.loop(integer(0), integer(self.elements // _LANES), name="clear") as clear:
            builder.store(zero(_VECTOR), builder.gep(_VECTOR, rows, clear.index), align=8)
        with builder.loop(integer(0), integer(self.size), name="row") as row:
            after = builder.add(row.index, integer(1))
            with builder.loop(integer(0), after, name="column") as column:
                value = source.load(row.index, column.index)
                builder.store(value, self._at(builder, rows, column.index, row.index), align=8)

    def _store(self, builder: Builder, target: Matrix, rows: Value) -> None:
        with builder.loop(integer(0), integer(self.size), name="row") as row:
            after = builder.add(row.index, integer(1))
            with builder.loop(integer(0), after, name="column") as column:
                value = builder.load("double", self._at(builder, rows, column.index, row.index), align=8)
                target.store(row.index, column.index, value)
            with builder.loop(after, integer(self.size), name="zero") as column:
                target.store(row.index, column.index, floating(0.0, "double"))
