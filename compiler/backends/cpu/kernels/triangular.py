"""Kernels for triangular matrices: cholesky and triangular-solve, row by row, with sums in f64.

Every element is a sum over what has been computed before, so a matrix (for solve, a right-hand side) is one thread's;
batches are shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.codegen import element, nest
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, floating, integer
from compiler.codegen.signature import arguments
from compiler.diagnostics import UnsupportedError
from compiler.ir.types import F64, ElementType

_STEP_NS = 0.5
_SUM = "contract reassoc"

Address = Callable[[Value, Value], Value]
"""The address of an element of a matrix from its row and column."""


def _real(kernel: Kernel) -> ElementType:
    element_type = kernel.outputs[0].element_type
    if not element_type.is_float:
        reason = "only of real matrices so far"
        raise UnsupportedError(f"{kernel.instruction.opcode} of {element_type}", "code generation", reason)
    return element_type


def _load(builder: Builder, element_type: ElementType, address: Value) -> Value:
    return element.convert(builder, element.load(builder, element_type, address), element_type, F64)


def _store(builder: Builder, element_type: ElementType, value: Value, address: Value) -> None:
    element.store(builder, element_type, element.convert(builder, value, F64, element_type), address)


def _matrix(builder: Builder, element_type: ElementType, base: Value, columns: int, *, transposed: bool) -> Address:
    def address(row: Value, column: Value) -> Value:
        row, column = (column, row) if transposed else (row, column)
        offset = builder.add(builder.mul(row, integer(columns)), column)
        return builder.gep(element.storage_type(element_type), base, offset)

    return address


def _part(builder: Builder, element_type: ElementType, pointer: Value, number: Value, size: int) -> Value:
    """The address of the matrix of that number in a batch."""
    return builder.gep(element.storage_type(element_type), pointer, builder.mul(number, integer(size)))


def emit_cholesky(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a Cholesky kernel."""
    element_type, dims = _real(kernel), kernel.outputs[0].dims
    size, batch = dims[-1], math.prod(dims[:-2])
    builder = Builder(begin(module, kernel))
    given = arguments(kernel)
    part = nest.share(builder, batch, THREAD, THREADS)
    transposed = not kernel.roots[0].attributes.get("lower", False)
    with builder.loop(part.start, part.stop, name="matrix") as loop:
        source, target = (
            _matrix(
                builder,
                element_type,
                _part(builder, element_type, p, loop.index, size * size),
                size,
                transposed=transposed,
            )
            for p in (given.inputs[0], given.outputs[0])
        )
        with builder.loop(integer(0), integer(size), carried=[floating(0.0, "double")], name="row") as row:
            bad = _cholesky_row(builder, element_type, (source, target), row.index, size)
            row.carry(builder.binary("fadd", row.carried[0], bad))
        failed = builder.compare("uno", row.results[0], row.results[0])
        with builder.when(failed, "failed"):
            _fill_with_nan(builder, element_type, target, size)
    builder.ret()
    work = _STEP_NS * batch * size**3 / 3
    return EmittedKernel(kernel, (builder.function.name,), 0, batch > 1, work)


def _cholesky_row(
    builder: Builder, element_type: ElementType, matrices: tuple[Address, Address], row: Value, size: int
) -> Value:
    """Compute a row of the factor, zeros behind it; returns 0 times its diagonal, NaN if that is."""
    source, target = matrices
    with builder.loop(integer(0), row, name="column") as loop:
        rest = _rest(builder, element_type, source(row, loop.index), target, (row, loop.index))
        pivot = _load(builder, element_type, target(loop.index, loop.index))
        _store(builder, element_type, builder.binary("fdiv", rest, pivot), target(row, loop.index))
    rest = _rest(builder, element_type, source(row, row), target, (row, row))
    pivot = builder.intrinsic("sqrt.f64", [rest])
    _store(builder, element_type, pivot, target(row, row))
    with builder.loop(builder.add(row, integer(1)), integer(size), name="zero") as loop:
        _store(builder, element_type, floating(0.0, "double"), target(row, loop.index))
    bad = builder.compare("uno", pivot, pivot)
    return builder.select(bad, floating(math.nan, "double"), floating(0.0, "double"))


