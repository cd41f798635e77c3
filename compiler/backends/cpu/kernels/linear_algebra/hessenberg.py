"""Matrices made zero below their second diagonal by reflections from both sides: LAPACK's gehrd.

Of `A' = (1 - tau* v v*) (A - tau u v*)`, where `u = A v`, both changes are outer products, of `tau u` with `v*` and
of `tau* v` with `w = v* A - tau (v* u) v*`.  They are made while the next step's products are computed (`sweep`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.numbers import Number, Numbers
from compiler.backends.cpu.kernels.linear_algebra.sweep import Sweep
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES
from compiler.codegen.llvm_ir import PTR, Builder, Value, floating, integer

_BUFFERS = 9
"""Two outer products, the vectors and products of a sweep, and a column."""


class _Memory(NamedTuple):
    """Addresses: of the matrix, of the changes that are due, of x, y, z and u (`sweep`), and of the column at hand."""

    matrix: Value
    changes: Value
    vectors: Value
    column: Value


@dataclass(frozen=True, slots=True)
class Hessenberg:
    """The reduction of matrices of `numbers.length` rows."""

    numbers: Numbers

    @property
    def work_elements(self) -> int:
        """Of what `emit` asks for beside the matrix."""
        return _BUFFERS * self.numbers.row

    @property
    def _sweep(self) -> Sweep:
        return Sweep(self.numbers, 2, left=True, right=True)

    def emit(self) -> str:
        """`void NAME(ptr matrix, ptr factors, ptr work)`: H with the vectors below it, and the factors, a row."""
        n = self.numbers
        t, size = n.tiles, integer(n.length)
        sweep = self._sweep.emit()
        parameters = [(PTR, "matrix"), (PTR, "factors"), (PTR, "work")]
        name = f"{t.name}.hessenberg"
        function = t.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, factors, work = function.arguments
        b = Builder(function)
        b.clear_bytes(work, integer(self.work_elements * t.bytes))
        b.clear_bytes(factors, integer(n.row * t.bytes))
        memory = _Memory(matrix, work, n.at(b, work, integer(4)), n.at(b, work, integer(8)))
        _, changes, vectors, column = memory
        with b.loop(integer(0), integer(n.length - 1), name="step", scalar=True) as step:
            k, below = step.index, b.add(step.index, integer(1))
            self._column(b, memory, k)
            head = n.element(b, column, below)
            length = n.norm(b, column, b.add(k, integer(2)), size)
            factor, beta, divisor = n.reflection(b, head, length)
            n.put(b, factor, factors, k)
            self._vector(b, memory, below, divisor)
            n.put(b, beta, column, below)
            first = n.down(b, below)
            n.clear(b, n.at(b, vectors, integer(1)), first, size)
            b.call(sweep, "void", [matrix, changes, vectors, integer(0), size, first, size])
            self._put(b, memory, k, below)
            self._changes(b, memory, below, factor)
        # What the last step leaves to be changed is the last column.
        last = n.down(b, integer(n.length - 1))
        b.call(sweep, "void", [matrix, changes, vectors, integer(0), size, last, size])
        b.ret()
        return f"@{function.name}"

    def _column(self, b: Builder, memory: _Memory, k: Value) -> None:
        """Column k as the changes that are due will leave it."""
        n, (matrix, changes, _, column) = self.numbers, memory
        with b.loop(integer(0), integer(n.length), name="column", scalar=True) as row:
            n.put(b, n.element(b, n.at(b, matrix, row.index), k), column, row.index)
        pairs = [[n.at(b, changes, integer(2 * j + kind)) for kind in range(2)] for j in range(2)]
        shares = [n.spread(b, n.element(b, line, k)) for _, line in pairs]
        with n.vectors(b, integer(0), integer(n.length)) as at:
            value = n.load(b, column, at.index)
            for (factor, _), share in zip(pairs, shares, strict=True):
                value = n.multiply_add(b, n.load(b, factor, at.index), share, value)
            n.store(b, value, column, at.index)

    def _vector(self, b: Builder, memory: _Memory, below: Value, divisor: Number) -> None:
        """The reflection's vector as z, its conjugate as x."""
        n, column, vectors = self.numbers, memory.column, memory.vectors
        x, z = (n.at(b, vectors, integer(number)) for number in (0, 2))
        by = n.spread_divisor(b, n.divisor(b, divisor))
        with n.vectors(b, n.down(b, b.sub(below, integer(1))), integer(n.length)) as at:
            value = n.divided(b, n.load(b, column, at.index), by)
            n.store(b, value, z, at.index)
            n.store(b, n.conjugate(b, value), x, at.index)
        for vector in (x, z):
            n.forget(b, vector, below)
            n.put(b, (floating(1.0, n.tiles.type),), vector, below)

    def _put(self, b: Builder, memory: _Memory, k: Value, below: Value) -> None:
        """Column k: what is left of it, and the vector below it."""
        n, (matrix, _, vectors, column) = self.numbers, memory
        behind = b.add(below, integer(1))
        z = n.at(b, vectors, integer(2))
        for source, first, stop in ((column, integer(0), behind), (z, behind, integer(n.length))):
            with b.loop(first, stop, name="put", scalar=True) as row:
                n.put(b, n.element(b, source, row.index), n.at(b, matrix, row.index), k)

    def _changes(self, b: Builder, memory: _Memory, below: Value, factor: Number) -> None:
        """What the reflection takes from the matrix."""
        n, changes, vectors = self.numbers, memory.changes, memory.vectors
        x, y, z, u = (n.at(b, vectors, integer(number)) for number in range(4))
        size, first = integer(n.length), n.down(b, b.sub(below, integer(1)))
        with n.vectors(b, first, size, n.zero(vector=True)) as at:
            pair = n.load(b, x, at.index), n.load(b, u, at.index)
            at.carry(*n.multiply_add(b, *pair, tuple(at.carried)))
        minus = n.negated(b, factor)
        by, share, back = (
            n.spread(b, value)
            for value in (minus, n.multiply(b, minus, n.sum(b, tuple(at.results))), n.conjugate(b, minus))
        )
        lines = [n.at(b, changes, integer(number)) for number in range(4)]
        with n.vectors(b, integer(0), size) as at:
            n.store(b, n.multiply(b, by, n.load(b, u, at.index)), lines[0], at.index)
        with n.vectors(b, first, size) as at:
            row = n.load(b, x, at.index)
            n.store(b, row, lines[1], at.index)
            n.store(b, n.multiply(b, back, n.load(b, z, at.index)), lines[2], at.index)
            n.store(b, n.multiply_add(b, share, row, n.load(b, y, at.index)), lines[3], at.index)
        n.forget(b, lines[3], below)
