"""Schur's form of general matrices: LAPACK's gees, and the eigenvalues of geev.

The matrix is scaled by a power of 2, brought to Hessenberg's form (`hessenberg`) and made triangular but for pairs
(`francis`).  A matrix with NaN or infinity in it has only NaN for results, and as many failures as rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.backends.cpu.kernels.linear_algebra.francis import STATE, Francis
from compiler.backends.cpu.kernels.linear_algebra.hessenberg import Hessenberg
from compiler.backends.cpu.kernels.linear_algebra.numbers import Number, Numbers
from compiler.backends.cpu.kernels.linear_algebra.ormqr import Ormqr
from compiler.backends.cpu.kernels.linear_algebra.shifts import absolute, root
from compiler.backends.cpu.kernels.linear_algebra.spectral import of_numbers
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES
from compiler.codegen.llvm_ir import I32, I64, PTR, Builder, Value, floating, integer
from compiler.codegen.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Schur:
    """The form of matrices of `numbers.length` rows, `whole` or its diagonal, and the `vectors` that lead to it."""

    numbers: Numbers
    whole: bool
    vectors: bool

    @property
    def _product(self) -> Ormqr:
        size = self.numbers.length
        return Ormqr(self.numbers, size, size, size - 1, grows=True, offset=1)

    @property
    def _reduction(self) -> Hessenberg:
        return Hessenberg(self.numbers)

    @property
    def _workspace(self) -> Workspace:
        n = self.numbers
        size, row = n.length, n.row * n.tiles.bytes
        buffers = max(self._reduction.work_elements, self._product.work_elements) * n.tiles.bytes
        regions = {"form": (size + 1) * row, "factors": row, "buffers": buffers, "pairs": 8 * size, "state": 8 * STATE}
        if self.vectors:
            regions |= {"product": size * row, "rows": (size + 1) * row}
        return Workspace(regions)

    @property
    def workspace_elements(self) -> int:
        """Elements of all regions of the workspace."""
        return self._workspace.size_bytes // self.numbers.tiles.bytes

    def emit(self) -> str:
        """`void NAME(ptr source, ptr triangle, ptr vectors, ptr values, ptr imaginary, ptr info, ptr work)`.

        Imaginary parts of a complex matrix's eigenvalues stand beside their real parts; where a triangle or vectors are
        not asked for nothing is written.
        """
        n = self.numbers
        t, size = n.tiles, n.length
        function = t.module.function(
            f"{t.name}.schur",
            "void",
            [(PTR, name) for name in ("source", "triangle", "vectors", "values", "imaginary", "info", "work")],
            linkage="internal",
            attributes=ATTRIBUTES,
        )
        source, triangle, vectors, values, imaginary, info, work = function.arguments
        reduce, iterate = self._reduction.emit(), Francis(n, self.whole, self.vectors).emit()
        b = Builder(function)
        regions = self._workspace.regions(b, work)
        n.split(b, source, regions["form"], (size, size))
        b.clear_bytes(n.at(b, regions["form"], integer(size)), integer(n.row * t.bytes))
        b.clear_bytes(regions["pairs"], integer(8 * size))
        largest = n.greatest(b, regions["form"], size)
        results = self._results(triangle, vectors, values, imaginary)
        with of_numbers(b, t, largest, results, (info, size)) as by:
            n.scale_rows(b, regions["form"], size, b.binary("fdiv", floating(1.0, t.type), by))
            b.call(reduce, "void", [regions[name] for name in ("form", "factors", "buffers")])
            if self.vectors:
                self._begin(b, regions)
            with b.loop(integer(2), integer(size), name="below", scalar=True) as row:
                self._clear(b, n.at(b, regions["form"], row.index), b.sub(row.index, integer(1)))
            names = ("form", "rows" if self.vectors else "form", "pairs", "state")
            b.store(b.call(iterate, I32, [regions[name] for name in names]), info)
            self._finish(b, regions, by)
            self._put_values(b, regions, (values, imaginary))
            if self.whole:
                n.join(b, regions["form"], triangle, (size, size))
            if self.vectors:
                n.turn(b, (regions["rows"], n.row), (regions["product"], n.row))
                n.join(b, regions["product"], vectors, (size, size))
        b.ret()
        return f"@{function.name}"

    def _results(self, triangle: Value, vectors: Value, values: Value, imaginary: Value) -> list[tuple[Value, int]]:
        """What is asked for, and the numbers of its elements."""
        count = self.numbers.components * self.numbers.length
        results = [(triangle, count * self.numbers.length)] * self.whole
        results += [(vectors, count * self.numbers.length)] * self.vectors
        results.append((values, count))
        if self.numbers.components == 1:
            results.append((imaginary, count))
        return results

    def _begin(self, b: Builder, regions: dict[str, Value]) -> None:
        """The vectors that lead to Hessenberg's form, as rows."""
        n = self.numbers
        product = self._product.emit()
        self._product.identity(b, regions["product"])
        b.call(product, "void", [regions[name] for name in ("form", "factors", "product", "buffers")])
        b.clear_bytes(regions["rows"], integer(self._workspace.bytes_of("rows")))
        n.turn(b, (regions["product"], n.row), (regions["rows"], n.row))

    def _clear(self, b: Builder, line: Value, count: Value) -> None:
        """Zeros in place of a row's first elements."""
        n = self.numbers
        for component in range(n.components):
            address = b.gep(n.tiles.type, line, integer(component * n.pitch))
            b.clear_bytes(address, b.mul(count, integer(n.tiles.bytes)))

    def _finish(self, b: Builder, regions: dict[str, Value], by: Value) -> None:
        """The form without what is nothing, pairs with the mean of their diagonal elements, and scaled back."""
        n, form = self.numbers, regions["form"]
        with b.loop(integer(0), integer(n.length - 1), name="beside", scalar=True) as row:
            following = b.add(row.index, integer(1))
            line = n.at(b, form, following)
            is_pair = b.compare("ne", b.load(I64, b.gep(I64, regions["pairs"], row.index)), integer(0))
            n.put(b, n.select(b, is_pair, n.element(b, line, row.index), n.zero()), line, row.index)
            with b.when(is_pair, "pair"):
                positions = (n.at(b, form, row.index), row.index), (line, following)
                one, other = (n.element(b, *position) for position in positions)
                total: Number = tuple(b.binary("fadd", *pair) for pair in zip(one, other, strict=True))
                for position in positions:
                    n.put(b, n.scaled(b, total, floating(0.5, n.tiles.type)), *position)
        n.scale_rows(b, form, n.length, by)

    def _put_values(self, b: Builder, regions: dict[str, Value], results: tuple[Value, Value]) -> None:
        """Eigenvalues: the diagonal, and of pairs the roots of what stands beside it."""
        n, (values, imaginary), form = self.numbers, results, regions["form"]
        type_ = n.tiles.type
        with b.loop(integer(0), integer(n.length), name="value", scalar=True) as at:
            own = n.element(b, n.at(b, form, at.index), at.index)
            for component, value in enumerate(own):
                b.store(value, b.gep(type_, values, b.add(b.mul(at.index, integer(n.components)), integer(component))))
            if n.components == 1:
                b.store(floating(0.0, type_), b.gep(type_, imaginary, at.index))
        if n.components > 1:
            return
        with b.loop(integer(0), integer(n.length - 1), name="pair", scalar=True) as at:
            is_pair = b.compare("ne", b.load(I64, b.gep(I64, regions["pairs"], at.index)), integer(0))
            with b.when(is_pair, "pair"):
                following = b.add(at.index, integer(1))
                beside = [
                    root(b, absolute(b, n.element(b, n.at(b, form, row), column)[0]))
                    for row, column in ((at.index, following), (following, at.index))
                ]
                rise = b.binary("fmul", beside[0], beside[1])
                b.store(rise, b.gep(type_, imaginary, at.index))
                b.store(b.unary("fneg", rise), b.gep(type_, imaginary, following))
