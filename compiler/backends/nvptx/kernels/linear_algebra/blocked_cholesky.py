"""Cholesky factors by all blocks, a launch for each panel of columns.

Columns wait for one another, so what a column takes, and what stands between two panels, is all that counts.  In the
launch of a panel each of its blocks has the square on the diagonal and some rows below it, takes the products of the
panel before out of them, and eliminates column by column, with one barrier for each: no root is waited for, since
what a column takes out of those behind it are products divided by its pivot.  Roots and quotients come at the end,
all at once.  Other blocks of the launch take the panel before out of the tiles behind this one.

What is left of the matrix lies in the workspace, in f64, from the second panel on; so do the rows of the factor.  The
square is never written to where others read it.  A pivot that is not positive becomes NaN and makes all that come after
it NaN, so the last one tells whether there is a factor at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Plan, planned
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I64, Builder, Module, Value, floating, integer
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import SUM, Factorisation, Matrix, pivot_root
from compiler.ir.types import F64

_PANEL = 32
"""Columns of a panel, and rows and columns of a tile: one for each lane of a warp."""
_ROWS = 2 * _PANEL
"""Rows that a block has in shared memory: two squares."""
_SHARES = 4
"""Threads of a row, of which each has every so many columns."""
_THREADS = _ROWS * _SHARES
"""Threads of a block."""
_ROW_STRIDE = _PANEL + 2
"""Elements from one row to the next in shared memory: pairs of elements of different rows lie in different banks."""
_COLUMN_STRIDE = _ROWS + 1
"""The same of columns, where these lie behind each other."""

Address = Callable[[Value, Value], Value]
"""Where an element of a block's rows lies in shared memory, by column and number of the row."""


