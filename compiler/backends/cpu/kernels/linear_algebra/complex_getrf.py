"""LU with partial pivoting of complex matrices, a few columns at a time: LAPACK's getrf.

What a few pivots take from the rest of a matrix is taken in one pass (`sweep`), so that an element is loaded and stored
once for several multiplications.  Pivots are greatest by the sum of the magnitudes of their parts, as LAPACK has it; a
NaN is as great as infinity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.numbers import Number, Numbers
from compiler.backends.cpu.kernels.linear_algebra.shifts import magnitude
from compiler.backends.cpu.kernels.linear_algebra.sweep import Sweep
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES
from compiler.codegen.llvm_ir import I32, I64, PTR, Builder, Value, floating, integer

_RANK = 4
"""Pivots whose changes are made together."""
_BUFFERS = 2 * _RANK + 1
"""Columns and rows of changes, and a column."""


class _Memory(NamedTuple):
    """Addresses: of the matrix, of the block's changes, a column and a row each, and of one line, a pivot's."""

    matrix: Value
    changes: Value
    line: Value


@dataclass(frozen=True, slots=True)
class ComplexGetrf:
    """The factorisation of matrices of `rows` x `columns`."""

    numbers: Numbers
    rows: int
    columns: int

    @property
    def work_elements(self) -> int:
        """Of what `emit` asks for beside the matrix."""
        return _BUFFERS * self.numbers.row

    def emit(self) -> str:
        """`void NAME(ptr matrix, ptr pivots, ptr info, ptr work)`: factor a matrix where it lies."""
        n = self.numbers
        t, sweep, pivot = n.tiles, Sweep(n, _RANK).emit(), self._pivot()
        parameters = [(PTR, name) for name in ("matrix", "pivots", "info", "work")]
        name = f"{t.name}.elimination"
        function = t.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, pivots, info, work = function.arguments
        b = Builder(function)
        b.store(integer(0, I32), info)
        steps, extent = integer(min(self.rows, self.columns)), (integer(self.rows), integer(self.columns))
        with b.loop(integer(0), steps, step=_RANK, name="block", nonempty=True, scalar=True) as block:
            b.clear_bytes(work, integer(self.work_elements * t.bytes))
            stop = b.smin(b.add(block.index, integer(_RANK)), steps)
            with b.loop(block.index, stop, name="pivot", nonempty=True, scalar=True) as step:
                b.call(pivot, "void", [matrix, pivots, info, work, step.index, b.sub(step.index, block.index)])
            b.call(sweep, "void", [matrix, work, work, stop, extent[0], stop, extent[1]])
        b.ret()
        return f"@{function.name}"

    def _pivot(self) -> str:
        """`void NAME(ptr matrix, ptr pivots, ptr info, ptr work, i64 k, i64 number)`: one pivot of a block."""
        n = self.numbers
        t = n.tiles
        names = ("matrix", "pivots", "info", "work")
        parameters = [*((PTR, name) for name in names), (I64, "k"), (I64, "number")]
        function = t.module.function(f"{t.name}.pivot", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, pivots, info, work, k, number = function.arguments
        b = Builder(function)
        column, rows = n.at(b, work, integer(2 * _RANK)), integer(self.rows)
        memory = _Memory(matrix, work, column)
        self._column(b, memory, k)
        start, infinity = [floating(0.0, t.type), k], floating(math.inf, t.type)
        with b.loop(k, rows, carried=start, name="largest", nonempty=True, scalar=True) as at:
            size = magnitude(b, n.element(b, column, at.index))
            size = b.select(b.compare("olt", size, infinity), size, infinity)
            larger = b.compare("ogt", size, at.carried[0])
            at.carry(b.select(larger, size, at.carried[0]), b.select(larger, at.index, at.carried[1]))
        chosen = at.results[1]
        b.store(b.cast("trunc", b.add(chosen, integer(1)), I32), b.gep(I32, pivots, k))
        with b.when(b.compare("ne", chosen, k), "moved"):
            self._exchange(b, memory, k, chosen)
        changed, line = (n.at(b, work, b.add(b.mul(number, integer(2)), integer(kind))) for kind in range(2))
        self._row(b, memory._replace(line=line), k)
        head = n.element(b, column, k)
        is_zero = b.compare("oeq", magnitude(b, head), floating(0.0, t.type))
        n.put(b, head, n.at(b, matrix, k), k)
        with b.when(is_zero, "singular"):
            before = b.load(I32, info)
            failed = b.cast("trunc", b.add(k, integer(1)), I32)
            b.store(b.select(b.compare("eq", before, integer(0, I32)), failed, before), info)
        by = n.divisor(b, n.select(b, is_zero, (floating(1.0, t.type), *n.zero()[1:]), head))
        with b.loop(b.add(k, integer(1)), rows, name="put", scalar=True) as row:
            share = n.divided(b, n.element(b, column, row.index), by)
            n.put(b, share, n.at(b, matrix, row.index), k)
            n.put(b, n.negated(b, share), changed, row.index)
        b.ret()
        return f"@{function.name}"

    def _changed(self, b: Builder, value: Number, factors: list[Number], others: list[Number]) -> Number:
        for pair in zip(factors, others, strict=True):
            value = self.numbers.multiply_add(b, *pair, value)
        return value

    def _changes(self, b: Builder, work: Value, kind: int) -> list[Value]:
        """Where the changes' columns (0) or rows (1) lie."""
        return [self.numbers.at(b, work, integer(2 * number + kind)) for number in range(_RANK)]

    def _column(self, b: Builder, memory: _Memory, k: Value) -> None:
        """Column k from its diagonal on, less what the block's pivots take from it."""
        n, (matrix, work, column) = self.numbers, memory
        with b.loop(k, integer(self.rows), name="column", nonempty=True, scalar=True) as row:
            n.put(b, n.element(b, n.at(b, matrix, row.index), k), column, row.index)
        shares = [n.spread(b, n.element(b, line, k)) for line in self._changes(b, work, 1)]
        columns = self._changes(b, work, 0)
        with n.vectors(b, n.down(b, k), integer(self.rows)) as at:
            factors = [n.load(b, other, at.index) for other in columns]
            n.store(b, self._changed(b, n.load(b, column, at.index), factors, shares), column, at.index)

    def _row(self, b: Builder, memory: _Memory, k: Value) -> None:
        """Row k behind its diagonal, less what the block's pivots take from it; the row of the pivot's own change."""
        n, (matrix, work, line) = self.numbers, memory
        shares = [n.spread(b, n.element(b, column, k)) for column in self._changes(b, work, 0)]
        rows, here = self._changes(b, work, 1), n.at(b, matrix, k)
        with n.vectors(b, b.add(k, integer(1)), integer(self.columns)) as at:
            others = [n.load(b, other, at.index) for other in rows]
            value = self._changed(b, n.load(b, here, at.index), shares, others)
            n.store(b, value, here, at.index)
            n.store(b, value, line, at.index)

    def _exchange(self, b: Builder, memory: _Memory, k: Value, chosen: Value) -> None:
        """Two rows in each other's places."""
        n, (matrix, work, column) = self.numbers, memory
        lines = [n.at(b, matrix, row) for row in (k, chosen)]
        with n.vectors(b, integer(0), integer(self.columns)) as at:
            values = [n.load(b, line, at.index) for line in lines]
            for value, line in zip(reversed(values), lines, strict=True):
                n.store(b, value, line, at.index)
        for other in (column, *self._changes(b, work, 0)):
            values = [n.element(b, other, row) for row in (chosen, k)]
            for value, row in zip(values, (k, chosen), strict=True):
                n.put(b, value, other, row)
