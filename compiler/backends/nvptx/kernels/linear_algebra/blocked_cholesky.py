"""Cholesky factors of large matrices by all blocks: panel by panel, two launches for each.

What is left of the matrix lies in the workspace, in f64.  The first launch makes a panel of columns of the factor:
every block factors the square on the diagonal for itself, in shared memory, and then solves for rows below it, a thread
each.  The second takes the panel's products out of what is left, a thread for each element.  The square is never
written to where others read it.  A pivot that is NaN makes all that come after it NaN, so the last one tells whether
there is a factor at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Plan, planned
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I64, Builder, Module, Value, floating, integer
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import SUM, Factorisation, Matrix, pivot_root
from compiler.ir.types import F64

_PANEL = 32
"""Columns of a panel: one for each lane of a warp."""
_THREADS = 128
"""Threads of a block, each for a row below the panel."""
_STRIDE = _PANEL + 1
"""From a row of the square to the next one: rows in a column lie in banks of their own."""
_AHEAD = 8
"""Elements of a row that are under way at once."""


def plan(kernel: Kernel, form: Factorisation) -> Plan:
    """The plan of panel after panel, for matrices larger than one."""
    return planned(
        lambda module: tuple(_Blocked(module, kernel, form).launches()),
        workspace_bytes=8 * form.batch * form.size**2,
        details={"batch": form.batch, "size": form.size, "panel": _PANEL},
    )


class _Blocked:
    def __init__(self, module: Module, kernel: Kernel, form: Factorisation) -> None:
        self.module, self.kernel, self.form = module, kernel, form
        self.size = form.size

    def launches(self) -> Iterator[Launch]:
        """Everything in order; the functions of a panel are told which."""
        batch, size = self.form.batch, self.size
        yield self._load()
        panel, update = self._panel(), self._update()
        for first in range(0, size, _PANEL):
            below = size - first - _PANEL
            yield Launch(panel, batch * max(1, -(-below // _THREADS)), _THREADS, (first, max(1, -(-below // _THREADS))))
            if below > 0:
                yield Launch(update, grid.blocks_for(batch * below * below, grid.BLOCK), grid.BLOCK, (first, below))
        yield self._finish()

    def _left(self, builder: Builder, number: Value) -> Matrix:
        """What is left of the matrix of that number."""
        base = builder.gep("double", arguments(self.kernel).workspace, builder.mul(number, integer(self.size**2)))
        return Matrix(
            builder,
            F64,
            lambda row, column: builder.gep("double", base, builder.add(builder.mul(row, integer(self.size)), column)),
        )

    def _elements(self, builder: Builder, number: Value, size: Value) -> tuple[Value, Value, Value]:
        """Matrix, row and column of an element of square matrices of a size."""
        row, column = builder.udivrem(number, size)
        return *builder.udivrem(row, size), column

    def _load(self) -> Launch:
        def load(builder: Builder, number: Value) -> None:
            matrix, row, column = self._elements(builder, number, integer(self.size))
            # The other triangle is not read: it may hold anything.
            with builder.when(builder.compare("sge", row, column), "lower"):
                value = self.form.matrices(builder, matrix)[0].load(row, column)
                self._left(builder, matrix).store(row, column, value)

        return grid.for_each(self.module, self.kernel, self.form.batch * self.size**2, load, "_load")

    def _panel(self) -> str:
        builder = grid.begin(self.module, self.kernel, _THREADS, "_panel", numbers=["first", "parts"], talks=True)
        first, chunks = Value(I64, "%first"), Value(I64, "%parts")
        matrix, chunk = builder.udivrem(grid.block(builder), chunks)
        mine, left = grid.thread(builder), self._left(builder, matrix)
        factor = self.form.matrices(builder, matrix)[1]
        width = builder.smin(builder.sub(integer(self.size), first), integer(_PANEL))
        square = grid.shared_array(builder, f"square.{self.kernel.name}", F64, _PANEL * _STRIDE)
        shared = Matrix(
            builder,
            F64,
            lambda row, column: builder.gep("double", square, builder.add(builder.mul(row, integer(_STRIDE)), column)),
        )
        # A row of the square is a thread's, so are rows below it: they differ in where their elements come from.
        with builder.when(builder.compare("slt", mine, width), "square"):
            at = builder.add(first, mine)
            with builder.loop(integer(0), builder.add(mine, integer(1)), name="load", nonempty=True) as loop:
                shared.store(mine, loop.index, left.load(at, builder.add(first, loop.index)))
        warp, row = builder.udivrem(mine, integer(_PANEL))
        with builder.loop(integer(0), width, name="column", nonempty=True) as step:
            column = step.index
            grid.barrier(builder)
            pivot = pivot_root(builder, shared.load(column, column))
            grid.barrier(builder)
            is_row = builder.binary("and", builder.compare("sge", mine, column), builder.compare("slt", mine, width))
            with builder.when(is_row, "divided"):
                is_pivot = builder.compare("eq", mine, column)
                quotient = builder.binary("fdiv", shared.load(mine, column), pivot)
                shared.store(mine, column, builder.select(is_pivot, pivot, quotient))
            grid.barrier(builder)
            # All warps take the column out of the rows, of which each warp has every fourth element.
            begin = builder.add(column, builder.add(integer(1), warp))
            with (
                builder.when(builder.compare("slt", row, width), "rest"),
                builder.loop(begin, builder.add(row, integer(1)), step=_THREADS // _PANEL, name="other") as other,
            ):
                rest = self._less(builder, shared.load(row, other.index), shared, (row, other.index, column))
                shared.store(row, other.index, rest)
        grid.barrier(builder)
        is_first = builder.compare("eq", chunk, integer(0))
        with (
            builder.when(builder.binary("and", is_first, builder.compare("slt", mine, width)), "keep"),
            builder.loop(integer(0), builder.add(mine, integer(1)), name="kept", nonempty=True) as loop,
        ):
            factor.store(builder.add(first, mine), builder.add(first, loop.index), shared.load(mine, loop.index))
        self._rows(builder, (left, factor, shared), first, builder.add(builder.mul(chunk, integer(_THREADS)), mine))
        builder.ret()
        return builder.function.name

    def _rows(self, builder: Builder, matrices: tuple[Matrix, Matrix, Matrix], first: Value, number: Value) -> None:
        """Solve for a row below the square, if there is one of that number; meanwhile it lies in shared memory."""
        left, factor, shared = matrices
        row, mine = builder.add(builder.add(first, integer(_PANEL)), number), grid.thread(builder)
        rows = grid.shared_array(builder, f"rows.{self.kernel.name}", F64, _PANEL * _THREADS)

        def element(column: Value) -> Value:
            return builder.gep("double", rows, builder.add(builder.mul(column, integer(_THREADS)), mine))

        with builder.when(builder.compare("slt", row, integer(self.size)), "below"):
            with builder.loop(integer(0), integer(_PANEL), step=_AHEAD, name="load", nonempty=True) as loop:
                columns = [builder.add(loop.index, integer(ahead)) for ahead in range(_AHEAD)]
                loaded = [left.load(row, builder.add(first, column)) for column in columns]
                for column, value in zip(columns, loaded, strict=True):
                    builder.store(value, element(column), align=8)
            with builder.loop(integer(0), integer(_PANEL), name="solved", nonempty=True) as step:
                at, start = builder.add(first, step.index), builder.load("double", element(step.index), align=8)
                with builder.loop(integer(0), step.index, carried=[start], name="sum") as loop:
                    known = builder.load("double", element(loop.index), align=8)
                    product = builder.binary("fmul", known, shared.load(step.index, loop.index), SUM)
                    loop.carry(builder.binary("fsub", loop.carried[0], product, SUM))
                value = builder.binary("fdiv", loop.results[0], shared.load(step.index, step.index))
                builder.store(value, element(step.index), align=8)
                left.store(row, at, value)
                factor.store(row, at, value)

    def _less(self, builder: Builder, start: Value, factor: Matrix, at: tuple[Value, Value, Value]) -> Value:
        row, column, term = at
        product = builder.binary("fmul", factor.load(row, term), factor.load(column, term), SUM)
        return builder.binary("fsub", start, product, SUM)

    def _update(self) -> str:
        builder = grid.begin(self.module, self.kernel, grid.BLOCK, "_update", numbers=["first", "below"], talks=True)
        first, below = Value(I64, "%first"), Value(I64, "%below")
        matrix, row, column = self._elements(builder, grid.linear_thread(builder, grid.BLOCK), below)
        is_inside = builder.compare("slt", matrix, integer(self.form.batch))
        with builder.when(builder.binary("and", is_inside, builder.compare("sge", row, column)), "lower"):
            left = self._left(builder, matrix)
            start = builder.add(first, integer(_PANEL))
            row, column = builder.add(start, row), builder.add(start, column)
            with builder.loop(
                integer(0), integer(_PANEL), carried=[left.load(row, column)], name="term", nonempty=True
            ) as loop:
                at = row, column, builder.add(first, loop.index)
                loop.carry(self._less(builder, loop.carried[0], left, at))
            left.store(row, column, loop.results[0])
        builder.ret()
        return builder.function.name

    def _finish(self) -> Launch:
        """Zeros above the factor; as XLA has it, NaN everywhere where a matrix is not positive definite."""

        def finish(builder: Builder, number: Value) -> None:
            matrix, row, column = self._elements(builder, number, integer(self.size))
            factor, last = self.form.matrices(builder, matrix)[1], integer(self.size - 1)
            pivot = factor.load(last, last)
            failed, is_above = builder.compare("uno", pivot, pivot), builder.compare("slt", row, column)
            # The last pivot stays as it is: everybody reads it.
            is_other = builder.compare("slt", builder.smin(row, column), last)
            fills = builder.binary("and", builder.binary("or", failed, is_above), is_other)
            with builder.when(fills, "filled"):
                factor.store(row, column, builder.select(failed, floating(math.nan, "double"), floating(0.0, "double")))

        return grid.for_each(self.module, self.kernel, self.form.batch * self.size**2, finish, "_finish")
