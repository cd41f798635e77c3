"""Kernels for triangular matrices: cholesky and triangular-solve.

Every element is a sum over what has been computed before, so a matrix (for solve, a block of right-hand sides) is one
thread's; batches and blocks are shared.
"""

from __future__ import annotations

import math

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.backends.cpu.kernels.linear_algebra.factor import Factor
from compiler.backends.cpu.kernels.linear_algebra.sides import Sides
from compiler.backends.cpu.kernels.linear_algebra.tiles import Tiles
from compiler.codegen import cost, element, nest
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Builder, Module, floating, integer
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import Factorisation, Matrix, Substitution
from compiler.ir.types import F64

_STEP_NS = 0.5


def emit_cholesky(module: Module, kernel: Kernel, target: Target, threads: int) -> EmittedKernel:
    """Emit a Cholesky kernel for calls with up to that many threads."""
    form = Factorisation(kernel)
    # Half precision is calculated in f32.
    type_ = "double" if form.element_type is F64 else "float"
    factor = Factor(form, Tiles(module, kernel.name, type_, target))
    builder = Builder(begin(module, kernel))
    if form.batch * form.size == 0:
        builder.ret()
        return EmittedKernel(kernel, (builder.function.name,), 0, parallel=False, work=0.0)
    function = factor.emit()
    part = nest.share(builder, form.batch, THREAD, THREADS)
    offset = builder.mul(THREAD, integer(factor.workspace_bytes))
    work = builder.gep("i8", arguments(kernel).workspace, offset)
    with builder.loop(part.start, part.stop, name="matrix") as loop:
        pair = form.matrices(builder, loop.index)
        failed = factor.factorise(builder, function, pair, work)
        with builder.when(builder.compare("uno", failed, failed), "failed"):
            _fill_with_nan(builder, pair[1], form.size)
    builder.ret()
    expected = factor.work * form.batch
    is_shared = form.batch > 1 and cost.pays(expected)
    workspace_bytes = factor.workspace_bytes * (threads if is_shared else 1)
    return EmittedKernel(kernel, (builder.function.name,), workspace_bytes, is_shared, expected)


def _fill_with_nan(builder: Builder, target: Matrix, size: int) -> None:
    """As XLA has it: a matrix that is not positive definite has no factor, so the whole result is NaN."""
    with (
        builder.loop(integer(0), integer(size), name="row") as row,
        builder.loop(integer(0), integer(size), name="column") as column,
    ):
        target.store(row.index, column.index, floating(math.nan, "double"))


def emit_solve(module: Module, kernel: Kernel, target: Target, threads: int) -> EmittedKernel:
    """Emit a triangular-solve kernel for calls with up to that many threads."""
    form = Substitution(kernel)
    builder = Builder(begin(module, kernel))
    if not Sides.suits(form):
        _solve_each(builder, form)
        work = _STEP_NS * form.sides * form.size * form.size / 2
        return EmittedKernel(kernel, (builder.function.name,), 0, form.sides > 1 and cost.pays(work), work)
    sides = Sides(form, Tiles(module, kernel.name, element.storage_type(form.element_type), target))
    part = nest.share(builder, sides.count, THREAD, THREADS)
    offset = builder.mul(THREAD, integer(sides.workspace_bytes))
    unknowns = builder.gep("i8", arguments(kernel).workspace, offset)
    solve = sides.emit()
    with builder.loop(part.start, part.stop, name="strip", scalar=True) as loop:
        sides.call(builder, solve, loop.index, unknowns)
    builder.ret()
    is_shared = sides.count > 1 and cost.pays(sides.work)
    workspace_bytes = sides.workspace_bytes * (threads if is_shared else 1)
    return EmittedKernel(kernel, (builder.function.name,), workspace_bytes, is_shared, sides.work)


def _solve_each(builder: Builder, form: Substitution) -> None:
    """Every right-hand side on its own."""
    part = nest.share(builder, form.sides, THREAD, THREADS)
    with builder.loop(part.start, part.stop, name="side") as loop:
        form.solve(builder, loop.index)
    builder.ret()
