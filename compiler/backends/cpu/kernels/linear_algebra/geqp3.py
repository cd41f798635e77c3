"""Matrices made triangular by reflections, one column after the other: LAPACK's geqp3, and geqrf of complex numbers.

Which column is next follows from the lengths of what is left of them, so nothing but the change of one column can be
put off: a step makes it while the next step's product is computed (`sweep`).  Lengths are made less by each row that is
done, and computed anew where too little of one is left to be trusted (Drmac and Bujanovic, "On the failure of
rank-revealing QR factorization software", 2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.numbers import Number, Numbers
from compiler.backends.cpu.kernels.linear_algebra.sweep import Sweep
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES
from compiler.codegen.llvm_ir import I32, I64, PTR, Builder, Value, floating, integer, zero

_BUFFERS = 8
"""A change, a vector and its product, a column, and for each column its length, what that was, its greatest element."""
_TRUSTED = {"float": 2.0**-12, "double": 2.0**-26}
"""The share of a squared length down to which it may be made less: the root of the rounding unit."""


class _Memory(NamedTuple):
    """Addresses that every step works on.

    Attributes:
        matrix: the matrix, of which R and the vectors below it are made.
        changes: the column and the row of the change that is due.
        vectors: the conjugated vector of the last reflection, and its product with the matrix.
        column: the column at hand; behind it the columns' lengths, what these were, and their greatest elements.
        pivots: the columns' numbers, from 1.
    """

    matrix: Value
    changes: Value
    vectors: Value
    column: Value
    pivots: Value


class _Lengths(NamedTuple):
    """Addresses of rows with a number for each column: its length, what that was, its greatest element."""

    now: Value
    before: Value
    greatest: Value


@dataclass(frozen=True, slots=True)
class Geqp3:
    """The factorisation of matrices of `rows` x `columns`, the columns in their own order or, `pivoted`, by length."""

    numbers: Numbers
    rows: int
    columns: int
    pivoted: bool

    @property
    def work_elements(self) -> int:
        """Of what `emit` asks for beside the matrix."""
        return _BUFFERS * self.numbers.row

    @property
    def _steps(self) -> int:
        return min(self.rows, self.columns)

    def emit(self) -> str:
        """`void NAME(ptr matrix, ptr factors, ptr work, ptr pivots)`: R with the vectors below it, and the factors.

        Pivots, if there are any, hold what is not 0 for columns that come first, and then numbers of columns from 1.
        """
        n = self.numbers
        t, sweep = n.tiles, Sweep(n, 1, left=True).emit()
        parameters = [(PTR, "matrix"), (PTR, "factors"), (PTR, "work"), (PTR, "pivots")]
        function = t.module.function(f"{t.name}.columns", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, factors, work, pivots = function.arguments
        b = Builder(function)
        b.clear_bytes(work, integer(self.work_elements * t.bytes))
        memory = _Memory(matrix, work, n.at(b, work, integer(2)), n.at(b, work, integer(4)), pivots)
        swept = [matrix, memory.changes, memory.vectors]
        rows, columns = integer(self.rows), integer(self.columns)
        if self.pivoted:
            self._begin(b, memory)
        with b.loop(integer(0), integer(self._steps), name="step", nonempty=True, scalar=True) as step:
            k = step.index
            if self.pivoted:
                self._exchange(b, memory, k)
            factor, beta = self._reflection(b, memory, k)
            n.put(b, factor, factors, k)
            first, before = n.down(b, k), b.smax(b.sub(k, integer(1)), integer(0))
            y = n.at(b, memory.vectors, integer(1))
            n.clear(b, y, first, columns)
            b.call(sweep, "void", [*swept, before, rows, first, columns])
            self._put(b, memory, beta, k)
            self._change(b, memory, n.negated(b, n.conjugate(b, factor)), k)
            if self.pivoted:
                self._lessen(b, memory, k)
        last = integer(self._steps - 1)
        b.call(sweep, "void", [*swept, last, rows, n.down(b, integer(self._steps)), columns])
        b.ret()
        return f"@{function.name}"

    def _reflection(self, b: Builder, memory: _Memory, k: Value) -> tuple[Number, Number]:
        """Tau and beta of column k, whose reflection's vector becomes, conjugated, x."""
        n, (matrix, changes, x, column, _) = self.numbers, memory
        rows, first = integer(self.rows), n.down(b, b.smax(b.sub(k, integer(1)), integer(0)))
        with b.loop(k, rows, name="column", scalar=True) as row:
            n.put(b, n.element(b, n.at(b, matrix, row.index), k), column, row.index)
        share = n.spread(b, n.element(b, n.at(b, changes, integer(1)), k))
        with n.vectors(b, first, rows) as at:
            value = n.multiply_add(b, n.load(b, changes, at.index), share, n.load(b, column, at.index))
            n.store(b, value, column, at.index)
        below = b.add(k, integer(1))
        factor, beta, divisor = n.reflection(b, n.element(b, column, k), n.norm(b, column, below, rows))
        by = n.spread_divisor(b, n.divisor(b, divisor))
        with n.vectors(b, first, rows) as at:
            n.store(b, n.conjugate(b, n.divided(b, n.load(b, column, at.index), by)), x, at.index)
        with b.loop(first, k, name="forget", scalar=True) as at:
            n.put(b, n.zero(), x, at.index)
        n.put(b, (floating(1.0, n.tiles.type),), x, k)
        return factor, beta

    def _put(self, b: Builder, memory: _Memory, beta: Number, k: Value) -> None:
        """What a reflection leaves in its column."""
        n, matrix, x = self.numbers, memory.matrix, memory.vectors
        n.put(b, beta, n.at(b, matrix, k), k)
        with b.loop(b.add(k, integer(1)), integer(self.rows), name="put", scalar=True) as row:
            n.put(b, n.conjugate(b, n.element(b, x, row.index)), n.at(b, matrix, row.index), k)

    def _change(self, b: Builder, memory: _Memory, by: Number, k: Value) -> None:
        """The change that a reflection asks for."""
        n, changes, x = self.numbers, memory.changes, memory.vectors
        line, y, by = n.at(b, changes, integer(1)), n.at(b, x, integer(1)), n.spread(b, by)
        with n.vectors(b, n.down(b, b.smax(b.sub(k, integer(1)), integer(0))), integer(self.rows)) as at:
            n.store(b, n.multiply(b, by, n.conjugate(b, n.load(b, x, at.index))), changes, at.index)
        with n.vectors(b, n.down(b, k), integer(self.columns)) as at:
            n.store(b, n.load(b, y, at.index), line, at.index)
        n.forget(b, line, b.add(k, integer(1)))

    # -- columns by length --------------------------------------------------------------------------------------------

    def _lengths(self, b: Builder, column: Value) -> _Lengths:
        return _Lengths(*(self.numbers.at(b, column, integer(number)) for number in (1, 2, 3)))

    def _measure(self) -> str:
        """`void NAME(ptr matrix, ptr changes, ptr column, i64 row)`: lengths of columns from a row on, as changed."""
        n = self.numbers
        t = n.tiles
        parameters = [(PTR, "matrix"), (PTR, "changes"), (PTR, "column"), (I64, "row")]
        function = t.module.function(f"{t.name}.measure", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, changes, column, first = function.arguments
        b = Builder(function)
        lengths, before, greatest = self._lengths(b, column)
        line, nothing, one = n.at(b, changes, integer(1)), zero(t.vector), floating(1.0, t.vector)
        for last in range(2):
            with n.vectors(b, integer(0), integer(self.columns)) as at:
                address = b.gep(t.type, greatest, at.index)
                safe = t.load(b, address) if last else nothing
                safe = b.select(b.compare("oeq", safe, nothing), one, safe)
                with b.loop(first, integer(self.rows), carried=[nothing], name="row", scalar=True) as row:
                    share = n.spread(b, n.element(b, changes, row.index))
                    value = n.load(b, n.at(b, matrix, row.index), at.index)
                    value = n.multiply_add(b, share, n.load(b, line, at.index), value)
                    total = row.carried[0]
                    for component in value:
                        if last:
                            component = b.binary("fdiv", component, safe)
                            total = t.multiply_add(b, component, component, total)
                        else:
                            size = b.overloaded("fabs", [component])
                            total = b.overloaded("maximum", [size, total])
                    row.carry(total)
                if not last:
                    t.store(b, row.results[0], address)
                    continue
                length = b.binary("fmul", safe, b.overloaded("sqrt", [row.results[0]]))
                was = b.gep(t.type, before, at.index)
                is_fixed = b.compare("oeq", t.load(b, was), floating(math.inf, t.vector))
                length = b.select(is_fixed, floating(math.inf, t.vector), length)
                t.store(b, length, was)
                t.store(b, length, b.gep(t.type, lengths, at.index))
        b.ret()
        return f"@{function.name}"

    def _begin(self, b: Builder, memory: _Memory) -> None:
        """Columns that come first are taken for infinitely long; their numbers."""
        t = self.numbers.tiles
        measure = self._measure()
        before = self._lengths(b, memory.column).before
        with b.loop(integer(0), integer(self.columns), name="number", nonempty=True, scalar=True) as at:
            address = b.gep(I32, memory.pivots, at.index)
            is_fixed = b.compare("ne", b.load(I32, address), integer(0, I32))
            length = b.select(is_fixed, floating(math.inf, t.type), floating(0.0, t.type))
            b.store(length, b.gep(t.type, before, at.index))
            b.store(b.cast("trunc", b.add(at.index, integer(1)), I32), address)
        b.call(measure, "void", [memory.matrix, memory.changes, memory.column, integer(0)])

    def _exchange(self, b: Builder, memory: _Memory, k: Value) -> None:
        """The longest of the columns that are left takes the place of column k."""
        n, (matrix, changes, _, column, pivots) = self.numbers, memory
        t = n.tiles
        lengths, before, _ = self._lengths(b, column)
        start = [floating(-1.0, t.type), k]
        with b.loop(k, integer(self.columns), carried=start, name="longest", nonempty=True, scalar=True) as at:
            length = b.load(t.type, b.gep(t.type, lengths, at.index))
            longer = b.compare("ogt", length, at.carried[0])
            at.carry(b.select(longer, length, at.carried[0]), b.select(longer, at.index, at.carried[1]))
        chosen = at.results[1]
        with b.when(b.compare("ne", chosen, k), "exchange"):
            line = n.at(b, changes, integer(1))
            self._swap(b, line, k, chosen)
            with b.loop(integer(0), integer(self.rows), name="row", scalar=True) as row:
                self._swap(b, n.at(b, matrix, row.index), k, chosen)
            for base, type_ in ((lengths, t.type), (before, t.type), (pivots, I32)):
                addresses = [b.gep(type_, base, number) for number in (k, chosen)]
                values = [b.load(type_, address) for address in addresses]
                for value, address in zip(reversed(values), addresses, strict=True):
                    b.store(value, address)

    def _swap(self, b: Builder, row: Value, one: Value, other: Value) -> None:
        n = self.numbers
        values = [n.element(b, row, number) for number in (other, one)]
        for value, number in zip(values, (one, other), strict=True):
            n.put(b, value, row, number)

    def _lessen(self, b: Builder, memory: _Memory, k: Value) -> None:
        """Lengths without row k, or of what is left below it where one is nearly all gone."""
        n, (matrix, changes, _, column, _) = self.numbers, memory
        t = n.tiles
        vector, below = t.vector, b.add(k, integer(1))
        lengths, before, _ = self._lengths(b, column)
        line, share = n.at(b, changes, integer(1)), n.spread(b, n.element(b, changes, k))
        done, most = floating(1.0, vector), floating(math.inf, vector)
        with n.vectors(b, n.down(b, k), integer(self.columns), [done]) as at:
            value = n.multiply_add(b, share, n.load(b, line, at.index), n.load(b, n.at(b, matrix, k), at.index))
            length, was = (t.load(b, b.gep(t.type, base, at.index)) for base in (lengths, before))
            is_open = b.compare("ogt", length, floating(0.0, vector))
            is_open = b.binary("and", is_open, b.compare("olt", length, most))
            safe, whole = (b.select(is_open, given_, done) for given_ in (length, was))
            components = [b.binary("fdiv", component, safe) for component in value]
            squares = [b.binary("fmul", component, component) for component in components]
            square = b.binary("fadd", squares[0], squares[1]) if squares[1:] else squares[0]
            left = b.overloaded("maxnum", [b.binary("fsub", done, square), floating(0.0, vector)])
            ratio = b.binary("fdiv", safe, whole)
            trust = b.binary("fmul", left, b.binary("fmul", ratio, ratio))
            shorter = b.binary("fmul", length, b.overloaded("sqrt", [left]))
            t.store(b, b.select(is_open, shorter, length), b.gep(t.type, lengths, at.index))
            trust = b.select(is_open, trust, done)
            at.carry(b.overloaded("minnum", [trust, at.carried[0]]))
        least = b.overloaded("vector.reduce.fmin", [at.results[0]], result=t.type)
        with b.when(b.compare("ole", least, floating(_TRUSTED[t.type], t.type)), "measure"):
            b.call(f"@{t.name}.measure", "void", [matrix, changes, column, below])
