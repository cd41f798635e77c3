"""Kernels for triangular matrices: a block for each matrix to be factored, a thread for each right-hand side.

The factor is made column by column, each by all threads: first what is left of the column, in f64 in the workspace,
then, behind a barrier that makes the pivot known to all, its quotients.
"""

from __future__ import annotations

import math

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, floating, integer
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import Factorisation, Matrix, Substitution, rest

_ZERO = floating(0.0, "double")
_NAN = floating(math.nan, "double")


def emit_cholesky(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a Cholesky kernel."""
    form = Factorisation(kernel)
    if form.batch * form.size == 0:
        return EmittedKernel(kernel, ())
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
    return EmittedKernel(kernel, (grid.for_each(module, kernel, form.sides, form.solve),))
