"""Kernels for triangular matrices: a block for each to be factored, a block or a thread for each right-hand side.

The factor is made column by column, each by all threads: first what is left of the column, in f64 in the workspace,
then, behind a barrier that makes the pivot known to all, its quotients.
"""

from __future__ import annotations

import math

from compiler.backends.nvptx.kernels import blocked_cholesky, grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.backends.nvptx.kernels.tree import power_of_two
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, floating, integer
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import SUM, Factorisation, Matrix, Substitution, rest
from compiler.ir.types import F64

_ZERO = floating(0.0, "double")
_NAN = floating(math.nan, "double")
_LARGE, _MANY_MATRICES = 192, 128
"""Rows from which on one block takes too long for a matrix, unless there are so many matrices."""
_MANY_SIDES = 8192
"""Right-hand sides from which on a thread each keeps a GPU busy."""


def emit_cholesky(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a Cholesky kernel."""
    form = Factorisation(kernel)
    if form.batch * form.size == 0:
        return EmittedKernel(kernel, ())
    if form.size >= _LARGE and form.batch < _MANY_MATRICES:
        return blocked_cholesky.emit(module, kernel, form)
    threads = min(grid.BLOCK, -(-form.size // grid.WARP) * grid.WARP)
    builder = grid.begin(module, kernel, threads, talks=True)
    number, size = grid.block(builder), integer(form.size)
    matrices = form.matrices(builder, number)
    left = builder.gep("double", arguments(kernel).workspace, builder.mul(number, size))
    with builder.loop(integer(0), size, carried=[Value(I1, "false")], name="column", nonempty=True) as column:
        bad = _column(builder, matrices, left, column.index, (form.size, threads))
        column.carry(builder.binary("or", column.carried[0], bad))
    # As XLA has it: a matrix that is not positive definite has no factor, so the whole result is NaN.
    with (
        builder.when(column.results[0], "failed"),
        grid.strided(builder, integer(0), size, threads) as row,
        builder.loop(integer(0), size, name="nan") as across,
    ):
        matrices[1].store(row, across.index, _NAN)
    builder.ret()
    launch = Launch(builder.function.name, form.batch, threads)
    return EmittedKernel(kernel, (launch,), 8 * form.batch * form.size)


def _column(
    builder: Builder, matrices: tuple[Matrix, Matrix], left: Value, column: Value, extent: tuple[int, int]
) -> Value:
    """Compute a column of the factor and zeros above it; returns whether its pivot is NaN."""
    (source, target), (size, threads) = matrices, extent
    with grid.strided(builder, column, integer(size), threads) as row:
        value = rest(source.load(row, column), target, row, column)
        builder.store(value, builder.gep("double", left, row), align=8)
    grid.barrier(builder)
    pivot = builder.intrinsic("sqrt.f64", [builder.load("double", builder.gep("double", left, column), align=8)])
    with grid.strided(builder, column, integer(size), threads) as row:
        value = builder.load("double", builder.gep("double", left, row), align=8)
        is_pivot = builder.compare("eq", row, column)
        target.store(row, column, builder.select(is_pivot, pivot, builder.binary("fdiv", value, pivot)))
    with grid.strided(builder, integer(0), column, threads) as row:
        target.store(row, column, _ZERO)
    grid.barrier(builder)
    return builder.compare("uno", pivot, pivot)


def emit_solve(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a triangular-solve kernel."""
    form = Substitution(kernel)
    if form.sides * form.size == 0:
        return EmittedKernel(kernel, ())
    if form.sides >= _MANY_SIDES or form.size <= grid.WARP:
        return EmittedKernel(kernel, (grid.for_each(module, kernel, form.sides, form.solve),))
    return EmittedKernel(kernel, (_solve_by_blocks(module, kernel, form),), 8 * form.sides * form.size)


def _solve_by_blocks(module: Module, kernel: Kernel, form: Substitution) -> Launch:
    """A block for each right-hand side: what is left of it, in f64, lies in the workspace, each row with one thread.

    Unknown by unknown, the thread that has the row divides; behind a barrier all take it out of the rows that are left.
    """
    threads = min(grid.BLOCK, 2 * power_of_two(form.size - 1))
    builder = grid.begin(module, kernel, threads, talks=True)
    side, mine, size = grid.block(builder), grid.thread(builder), integer(form.size)
    number, column = builder.udivrem(side, integer(form.columns))
    factor, right, solution = form.matrices(builder, number)
    left = builder.gep("double", arguments(kernel).workspace, builder.mul(side, size))
    found = grid.shared_array(builder, f"found.{kernel.name}", F64, 2)
    with grid.strided(builder, integer(0), size, threads) as row:
        builder.store(right.load(row, column), builder.gep("double", left, row), align=8)
    with builder.loop(integer(0), size, name="unknown", nonempty=True) as step:
        row = step.index if form.is_lower else builder.sub(integer(form.size - 1), step.index)
        # Two places in turns: one barrier keeps the next unknown from those who still read this one.
        place = builder.gep("double", found, builder.binary("and", step.index, integer(1)))
        owner = builder.binary("and", row, integer(threads - 1))
        with builder.when(builder.compare("eq", owner, mine), "owner"):
            value = builder.load("double", builder.gep("double", left, row), align=8)
            if not form.unit_diagonal:
                value = builder.binary("fdiv", value, factor.load(row, row))
            solution.store(row, column, value)
            builder.store(solution.load(row, column), place, align=8)
        grid.barrier(builder)
        unknown = builder.load("double", place, align=8)
        following = builder.add(row, integer(1))
        ahead = builder.binary("and", builder.sub(mine, following), integer(threads - 1))
        known = (builder.add(following, ahead), size) if form.is_lower else (mine, row)
        with builder.loop(*known, step=threads, name="row") as other:
            address = builder.gep("double", left, other.index)
            product = builder.binary("fmul", factor.load(other.index, row), unknown, SUM)
            rest_ = builder.binary("fsub", builder.load("double", address, align=8), product, SUM)
            builder.store(rest_, address, align=8)
    builder.ret()
    return Launch(builder.function.name, form.sides, threads)
