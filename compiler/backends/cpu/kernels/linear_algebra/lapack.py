"""Kernels for LAPACK's routines: a matrix is one thread's, batches are shared."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.backends.cpu.kernels.linear_algebra.eigen import Eigen
from compiler.backends.cpu.kernels.linear_algebra.lu import Lu
from compiler.backends.cpu.kernels.linear_algebra.qr import Product, Qr
from compiler.backends.cpu.kernels.linear_algebra.tiles import Tiles
from compiler.codegen import element, nest
from compiler.codegen.cost import PARALLEL_NS
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments
from compiler.expansion.lapack import Call, call_of

_FMA_NS = 0.02
_ELEMENT_NS = 1.0
_ROTATION_NS = 15.0
_ALIGN = 64


@dataclass(frozen=True, slots=True)
class Method:
    """How a routine is done for one matrix.

    Attributes:
        run: emits it, given the kernel's pointers at the matrix, inputs before outputs, and the workspace.
        workspace_elements: what it needs of the matrices' type.
        work: expected nanoseconds.
    """

    run: Callable[[Builder, list[Value], Value], None]
    workspace_elements: int
    work: float


def emit(module: Module, kernel: Kernel, target: Target, threads: int) -> EmittedKernel:
    """Emit a routine's kernel for calls with up to that many threads."""
    call = call_of(kernel.instruction)
    if call is None or call.name not in METHODS or len(kernel.inputs) != len(kernel.instruction.operands):
        raise kernel.instruction.unsupported("no kernel for its routine", by="the CPU back end")
    matrix = kernel.instruction.operands[0].array
    type_ = element.storage_type(matrix.element_type)
    method = METHODS[call.name](Tiles(module, kernel.name, type_, target), call)
    batch = math.prod(matrix.dims[:-2])
    thread_bytes = -(-method.workspace_elements * matrix.element_type.size_bytes // _ALIGN) * _ALIGN
    builder = Builder(begin(module, kernel))
    part = nest.share(builder, batch, THREAD, THREADS)
    given = arguments(kernel)
    workspace = builder.gep("i8", given.workspace, builder.mul(THREAD, integer(thread_bytes)))
    arrays = [*(operand.array for operand in kernel.instruction.operands), *kernel.outputs]
    with builder.loop(part.start, part.stop, name="matrix", scalar=True) as loop:
        pointers = [
            builder.gep("i8", base, builder.mul(loop.index, integer(array.size_bytes // batch)))
            for base, array in zip((*given.inputs, *given.outputs), arrays, strict=True)
        ]
        method.run(builder, pointers, workspace)
    builder.ret()
    work = method.work * batch
    is_shared = batch > 1 and work > PARALLEL_NS
    workspace_bytes = thread_bytes * (threads if is_shared else 1)
    return EmittedKernel(kernel, (builder.function.name,), workspace_bytes, is_shared, work)


def _getrf(tiles: Tiles, call: Call) -> Method:
    rows, columns = call.shapes[0].dims[-2:]
    form = Lu(tiles, rows, columns)
    function = form.emit()

    def run(builder: Builder, pointers: list[Value], workspace: Value) -> None:
        source, matrix, pivots, info = pointers
        builder.copy_bytes(source, matrix, integer(rows * columns * tiles.bytes))
        builder.call(function, "void", [matrix, pivots, info, workspace])

    work = _FMA_NS * rows * columns * form.steps + _ELEMENT_NS * rows * columns
    return Method(run, form.workspace_elements, work)


def _geqrf(tiles: Tiles, call: Call) -> Method:
    rows, columns = call.shapes[0].dims[-2:]
    form = Qr(tiles, rows, columns)
    function = form.emit()

    def run(builder: Builder, pointers: list[Value], workspace: Value) -> None:
        source, matrix, factors = pointers
        builder.copy_bytes(source, matrix, integer(rows * columns * tiles.bytes))
        builder.call(function, "void", [matrix, factors, workspace])

    work = 2 * _FMA_NS * rows * columns * min(rows, columns) + _ELEMENT_NS * rows * columns
    return Method(run, form.blocks.workspace_elements, work)


def _orgqr(tiles: Tiles, call: Call) -> Method:
    rows, columns = call.shapes[0].dims[-2:]
    form = Product(tiles, rows, columns, call.instruction.operands[1].array.dims[-1])
    function = form.emit()

    def run(builder: Builder, pointers: list[Value], workspace: Value) -> None:
        builder.clear_bytes(pointers[2], integer(rows * columns * tiles.bytes))
        builder.call(function, "void", [*pointers, workspace])

    work = 2 * _FMA_NS * rows * columns * form.steps + _ELEMENT_NS * rows * columns
    return Method(run, form.blocks.workspace_elements, work)


def _syevd(tiles: Tiles, call: Call) -> Method:
    size = call.shapes[0].dims[-1]
    form = Eigen(tiles, size, lower=call.options["uplo"] == "L", vectors=call.options.get("mode", "V") == "V")
    function = form.emit()

    def run(builder: Builder, pointers: list[Value], workspace: Value) -> None:
        builder.call(function, "void", [*pointers, workspace])

    return Method(run, form.workspace_elements, 4 * _FMA_NS * size**3 + _ROTATION_NS * size**2)


METHODS: dict[str, Callable[[Tiles, Call], Method]] = {
    "getrf": _getrf,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "syevd": _syevd,
}
"""By LAPACK's name; the routines of `expansion.lapack.KERNELS`."""
