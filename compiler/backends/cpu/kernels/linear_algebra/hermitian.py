"""Eigenvalues and vectors of Hermitian matrices: LAPACK's heevd.

As of symmetric matrices (`eigen`), but for the reduction, which is that of general ones (`hessenberg`):
what it leaves beside the diagonal is real, so that real rotations turn the rows of the product of its reflections, real
and imaginary parts alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.backends.cpu.kernels.linear_algebra.hessenberg import Hessenberg
from compiler.backends.cpu.kernels.linear_algebra.implicit import Implicit
from compiler.backends.cpu.kernels.linear_algebra.numbers import Numbers
from compiler.backends.cpu.kernels.linear_algebra.ormqr import Ormqr
from compiler.backends.cpu.kernels.linear_algebra.spectral import DOUBLE, of_numbers, ranked
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES
from compiler.codegen.llvm_ir import I32, PTR, Builder, Value, floating, integer
from compiler.codegen.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Hermitian:
    """The decomposition of matrices of `numbers.length` rows of which one triangle is given."""

    numbers: Numbers
    lower: bool
    vectors: bool

    @property
    def _reduction(self) -> Hessenberg:
        return Hessenberg(self.numbers)

    @property
    def _product(self) -> Ormqr:
        size = self.numbers.length
        return Ormqr(self.numbers, size, size, max(1, size - 1), grows=True, offset=1)

    @property
    def _iteration(self) -> Implicit:
        return Implicit(self.numbers.tiles, self.numbers.length, self.numbers.row if self.vectors else 0)

    @property
    def _workspace(self) -> Workspace:
        n, iteration = self.numbers, self._iteration
        size, bytes_ = n.length, n.tiles.bytes
        pairs, steps, counts = iteration.note_bytes
        regions = {
            "matrix": size * n.row * bytes_,
            "factors": n.row * bytes_,
            "buffers": max(self._reduction.work_elements, self._product.work_elements) * bytes_,
            "diagonal": (size + 1) * 8,
            "beside": (size + 1) * 8,
            "pairs": pairs,
            "steps": steps,
            "counts": counts,
        }
        if self.vectors:
            # Rows are turned in whole groups of vectors.
            regions |= {"product": size * n.row * bytes_, "rows": (size * iteration.pitch + 4 * n.tiles.lanes) * bytes_}
        return Workspace(regions)

    @property
    def workspace_elements(self) -> int:
        """Elements of all regions of the workspace."""
        return self._workspace.size_bytes // self.numbers.tiles.bytes

    def emit(self) -> str:
        """`void NAME(ptr source, ptr vectors, ptr values, ptr info, ptr workspace)`."""
        n = self.numbers
        t, size = n.tiles, n.length
        whole, implicit = self._whole(), self._iteration.emit()
        reduce, product = self._reduction.emit(), self._product.emit() if self.vectors else ""
        parameters = [(PTR, name) for name in ("source", "vectors", "values", "info", "workspace")]
        function = t.module.function(f"{t.name}.eigen", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        source, vectors, values, info, work = function.arguments
        b = Builder(function)
        regions = self._workspace.regions(b, work)
        largest = b.call(whole, t.type, [source, regions["matrix"]])
        with of_numbers(b, t, largest, [(vectors, n.components * size * size), (values, size)], (info, size)) as by:
            n.scale_rows(b, regions["matrix"], size, b.binary("fdiv", floating(1.0, t.type), by))
            b.call(reduce, "void", [regions[name] for name in ("matrix", "factors", "buffers")])
            self._widen(b, regions)
            if self.vectors:
                self._product.identity(b, regions["product"])
                b.clear_bytes(regions["rows"], integer(self._workspace.bytes_of("rows")))
                b.call(product, "void", [regions[name] for name in ("matrix", "factors", "product", "buffers")])
                n.turn(b, (regions["product"], n.row), (regions["rows"], self._iteration.pitch))
            names = ("diagonal", "beside", "rows" if self.vectors else "counts", "pairs", "steps", "counts")
            b.store(b.call(implicit, I32, [regions[name] for name in names]), info)
            self._sort(b, regions, (vectors, values), by)
        b.ret()
        return f"@{function.name}"

    def _whole(self) -> str:
        """`T NAME(ptr source, ptr matrix)`: both triangles; the greatest magnitude of a component, NaN as infinity."""
        n = self.numbers
        t, size = n.tiles, integer(n.length)
        parameters = [(PTR, "source"), (PTR, "matrix")]
        function = t.module.function(f"{t.name}.whole", t.type, parameters, linkage="internal", attributes=ATTRIBUTES)
        source, matrix = function.arguments
        b = Builder(function)
        n.split(b, source, matrix, (n.length, n.length))
        with b.loop(integer(0), size, name="row", nonempty=True, scalar=True) as row:
            line = n.at(b, matrix, row.index)
            n.put(b, n.element(b, line, row.index)[:1], line, row.index)
            with b.loop(b.add(row.index, integer(1)), size, name="column", scalar=True) as column:
                other = n.at(b, matrix, column.index)
                positions = (line, column.index), (other, row.index)
                given, wanted = reversed(positions) if self.lower else positions
                n.put(b, n.conjugate(b, n.element(b, *given)), *wanted)
        b.ret(n.greatest(b, matrix, n.length))
        return f"@{function.name}"

    def _widen(self, b: Builder, regions: dict[str, Value]) -> None:
        """Both diagonals, in f64."""
        n = self.numbers
        for name, below in (("diagonal", 0), ("beside", 1)):
            with b.loop(integer(0), integer(n.length - below), name="widen", scalar=True) as at:
                row = n.at(b, regions["matrix"], b.add(at.index, integer(below)))
                value = n.element(b, row, at.index)[0]
                b.store(b.cast("fpext", value, DOUBLE), b.gep(DOUBLE, regions[name], at.index))

    def _sort(self, b: Builder, regions: dict[str, Value], results: tuple[Value, Value], by: Value) -> None:
        """Values to their places in ascending order, scaled back, and rows as columns beside them."""
        n, (vectors, values) = self.numbers, results
        t, wide = n.tiles, b.cast("fpext", by, DOUBLE)
        with ranked(b, t, regions["diagonal"], n.length) as (number, rank, value):
            b.store(b.cast("fptrunc", b.binary("fmul", value, wide), t.type), b.gep(t.type, values, rank))
            if self.vectors:
                row = t.at(b, regions["rows"], (number, self._iteration.pitch))
                b.copy_bytes(row, n.at(b, regions["matrix"], rank), integer(n.row * t.bytes))
        if self.vectors:
            n.turn(b, (regions["matrix"], n.row), (regions["product"], n.row))
            n.join(b, regions["product"], vectors, (n.length, n.length))
        else:
            b.clear_bytes(vectors, integer(n.components * n.length * n.length * t.bytes))
