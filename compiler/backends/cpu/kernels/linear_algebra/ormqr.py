"""Reflections applied to a matrix from the left, one after the other: LAPACK's ormqr, and ungqr.

All vectors are known, so a step makes the change of one reflection while the next one's product is computed
(`sweep`).
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.backends.cpu.kernels.linear_algebra.numbers import Numbers
from compiler.backends.cpu.kernels.linear_algebra.sweep import Sweep
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES
from compiler.codegen.llvm_ir import I64, PTR, Builder, Value, floating, integer

_BUFFERS = 4
"""A change, a vector and its product."""


@dataclass(frozen=True, slots=True)
class Ormqr:
    """`steps` reflections applied to matrices of `rows` x `columns`, the first one first if `adjoint`.

    With `grows` the matrix is the identity, whose first columns the last reflections leave alone.  A vector begins
    `offset` rows below its number.
    """

    numbers: Numbers
    rows: int
    columns: int
    steps: int
    adjoint: bool = False
    grows: bool = False
    offset: int = 0

    @property
    def work_elements(self) -> int:
        """Of what `emit` asks for beside the matrices."""
        return _BUFFERS * self.numbers.row

    def emit(self) -> str:
        """`void NAME(ptr vectors, ptr factors, ptr matrix, ptr work)`; vectors lie as columns below a diagonal."""
        n = self.numbers
        t, sweep, size = n.tiles, Sweep(n, 1, left=True).emit(), integer(self.columns)
        vector = self._vector()
        parameters = [(PTR, "vectors"), (PTR, "factors"), (PTR, "matrix"), (PTR, "work")]
        function = t.module.function(f"{t.name}.applied", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        vectors, factors, matrix, work = function.arguments
        b = Builder(function)
        b.clear_bytes(work, integer(self.work_elements * t.bytes))
        x, y = n.at(b, work, integer(2)), n.at(b, work, integer(3))
        with b.loop(integer(0), integer(self.steps + 1), name="step", nonempty=True, scalar=True) as step:
            number = step.index if self.adjoint else b.sub(integer(self.steps - 1), step.index)
            before = b.add(number, integer(-1 if self.adjoint else 1))
            # In the first iteration there is no change yet, in the last no vector any more.
            here = b.clamp(number, integer(0), integer(self.steps - 1))
            first = b.add(b.smin(here, b.smax(before, integer(0))), integer(self.offset))
            begin = n.down(b, first) if self.grows else integer(0)
            b.call(vector, "void", [vectors, x, here])
            n.clear(b, y, begin, size)
            b.call(sweep, "void", [matrix, work, x, first, integer(self.rows), begin, size])
            factor = n.element(b, factors, here)
            by = n.spread(b, n.negated(b, n.conjugate(b, factor) if self.adjoint else factor))
            with n.vectors(b, integer(0), integer(self.rows)) as at:
                n.store(b, n.multiply(b, by, n.conjugate(b, n.load(b, x, at.index))), work, at.index)
            with n.vectors(b, begin, size) as at:
                n.store(b, n.load(b, y, at.index), n.at(b, work, integer(1)), at.index)
        b.ret()
        return f"@{function.name}"

    def _vector(self) -> str:
        """`void NAME(ptr vectors, ptr x, i64 number)`: a reflection's vector, conjugated."""
        n = self.numbers
        t = n.tiles
        parameters = [(PTR, "vectors"), (PTR, "x"), (I64, "number")]
        function = t.module.function(f"{t.name}.vector", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        vectors, x, number = function.arguments
        b = Builder(function)
        head = b.add(number, integer(self.offset))
        n.clear(b, x, integer(0), head)
        with b.loop(b.add(head, integer(1)), integer(self.rows), name="row", scalar=True) as row:
            n.put(b, n.conjugate(b, n.element(b, n.at(b, vectors, row.index), number)), x, row.index)
        n.put(b, (floating(1.0, t.type),), x, head)
        b.ret()
        return f"@{function.name}"

    def identity(self, b: Builder, matrix: Value) -> None:
        """Writes the identity, with which a product of reflections begins."""
        n = self.numbers
        b.clear_bytes(matrix, integer(self.rows * n.row * n.tiles.bytes))
        with b.loop(integer(0), integer(min(self.rows, self.columns)), name="one", scalar=True) as one:
            n.put(b, (floating(1.0, n.tiles.type),), n.at(b, matrix, one.index), one.index)
