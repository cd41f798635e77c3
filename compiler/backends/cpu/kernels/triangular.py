"""Kernels for triangular matrices: cholesky and triangular-solve, row by row.

Every element is a sum over what has been computed before, so a matrix (for solve, a right-hand side) is one thread's;
batches are shared.
"""

from __future__ import annotations

import math

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.codegen import nest
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, floating, integer
from compiler.codegen.triangular import Factorisation, Matrix, Substitution, rest

_STEP_NS = 0.5


def emit_cholesky(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a Cholesky kernel."""
    form = Factorisation(kernel)
    builder = Builder(begin(module, kernel))
    part = nest.share(builder, form.batch, THREAD, THREADS)
    with builder.loop(part.start, part.stop, name="matrix") as loop:
        source, target = form.matrices(builder, loop.index)
        with builder.loop(integer(0), integer(form.size), carried=[floating(0.0, "double")], name="row") as row:
            bad = _cholesky_row(builder, source, target, row.index, form.size)
            row.carry(builder.binary("fadd", row.carried[0], bad))
        failed = builder.compare("uno", row.results[0], row.results[0])
        with builder.when(failed, "failed"):
            _fill_with_nan(builder, target, form.size)
    builder.ret()
    work = _STEP_NS * form.batch * form.size**3 / 3
    return EmittedKernel(kernel, (builder.function.name,), 0, form.batch > 1, work)


def _cholesky_row(builder: Builder, source: Matrix, target: Matrix, row: Value, size: int) -> Value:
    """Compute a row of the factor, zeros behind it; returns 0 times its diagonal, NaN if that is."""
    with builder.loop(integer(0), row, name="column") as loop:
        value = rest(source.load(row, loop.index), target, row, loop.index)
        pivot = target.load(loop.index, loop.index)
        target.store(row, loop.index, builder.binary("fdiv", value, pivot))
    pivot = builder.intrinsic("sqrt.f64", [rest(source.load(row, row), target, row, row)])
    target.store(row, row, pivot)
    with builder.loop(builder.add(row, integer(1)), integer(size), name="zero") as loop:
        target.store(row, loop.index, floating(0.0, "double"))
    bad = builder.compare("uno", pivot, pivot)
    return builder.select(bad, floating(math.nan, "double"), floating(0.0, "double"))


def _fill_with_nan(builder: Builder, target: Matrix, size: int) -> None:
    """As XLA has it: a matrix that is not positive definite has no factor, so the whole result is NaN."""
    with (
        builder.loop(integer(0), integer(size), name="row") as row,
        builder.loop(integer(0), integer(size), name="column") as column,
    ):
        target.store(row.index, column.index, floating(math.nan, "double"))


def emit_solve(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a triangular-solve kernel: every right-hand side on its own, by substitution."""
    form = Substitution(kernel)
    builder = Builder(begin(module, kernel))
    part = nest.share(builder, form.sides, THREAD, THREADS)
    with builder.loop(part.start, part.stop, name="side") as loop:
        form.solve(builder, loop.index)
    builder.ret()
    work = _STEP_NS * form.sides * form.size * form.size / 2
    return EmittedKernel(kernel, (builder.function.name,), 0, form.sides > 1, work)