def plan(kernel: Kernel, form: Factorisation) -> Plan:
    """The plan of panel after panel."""
    return planned(
        lambda module: tuple(_Blocked(module, kernel, form).launches()),
        workspace_bytes=8 * form.batch * form.size**2,
        details={"batch": form.batch, "size": form.size, "panel": _PANEL},
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """What a block does: the matrix that its rows are of, and where its two squares of rows begin.

    Attributes:
        builder: where code is emitted.
        matrix: the number of the matrix.
        first: the first column of the panel.
        bases: the first row of either square.
    """

    builder: Builder
    matrix: Value
    first: Value
    bases: tuple[Value, Value]

    def row(self, number: Value) -> Value:
        """The row of the matrix that is the block's row of that number."""
        builder = self.builder
        is_upper = builder.compare("slt", number, integer(_PANEL))
        lower = builder.add(self.bases[1], builder.sub(number, integer(_PANEL)))
        return builder.select(is_upper, builder.add(self.bases[0], number), lower)


class _Blocked:
    def __init__(self, module: Module, kernel: Kernel, form: Factorisation) -> None:
        self.module, self.kernel, self.form = module, kernel, form
        self.size = form.size

    def launches(self) -> Iterator[Launch]:
        """Everything in order; the function of a panel is told which."""
        panel = self._panel()
        for first in range(0, self.size, _PANEL):
            squares = -(-max(0, self.size - first - _PANEL) // _PANEL)
            chunks = max(1, squares)
            leading = self.form.batch * chunks
            tiles = squares**2 if first else 0
            blocks = leading + self.form.batch * tiles
            yield Launch(panel, blocks, _THREADS, (first, chunks), leading=leading)
        yield self._finish()

    def _panel(self) -> str:
        builder = grid.begin(self.module, self.kernel, _THREADS, "_panel", numbers=["first", "chunks"], talks=True)
        first, chunks, number = Value(I64, "%first"), Value(I64, "%chunks"), grid.block(builder)
        leading = builder.mul(integer(self.form.batch), chunks)
        with builder.when(builder.compare("slt", number, leading), "panel"):
            matrix, chunk = builder.udivrem(number, chunks)
            below = builder.add(first, builder.mul(integer(_PANEL), builder.add(chunk, integer(1))))
            self._eliminate(_Job(builder, matrix, first, (first, below)), builder.compare("eq", chunk, integer(0)))
        with builder.when(builder.compare("sge", number, leading), "tile"):
            matrix, tile = builder.udivrem(builder.sub(number, leading), builder.mul(chunks, chunks))
            squares = builder.udivrem(tile, chunks)
            behind = builder.add(first, integer(_PANEL))
            row, column = (builder.add(behind, builder.mul(integer(_PANEL), square)) for square in squares)
            with builder.when(builder.compare("sge", row, column), "lower"):
                self._update(_Job(builder, matrix, first, (row, column)))
        builder.ret()
        return builder.function.name

    def _left(self, builder: Builder, number: Value) -> Matrix:
        """What is left of the matrix of that number, and rows of its factor."""
        base = builder.gep("double", arguments(self.kernel).workspace, builder.mul(number, integer(self.size**2)))
        return Matrix(
            builder,
            F64,
            lambda row, column: builder.gep("double", base, builder.add(builder.mul(row, integer(self.size)), column)),
        )

    def _source(self, job: _Job, use: Callable[[Matrix], None]) -> None:
        """Use what holds the elements before a panel: the matrix itself for the first two, then what is left of it."""
        is_given = job.builder.compare("sle", job.first, integer(_PANEL))
        with job.builder.when(is_given, "given"):
            use(self.form.matrices(job.builder, job.matrix)[0])
        with job.builder.when(job.builder.compare("sgt", job.first, integer(_PANEL)), "left"):
            use(self._left(job.builder, job.matrix))

    def _in_shared(self, builder: Builder, name: str, size: int) -> Value:
        return grid.shared_array(builder, f"{name}.{self.kernel.name}", F64, size)

    @staticmethod
    def _shared(builder: Builder, address: Value) -> Value:
        return builder.load("double", address, align=8)

    def _dealt(self, job: _Job) -> tuple[Value, list[Value]]:
        """The elements of a block's rows that a thread brings or writes: a column, and numbers of rows."""
        group, column = job.builder.udivrem(grid.thread(job.builder), integer(_PANEL))
        return column, [job.builder.add(group, integer(step)) for step in range(0, _ROWS, _THREADS // _PANEL)]

    def _before(self, job: _Job) -> Value:
        """The block's rows of the factor in the panel before, in shared memory."""
        builder, left = job.builder, self._left(job.builder, job.matrix)
        rows, first = self._in_shared(builder, "before", _ROWS * _ROW_STRIDE), builder.sub(job.first, integer(_PANEL))
        column, numbers = self._dealt(job)
        # Past the matrix its last row is read again: loads that wait for no condition are under way together.
        inside = [builder.smin(job.row(number), integer(self.size - 1)) for number in numbers]
        loaded = [left.load(row, builder.add(first, column)) for row in inside]
        for number, value in zip(numbers, loaded, strict=True):
            at = builder.add(builder.mul(number, integer(_ROW_STRIDE)), column)
            builder.store(value, builder.gep("double", rows, at), align=8)
        grid.barrier(builder)
        return rows

    def _less(self, job: _Job, start: list[Value], row: Value, others: list[Value]) -> list[Value]:
        """Elements less the products of a row of the panel before with others, by the numbers of these in the block."""
        builder, rows, result = job.builder, self._before(job), list(start)

        def pair(number: Value, term: int) -> list[Value]:
            at = builder.add(builder.mul(number, integer(_ROW_STRIDE)), integer(term))
            loaded = builder.load("<2 x double>", builder.gep("double", rows, at), align=16)
            return [builder.extract(loaded, lane) for lane in (0, 1)]

        for term in range(0, _PANEL, 2):
            mine, theirs = pair(row, term), [pair(other, term) for other in others]
            for lane in (0, 1):
                for n, other in enumerate(theirs):
                    product = builder.binary("fmul", mine[lane], other[lane], SUM)
                    result[n] = builder.binary("fsub", result[n], product, SUM)
        return result

    def _eliminate(self, job: _Job, keeps: Value) -> None:
        """Make the block's rows of the panel; `keeps` says whether the square is written, too."""
        builder, columns = job.builder, self._in_shared(job.builder, "columns", _PANEL * _COLUMN_STRIDE)

        def address(column: Value, number: Value) -> Value:
            at = builder.add(builder.mul(column, integer(_COLUMN_STRIDE)), number)
            return builder.gep("double", columns, at)

        self._load(job, address)
        share, number = builder.udivrem(grid.thread(builder), integer(_ROWS))
        mine = [builder.add(integer(_SHARES * n), share) for n in range(_PANEL // _SHARES)]
        with builder.when(builder.compare("sgt", job.first, integer(0)), "before"):
            start = [self._shared(builder, address(column, number)) for column in mine]
            for column, value in zip(mine, self._less(job, start, number, mine), strict=True):
                builder.store(value, address(column, number), align=8)
        left = [self._shared(builder, address(column, number)) for column in mine]
        for step in range(_PANEL):
            done, pivoted = step // _SHARES, integer(step)
            with builder.when(builder.compare("eq", share, integer(step % _SHARES)), "owner"):
                builder.store(left[done], address(pivoted, number), align=8)
            grid.barrier(builder)
            pivot = self._shared(builder, address(pivoted, pivoted))
            is_positive = builder.compare("ogt", pivot, floating(0.0, "double"))
            checked = builder.select(is_positive, pivot, floating(math.nan, "double"))
            inverse = builder.binary("fdiv", floating(1.0, "double"), checked)
            own = self._shared(builder, address(pivoted, number))
            quotient = builder.binary("fmul", own, inverse)
            for n in range(done, _PANEL // _SHARES):
                other = self._shared(builder, address(pivoted, mine[n]))
                left[n] = builder.binary("fsub", left[n], builder.binary("fmul", quotient, other, SUM), SUM)
        self._store(job, keeps, address)

    def _load(self, job: _Job, address: Address) -> None:
        """Bring the block's rows of the panel to shared memory.

        Above the diagonal the matrix may hold anything, and past it there is nothing: elements of its last row, or on
        its diagonal, stand for those, and nobody asks for what becomes of them.
        """
        builder = job.builder
        column, numbers = self._dealt(job)
        rows = [builder.smin(job.row(number), integer(self.size - 1)) for number in numbers]
        columns = [builder.smin(builder.add(job.first, column), row) for row in rows]

        def load(source: Matrix) -> None:
            loaded = [source.load(*at) for at in zip(rows, columns, strict=True)]
            for number, value in zip(numbers, loaded, strict=True):
                builder.store(value, address(column, number), align=8)

        self._source(job, load)
        grid.barrier(builder)

    def _store(self, job: _Job, keeps: Value, address: Address) -> None:
        """Write the block's rows of the factor: what was left in each column by the root of its pivot."""
        builder = job.builder
        left, factor = self._left(builder, job.matrix), self.form.matrices(builder, job.matrix)[1]
        grid.barrier(builder)
        column, numbers = self._dealt(job)
        at, root = builder.add(job.first, column), pivot_root(builder, self._shared(builder, address(column, column)))
        found = [self._shared(builder, address(column, number)) for number in numbers]
        quotients = [builder.binary("fdiv", value, root) for value in found]
        grid.barrier(builder)
        # Each is in memory before it is asked for whether it is kept: all divisions are under way together.
        for number, quotient in zip(numbers, quotients, strict=True):
            is_pivot = builder.compare("eq", number, column)
            builder.store(builder.select(is_pivot, root, quotient), address(column, number), align=8)
        for step, number in enumerate(numbers):
            row, is_square = job.row(number), step < len(numbers) // 2
            kept = (
                builder.binary("and", builder.compare("slt", row, integer(self.size)), keeps)
                if is_square
                else (builder.compare("slt", row, integer(self.size)))
            )
            with builder.when(builder.binary("and", kept, builder.compare("sge", row, at)), "kept"):
                value = self._shared(builder, address(column, number))
                factor.store(row, at, value)
                if not is_square:
                    left.store(row, at, value)

    def _update(self, job: _Job) -> None:
        """Take the panel before out of a tile: a thread has a few elements of a column of it."""
        builder, left = job.builder, self._left(job.builder, job.matrix)
        group, lane = builder.udivrem(grid.thread(builder), integer(_PANEL))
        each = _PANEL * _PANEL // _THREADS
        numbers = [builder.add(builder.mul(group, integer(each)), integer(n)) for n in range(each)]
        rows, column = [builder.add(job.bases[0], number) for number in numbers], builder.add(job.bases[1], lane)
        other = builder.add(lane, integer(_PANEL))
        zeros = [floating(0.0, "double")] * each
        changes = self._less(job, zeros, other, numbers)

        def add(source: Matrix) -> None:
            for row, change in zip(rows, changes, strict=True):
                inside = builder.compare("slt", row, integer(self.size))
                with builder.when(builder.binary("and", inside, builder.compare("sge", row, column)), "inside"):
                    left.store(row, column, builder.binary("fadd", source.load(row, column), change))

        self._source(job, add)

    def _finish(self) -> Launch:
        """Zeros above the factor; as XLA has it, NaN everywhere where a matrix is not positive definite."""

        def finish(builder: Builder, number: Value) -> None:
            row, column = builder.udivrem(number, integer(self.size))
            matrix, row = builder.udivrem(row, integer(self.size))
            factor, last = self.form.matrices(builder, matrix)[1], integer(self.size - 1)
            pivot = factor.load(last, last)
            failed, is_above = builder.compare("uno", pivot, pivot), builder.compare("slt", row, column)
            # The last pivot stays as it is: everybody reads it.
            is_other = builder.compare("slt", builder.smin(row, column), last)
            fills = builder.binary("and", builder.binary("or", failed, is_above), is_other)
            with builder.when(fills, "filled"):
                factor.store(row, column, builder.select(failed, floating(math.nan, "double"), floating(0.0, "double")))

        return grid.for_each(self.module, self.kernel, self.form.batch * self.size**2, finish, "_finish")