def _rest(
    builder: Builder, element_type: ElementType, source: Value, factor: Address, at: tuple[Value, Value]
) -> Value:
    """An element of the matrix less the product of two rows of the factor, up to the column."""
    row, column = at
    start = _load(builder, element_type, source)
    with builder.loop(integer(0), column, carried=[start], name="sum") as loop:
        left = _load(builder, element_type, factor(row, loop.index))
        right = _load(builder, element_type, factor(column, loop.index))
        product = builder.binary("fmul", left, right, _SUM)
        loop.carry(builder.binary("fsub", loop.carried[0], product, _SUM))
    return loop.results[0]


def _fill_with_nan(builder: Builder, element_type: ElementType, target: Address, size: int) -> None:
    """As XLA has it: a matrix that is not positive definite has no factor, so the whole result is NaN."""
    with (
        builder.loop(integer(0), integer(size), name="row") as row,
        builder.loop(integer(0), integer(size), name="column") as column,
    ):
        _store(builder, element_type, floating(math.nan, "double"), target(row.index, column.index))


def emit_solve(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a triangular-solve kernel: every right-hand side on its own, by substitution."""
    element_type, (solve,) = _real(kernel), kernel.roots
    attributes, shape = solve.attributes, solve.array
    left_side = attributes.get("left_side", False)
    transposed = attributes.get("transpose_a", "NO_TRANSPOSE") != "NO_TRANSPOSE"
    lower = attributes.get("lower", False) != transposed
    if not left_side:
        # x a = b is a' x' = b'.
        transposed, lower = not transposed, not lower
    size, columns = shape.dims[-2:] if left_side else shape.dims[:-3:-1]
    batch = math.prod(shape.dims[:-2])
    builder = Builder(begin(module, kernel))
    numbers = dict(kernel.leaves)
    given = arguments(kernel)
    pointers = [given.inputs[numbers[operand]] if operand in numbers else None for operand in solve.operands]
    if None in pointers:
        raise UnsupportedError("triangular-solve with a constant of one element", "code generation", kernel.name)
    part = nest.share(builder, batch * columns, THREAD, THREADS)
    with builder.loop(part.start, part.stop, name="side") as loop:
        number = builder.binary("udiv", loop.index, integer(max(1, columns)))
        column = builder.binary("urem", loop.index, integer(max(1, columns)))
        base = [
            _part(builder, element_type, pointer, number, count)
            for pointer, count in zip(
                (*pointers, given.outputs[0]), (size * size, size * columns, size * columns), strict=True
            )
            if pointer is not None
        ]
        matrix = _matrix(builder, element_type, base[0], size, transposed=transposed)
        right, solution = (
            _matrix(builder, element_type, p, columns if left_side else size, transposed=not left_side)
            for p in base[1:]
        )
        with builder.loop(integer(0), integer(size), name="unknown") as step:
            row = step.index if lower else builder.sub(integer(size - 1), step.index)
            known = (integer(0), row) if lower else (builder.add(row, integer(1)), integer(size))
            start = _load(builder, element_type, right(row, column))
            with builder.loop(*known, carried=[start], name="sum") as inner:
                factor = _load(builder, element_type, matrix(row, inner.index))
                value = _load(builder, element_type, solution(inner.index, column))
                product = builder.binary("fmul", factor, value, _SUM)
                inner.carry(builder.binary("fsub", inner.carried[0], product, _SUM))
            rest = inner.results[0]
            if not attributes.get("unit_diagonal", False):
                rest = builder.binary("fdiv", rest, _load(builder, element_type, matrix(row, row)))
            _store(builder, element_type, rest, solution(row, column))
    builder.ret()
    work = _STEP_NS * batch * columns * size * size / 2
    return EmittedKernel(kernel, (builder.function.name,), 0, batch * columns > 1, work)
