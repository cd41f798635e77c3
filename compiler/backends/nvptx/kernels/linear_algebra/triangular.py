"""Kernels for triangular matrices: factors by panels or a block for each, systems by squares or a thread for each side.

In a block of its own a factor is made column by column, each by all threads: first what is left of the column, in f64
in the workspace, then, behind a barrier that makes the pivot known to all, its quotients.
"""

from __future__ import annotations

import math

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.linear_algebra import blocked_cholesky, blocked_solve
from compiler.backends.nvptx.kernels.strategy import NOTHING, Given, Kind, Plan, Strategy, planned
from compiler.backends.strategy import Declined
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, floating, integer
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import Factorisation, Matrix, Substitution, pivot_root, rest

_ZERO = floating(0.0, "double")
_NAN = floating(math.nan, "double")
_SMALL = 8
"""Rows up to which a block has a matrix done before a panel is, whose blocks always do 32 columns (by the model)."""
_MANY_MATRICES, _SMALL_OF_MANY = 128, 32
"""So many matrices keep a GPU busy, each with a block, and up to so many rows they are done sooner (by the model)."""
_FEW_UNKNOWNS, _MANY_SIDES = 4, 150
"""A thread has a right-hand side done before a warp has a square of unknowns where these are few, or where there are so
many sides times the square of the unknowns, which a thread takes one after the other (by the model)."""


def _panels(given: Given) -> Plan | Declined:
    """The plan of panels, whose rest all blocks share."""
    form = Factorisation(given.kernel)
    if form.size <= (_SMALL_OF_MANY if form.batch >= _MANY_MATRICES else _SMALL):
        return Declined("matrices are small, or enough of them to keep a GPU busy")
    return blocked_cholesky.plan(given.kernel, form)


def _blocks(given: Given) -> Plan:
    """The plan of a block for each matrix."""
    form = Factorisation(given.kernel)
    return planned(
        lambda module: (_factor_by_blocks(module, given.kernel, form),),
        workspace_bytes=8 * form.batch * form.size,
        details={"batch": form.batch, "size": form.size},
    )


CHOLESKY = Kind((NOTHING, Strategy("panels", _panels), Strategy("a block for each matrix", _blocks)), Given)
"""Cholesky kernels."""


def _factor_by_blocks(module: Module, kernel: Kernel, form: Factorisation) -> Launch:
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
    return Launch(builder.function.name, form.batch, threads)


def _column(
    builder: Builder, matrices: tuple[Matrix, Matrix], left: Value, column: Value, extent: tuple[int, int]
) -> Value:
    """Compute a column of the factor and zeros above it; returns whether its pivot is NaN."""
    (source, target), (size, threads) = matrices, extent
    with grid.strided(builder, column, integer(size), threads) as row:
        value = rest(source.load(row, column), target, row, column)
        builder.store(value, builder.gep("double", left, row), align=8)
    grid.barrier(builder)
    pivot = pivot_root(builder, builder.load("double", builder.gep("double", left, column), align=8))
    with grid.strided(builder, column, integer(size), threads) as row:
        value = builder.load("double", builder.gep("double", left, row), align=8)
        is_pivot = builder.compare("eq", row, column)
        target.store(row, column, builder.select(is_pivot, pivot, builder.binary("fdiv", value, pivot)))
    with grid.strided(builder, integer(0), column, threads) as row:
        target.store(row, column, _ZERO)
    grid.barrier(builder)
    return builder.compare("uno", pivot, pivot)


def _side_by_thread(given: Given) -> Plan | Declined:
    """The plan of a thread for each right-hand side."""
    form = Substitution(given.kernel)
    if form.size > _FEW_UNKNOWNS and form.sides < _MANY_SIDES * form.size**2:
        return Declined("there are few right-hand sides for so many unknowns")
    return planned(
        lambda module: (grid.for_each(module, given.kernel, form.sides, form.solve),),
        details={"sides": form.sides, "size": form.size},
    )


def _squares(given: Given) -> Plan:
    """The plan of squares of unknowns, one behind the other, in a block for a few right-hand sides."""
    return blocked_solve.plan(given.kernel, Substitution(given.kernel))


TRIANGULAR_SOLVE = Kind(
    (
        NOTHING,
        Strategy("a thread for each side", _side_by_thread),
        Strategy("squares, a block for a few sides", _squares),
    ),
    Given,
)
"""Triangular-solve kernels."""
