"""Kernels for triangular matrices: cholesky and triangular-solve.

Every element is a sum over what has been computed before, so a matrix (for solve, a block of right-hand sides) is one
thread's; batches and blocks are shared.
"""

from __future__ import annotations

import math

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.linear_algebra.potrf import Potrf
from compiler.backends.cpu.kernels.linear_algebra.tiles import PANEL, Tiles
from compiler.backends.cpu.kernels.linear_algebra.trsm import Trsm
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.strategy import Declined
from compiler.codegen import element, nest
from compiler.codegen.in_place import of_operand
from compiler.codegen.llvm_ir import Builder, Module, floating, integer
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import Factorisation, Matrix, Substitution
from compiler.ir.types import F64

_STEP_NS = 0.5
"""Nanoseconds for a product taken away."""


def _nothing(given: Given) -> Plan | Declined:
    """The plan of factors of nothing."""
    form = Factorisation(given.kernel)
    if form.batch * form.size:
        return Declined("there are elements")

    def emit(module: Module) -> Functions:
        builder = Builder(begin(module, given.kernel))
        builder.ret()
        return (builder.function.name,)

    return given.plan(emit, 0.0, divisible=False)


def _panels(given: Given) -> Plan:
    """The plan of panels of columns, and register tiles for the rest."""
    kernel, form = given.kernel, Factorisation(given.kernel)
    # Half precision is calculated in f32.
    type_ = "double" if form.element_type is F64 else "float"

    def factor(module: Module) -> Potrf:
        return Potrf(form, Tiles(module, kernel.name, type_, given.machine))

    def emit(module: Module) -> Functions:
        mine = factor(module)
        builder = Builder(begin(module, kernel))
        function = mine.emit()
        chunk = nest.share(builder, form.batch, THREAD, THREADS)
        offset = builder.mul(THREAD, integer(mine.workspace_bytes))
        work = builder.gep("i8", arguments(kernel).workspace, offset)
        with builder.loop(chunk.start, chunk.stop, name="matrix") as loop:
            pair = form.matrices(builder, loop.index)
            failed = mine.factorise(builder, function, pair, work)
            with builder.when(builder.compare("uno", failed, failed), "failed"):
                _fill_with_nan(builder, pair[1], form.size)
        builder.ret()
        return (builder.function.name,)

    seen = factor(given.scratch)
    sizes = {"batch": form.batch, "size": form.size, "panel": PANEL, "in_place": seen.in_place}
    return given.plan(
        emit, seen.work * form.batch, divisible=form.batch > 1, thread_bytes=seen.workspace_bytes, details=sizes
    )


CHOLESKY = Kind(
    (Strategy("nothing", _nothing, in_place=True), Strategy("panels", _panels, in_place=True)), Given, of_operand(0)
)
"""Cholesky kernels."""


def _fill_with_nan(builder: Builder, target: Matrix, size: int) -> None:
    """As XLA has it: a matrix that is not positive definite has no factor, so the whole result is NaN."""
    with (
        builder.loop(integer(0), integer(size), name="row") as row,
        builder.loop(integer(0), integer(size), name="column") as column,
    ):
        target.store(row.index, column.index, floating(math.nan, "double"))


def _strips(given: Given) -> Plan | Declined:
    """The plan of strips of right-hand sides in register tiles."""
    kernel, form = given.kernel, Substitution(given.kernel)
    suits = Trsm.suits(form)
    if not suits:
        return Declined(suits.reason)

    def sides(module: Module) -> Trsm:
        return Trsm(form, Tiles(module, kernel.name, element.storage_type(form.element_type), given.machine))

    def emit(module: Module) -> Functions:
        mine = sides(module)
        builder = Builder(begin(module, kernel))
        chunk = nest.share(builder, mine.count, THREAD, THREADS)
        offset = builder.mul(THREAD, integer(mine.workspace_bytes))
        unknowns = builder.gep("i8", arguments(kernel).workspace, offset)
        solve = mine.emit()
        with builder.loop(chunk.start, chunk.stop, name="strip", scalar=True) as loop:
            mine.call(builder, solve, loop.index, unknowns)
        builder.ret()
        return (builder.function.name,)

    seen = sides(given.scratch)
    sizes = {"size": form.size, "strips": seen.count, "strip": seen.tiles.width}
    return given.plan(emit, seen.work, divisible=seen.count > 1, thread_bytes=seen.workspace_bytes, details=sizes)


def _one_by_one(given: Given) -> Plan:
    """The plan of a right-hand side after the other."""
    form = Substitution(given.kernel)

    def emit(module: Module) -> Functions:
        builder = Builder(begin(module, given.kernel))
        _solve_each(builder, form)
        return (builder.function.name,)

    work = _STEP_NS * form.sides * form.size * form.size / 2
    return given.plan(emit, work, divisible=form.sides > 1, details={"size": form.size, "sides": form.sides})


TRIANGULAR_SOLVE = Kind(
    (Strategy("strips", _strips, in_place=True), Strategy("one side at a time", _one_by_one, in_place=True)),
    Given,
    of_operand(1),
)
"""Triangular-solve kernels."""


def _solve_each(builder: Builder, form: Substitution) -> None:
    """Every right-hand side on its own."""
    chunk = nest.share(builder, form.sides, THREAD, THREADS)
    with builder.loop(chunk.start, chunk.stop, name="side") as loop:
        form.solve(builder, loop.index)
    builder.ret()
