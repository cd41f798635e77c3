"""Eigenvalues and vectors of symmetric matrices: LAPACK's syevd.

The matrix is scaled by a power of 2, made tridiagonal (`tridiagonal`) and diagonal (`implicit`), whose
rotations turn the rows of the first step's transposed orthogonal matrix into the vectors.  A matrix with NaN or
infinity in it has only NaN for results, and as many failures as rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from compiler.backends.cpu.kernels.linear_algebra.implicit import Implicit
from compiler.backends.cpu.kernels.linear_algebra.spectral import DOUBLE, of_numbers, ranked
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES, Tiles
from compiler.backends.cpu.kernels.linear_algebra.tridiagonal import Tridiagonal
from compiler.codegen.llvm_ir import I32, PTR, Builder, Value, floating, integer, keep_rolled, zero
from compiler.codegen.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Eigen:
    """The decomposition of a matrix of `size` rows of which one triangle is given; `vectors` asks for them."""

    tiles: Tiles
    size: int
    lower: bool
    vectors: bool

    @property
    def _reduction(self) -> Tridiagonal:
        return Tridiagonal(self.tiles, self.size)

    @property
    def _iteration(self) -> Implicit:
        return Implicit(self.tiles, self.size, self.size if self.vectors else 0)

    @property
    def _workspace(self) -> Workspace:
        t, reduction, iteration = self.tiles, self._reduction, self._iteration
        pairs, steps, counts = iteration.note_bytes
        regions = {
            "matrix": reduction.elements * t.bytes,
            "factors": self.size * t.bytes,
            "diagonal": self.size * t.bytes,
            "beside": self.size * t.bytes,
            "steps_vectors": reduction.vectors * t.bytes,
            "wide_diagonal": (self.size + 1) * 8,
            "wide_beside": (self.size + 1) * 8,
            "pairs": pairs,
            "steps": steps,
            "counts": counts,
        }
        if self.vectors:
            # Products of blocks lie behind the matrix's vectors, rows behind the product that they come from.
            regions |= {
                "blocks": reduction.blocks.workspace_elements * t.bytes,
                "product": self.size * reduction.pitch * t.bytes,
                "rows": (self.size * iteration.pitch + 4 * t.lanes) * t.bytes,
            }
        return Workspace(regions)

    @property
    def workspace_elements(self) -> int:
        """Elements of all regions of the workspace."""
        return self._workspace.size_bytes // self.tiles.bytes

    def emit(self) -> str:
        """`void NAME(ptr source, ptr vectors, ptr values, ptr info, ptr workspace)`."""
        t, size = self.tiles, integer(self.size)
        whole, reduce = self._whole(), self._reduction.reduce()
        implicit = self._iteration.emit()
        form = self._reduction.product() if self.vectors else ""
        parameters = [(PTR, name) for name in ("source", "vectors", "values", "info", "workspace")]
        function = t.module.function(f"{t.name}.eigen", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        source, vectors, values, info, work = function.arguments
        b = Builder(function)
        regions = self._workspace.regions(b, work)
        largest = b.call(whole, t.type, [source, regions["matrix"]])
        results = (vectors, self.size * self.size), (values, self.size)
        with of_numbers(b, t, largest, results, (info, self.size)) as by:
            self._scaled(b, regions["matrix"], b.binary("fdiv", floating(1.0, t.type), by))
            self._reduction.blocks.clear(b, regions["steps_vectors"], integer(0), integer(self._reduction.vectors))
            given = [regions[name] for name in ("matrix", "diagonal", "beside", "factors", "steps_vectors")]
            b.call(reduce, "void", given)
            for name in ("diagonal", "beside"):
                with b.loop(integer(0), size, name="widen", scalar=True) as at:
                    value = b.load(t.type, b.gep(t.type, regions[name], at.index))
                    b.store(b.cast("fpext", value, DOUBLE), b.gep(DOUBLE, regions[f"wide_{name}"], at.index))
            if self.vectors:
                self._form(b, form, regions)
            names = ("wide_diagonal", "wide_beside", "rows" if self.vectors else "counts", "pairs", "steps", "counts")
            b.store(b.call(implicit, I32, [regions[name] for name in names]), info)
            self._sort(b, regions, (vectors, values), by)
        b.ret()
        return f"@{function.name}"

    def _form(self, b: Builder, form: str, regions: dict[str, Value]) -> None:
        """The reflections' product, and its transpose, which the rotations will turn."""
        t, pitch = self.tiles, self._reduction.pitch
        self._reduction.blocks.clear(b, regions["product"], integer(0), integer(self.size * pitch))
        with b.loop(integer(0), integer(self.size), name="one", scalar=True) as one:
            b.store(floating(1.0, t.type), t.at(b, regions["product"], (one.index, pitch + 1)))
        b.call(form, "void", [regions[name] for name in ("matrix", "factors", "product", "blocks")])
        extent = [integer(self.size), integer(self.size)]
        strides = integer(pitch), integer(self._iteration.pitch)
        self._reduction.blocks.clear(b, regions["rows"], integer(0), integer(self.size * self._iteration.pitch))
        b.call(t.turn(), "void", [regions["product"], strides[0], regions["rows"], strides[1], *extent])

    def _scaled(self, b: Builder, matrix: Value, by: Value) -> None:
        t = self.tiles
        spread = b.broadcast(by, t.lanes)
        with self._reduction.blocks.vectors(b, integer(0), integer(self.size * self._reduction.pitch)) as at:
            address = b.gep(t.type, matrix, at.index)
            t.store(b, b.binary("fmul", t.load(b, address), spread), address)

    def _whole(self) -> str:
        """`T NAME(ptr source, ptr matrix)`: both triangles, zeros around; the greatest magnitude, NaN as infinity."""
        t, form, size, pitch = self.tiles, self._reduction, integer(self.size), self._reduction.pitch
        parameters = [(PTR, "source"), (PTR, "matrix")]
        function = t.module.function(f"{t.name}.whole", t.type, parameters, linkage="internal", attributes=ATTRIBUTES)
        source, matrix = function.arguments
        b = Builder(function)
        form.blocks.clear(b, matrix, integer(0), integer(form.elements))
        b.call(t.turn(), "void", [source, size, matrix, integer(pitch), size, size])
        with b.loop(integer(0), size, name="row", scalar=True, metadata=keep_rolled(t.module)) as row:
            given, wanted = t.at(b, source, (row.index, self.size)), t.at(b, matrix, (row.index, pitch))
            count = b.add(row.index, integer(1))
            if not self.lower:
                given, wanted = b.gep(t.type, given, row.index), b.gep(t.type, wanted, row.index)
                count = b.sub(size, row.index)
            b.copy_bytes(given, wanted, b.mul(count, integer(t.bytes)))
        with form.blocks.vectors(b, integer(0), integer(self.size * pitch), [zero(t.vector)]) as at:
            value = b.overloaded("fabs", [t.load(b, b.gep(t.type, matrix, at.index))])
            finite = b.compare("olt", value, floating(math.inf, t.vector))
            value = b.select(finite, value, floating(math.inf, t.vector))
            at.carry(b.select(b.compare("ogt", value, at.carried[0]), value, at.carried[0]))
        b.ret(b.overloaded("vector.reduce.fmax", list(at.results), result=t.type))
        return f"@{function.name}"

    def _sort(self, b: Builder, regions: dict[str, Value], results: tuple[Value, Value], by: Value) -> None:
        """Values to their places in ascending order, scaled back, and rows as columns beside them."""
        t, size, (vectors, values) = self.tiles, integer(self.size), results
        diagonal, wide = regions["wide_diagonal"], b.cast("fpext", by, DOUBLE)
        pitch = self._iteration.pitch
        with ranked(b, t, diagonal, self.size) as (number, rank, value):
            b.store(b.cast("fptrunc", b.binary("fmul", value, wide), t.type), b.gep(t.type, values, rank))
            if self.vectors:
                row, address = t.at(b, regions["rows"], (number, pitch)), t.at(b, regions["product"], (rank, self.size))
                b.copy_bytes(row, address, integer(self.size * t.bytes))
        if self.vectors:
            b.call(t.turn(), "void", [regions["product"], size, vectors, size, size, size])
        else:
            with b.loop(integer(0), integer(self.size * self.size), name="zero", scalar=True) as at:
                b.store(floating(0.0, t.type), b.gep(t.type, vectors, at.index))
