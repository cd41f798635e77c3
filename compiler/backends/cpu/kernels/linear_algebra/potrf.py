"""Cholesky factors, blocked: panels of columns, and register tiles for what each takes from the rest.

As in LU (`lu`) a panel is kept transposed and the first takes the columns that are left over; but there are no
pivots to look for, and only strips from the diagonal down are changed.  What lies above it is swept away in the end.
Half precision is factored in f32 and rounded once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES, PANEL, Factors, Tiles
from compiler.codegen.llvm_ir import I64, PTR, Builder, Value, floating, integer, keep_rolled, zero
from compiler.codegen.triangular import Factorisation, Matrix, pivot_root
from compiler.codegen.workspace import whole_lines
from compiler.ir.types import F32, F64

_FMA_NS = 0.01
"""Nanoseconds of a multiply-add in tiles: 100 a nanosecond, three quarters of what `codegen.cost` takes products to
reach (11-22)."""
_ELEMENT_NS = 0.5
"""Nanoseconds for each element outside of the tiles: panels, copies (11-22)."""


@dataclass(frozen=True, slots=True)
class Potrf:
    """The factorisation of one matrix of a kernel's size."""

    form: Factorisation
    tiles: Tiles

    @property
    def size(self) -> int:
        """The rows, and columns, of a matrix."""
        return self.form.size

    @property
    def pitch(self) -> int:
        """From column to column of a panel."""
        return self.tiles.pitch(self.size)

    @property
    def first(self) -> int:
        """Columns of the first panel."""
        return self.size % PANEL or PANEL

    @property
    def is_native(self) -> bool:
        """Whether the matrix's elements are what is calculated in."""
        return self.form.element_type in (F32, F64)

    @property
    def in_place(self) -> bool:
        """Whether a factor is made where it will lie."""
        return self.form.is_lower and self.is_native

    @property
    def _matrix_elements(self) -> int:
        return 0 if self.in_place else -(-self.size * self.size // 16) * 16

    @property
    def workspace_bytes(self) -> int:
        """The matrix where it is not made in place, a panel and a strip, for one thread."""
        elements = self._matrix_elements + (PANEL + 1) * self.pitch + PANEL * self.tiles.width
        return whole_lines(elements * self.tiles.bytes)

    @property
    def work(self) -> float:
        """The expected time for a matrix."""
        return _FMA_NS * self.size**3 / 3 + _ELEMENT_NS * self.size**2

    def factorise(self, b: Builder, factor: str, pair: tuple[Matrix, Matrix], work: Value) -> Value:
        """Compute a matrix's factor by the function `factor`, zeros above it; NaN if a pivot is, otherwise 0.

        A lower triangle is factored where the factor will lie. The workspace holds the transpose of an upper one, and
        f32 of narrower types.

        Args:
            b: where code is emitted.
            factor: the function's name, with its `@`.
            pair: the matrix that is given, and the one that becomes its factor.
            work: the address of workspace.
        """
        t, size, (source, target) = self.tiles, integer(self.size), pair
        given, wanted = (matrix.address(integer(0), integer(0)) for matrix in pair)
        matrix = wanted if self.in_place else work
        if self.in_place:
            b.copy_bytes(given, matrix, integer(self.size * self.size * t.bytes))
        elif self.is_native:
            b.call(t.turn(), "void", [given, size, matrix, size, size, size])
        else:
            self._copy(b, source, self._of(b, matrix))
        failed = b.call(factor, t.type, [matrix, b.gep(t.type, work, integer(self._matrix_elements))])
        self._clear_above(b, matrix)
        if self.is_native and not self.in_place:
            b.call(t.turn(), "void", [matrix, size, wanted, size, size, size])
        elif not self.is_native:
            self._copy(b, self._of(b, matrix), target)
        return failed

    def _of(self, b: Builder, base: Value) -> Matrix:
        """The matrix in the workspace."""
        element_type = F32 if self.tiles.type == "float" else F64
        return Matrix(b, element_type, lambda row, column: self.tiles.at(b, base, (row, self.size), (column, 1)))

    def _copy(self, b: Builder, source: Matrix, target: Matrix) -> None:
        size = integer(self.size)
        with b.loop(integer(0), size, name="row") as row, b.loop(integer(0), size, name="column") as column:
            target.store(row.index, column.index, source.load(row.index, column.index))

    def _clear_above(self, b: Builder, matrix: Value) -> None:
        t = self.tiles
        with b.loop(integer(0), integer(self.size), name="row", scalar=True, metadata=keep_rolled(t.module)) as row:
            after = b.add(row.index, integer(1))
            length = b.mul(b.sub(integer(self.size), after), integer(t.bytes))
            address = t.at(b, matrix, (row.index, self.size), (after, 1))
            b.clear_bytes(address, length)

    def emit(self) -> str:
        """`T NAME(ptr matrix, ptr work)`: the factor of a lower triangle where it lies; NaN if a pivot is, or 0."""
        t, size = self.tiles, integer(self.size)
        panel, turn = self._panel(), t.turn()
        product = t.product(Factors(1, self.pitch, self.size), t.width) if self.size > self.first else ""
        name = f"{t.name}.factor"
        parameters = [(PTR, "matrix"), (PTR, "work")]
        function = t.module.function(name, t.type, parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, work = function.arguments
        b = Builder(function)
        strip, pitch = b.gep(t.type, work, integer((PANEL + 1) * self.pitch)), integer(self.pitch)
        blocks, start_ = integer(1 + (self.size - self.first) // PANEL), [floating(0.0, t.type)]
        with b.loop(integer(0), blocks, carried=start_, name="panel", nonempty=True, scalar=True) as block:
            is_first = b.compare("eq", block.index, integer(0))
            start = b.add(b.mul(block.index, integer(PANEL)), integer(self.first - PANEL))
            start = b.select(is_first, integer(0), start)
            width = b.select(is_first, integer(self.first), integer(PANEL))
            height, corner = b.sub(size, start), t.at(b, matrix, (start, self.size + 1))
            b.call(turn, "void", [corner, size, work, pitch, height, width])
            with b.loop(integer(0), width, name="pad", nonempty=True, scalar=True) as column:
                t.store(b, zero(t.vector), t.at(b, work, (column.index, self.pitch), (height, 1)))
            failed = b.call(panel, t.type, [work, height, width])
            b.call(turn, "void", [work, pitch, corner, size, width, height])
            with b.loop(b.add(start, width), size, step=t.width, name="strip", scalar=True) as column:
                given = b.gep(t.type, work, b.sub(column.index, start))
                t.put_negated(b, (width, t.width), (given, self.pitch), (strip, t.width))
                address = t.at(b, matrix, (column.index, self.size + 1))
                if product:
                    b.call(product, "void", [given, strip, address, b.sub(size, column.index), width])
            block.carry(b.binary("fadd", block.carried[0], failed))
        b.ret(block.results[0])
        return f"@{function.name}"

    def _panel(self) -> str:
        """`T NAME(ptr panel, i64 height, i64 width)`: factor a panel; NaN if a pivot is, otherwise 0."""
        t = self.tiles
        parameters = [(PTR, "panel"), (I64, "height"), (I64, "width")]
        function = t.module.function(f"{t.name}.panel", t.type, parameters, linkage="internal", attributes=ATTRIBUTES)
        panel, height, width = function.arguments
        b, nan, good = Builder(function), floating(math.nan, t.type), floating(0.0, t.type)
        with b.loop(integer(0), width, carried=[good], name="column", nonempty=True, scalar=True) as step:
            at, below = step.index, b.add(step.index, integer(1))
            column = t.at(b, panel, (at, self.pitch))
            address = b.gep(t.type, column, at)
            pivot = pivot_root(b, b.load(t.type, address))
            b.store(pivot, address)
            divisor = b.broadcast(pivot, t.lanes)
            with b.loop(below, height, step=t.lanes, name="scale", metadata=keep_rolled(t.module)) as row:
                here = b.gep(t.type, column, row.index)
                t.store(b, b.binary("fdiv", t.load(b, here), divisor), here)
            t.take_from_others(b, column, (panel, self.pitch), (column, 1), (below, width, height))
            bad = b.select(b.compare("uno", pivot, pivot), nan, good)
            step.carry(b.binary("fadd", step.carried[0], bad))
        b.ret(step.results[0])
        return f"@{function.name}"
