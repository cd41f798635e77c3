"""Kernels for LAPACK's routines: a matrix is one thread's, batches are shared."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.linear_algebra.complex_getrf import ComplexGetrf
from compiler.backends.cpu.kernels.linear_algebra.eigen import Eigen
from compiler.backends.cpu.kernels.linear_algebra.geqp3 import Geqp3
from compiler.backends.cpu.kernels.linear_algebra.hermitian import Hermitian
from compiler.backends.cpu.kernels.linear_algebra.hessenberg import Hessenberg
from compiler.backends.cpu.kernels.linear_algebra.lu import Lu
from compiler.backends.cpu.kernels.linear_algebra.numbers import Numbers
from compiler.backends.cpu.kernels.linear_algebra.ormqr import Ormqr
from compiler.backends.cpu.kernels.linear_algebra.qr import Product, Qr
from compiler.backends.cpu.kernels.linear_algebra.schur import Schur
from compiler.backends.cpu.kernels.linear_algebra.tiles import Tiles
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.strategy import Detail
from compiler.codegen import element, nest
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import whole_lines
from compiler.expansion.lapack import Call, call_of
from compiler.ir.shape import ArrayShape
from compiler.ops.arithmetic import real_part_type

_FMA_NS = 0.02
"""Nanoseconds for a multiply-add, steps in scalars and small triangles included."""
_ELEMENT_NS = 1.0
"""Nanoseconds for what is done with an element besides."""
_ROTATION_NS = 15.0
"""Nanoseconds for a plane rotation and the square roots that it takes."""


@dataclass(frozen=True, slots=True)
class Method:
    """The routine and the workspace by which one matrix is dealt with.

    Attributes:
        define: writes the function that does the work into the module of its tiles, and returns its name.
        run: emits it for one matrix, given that name, the kernel's pointers at the matrix, inputs before outputs, and
            the workspace.
        workspace_elements: what it needs of the type that a matrix's parts have.
        work: expected nanoseconds.
    """

    define: Callable[[], str]
    run: Callable[[Builder, str, list[Value], Value], None]
    workspace_elements: int
    work: float


def _decide(given: Given) -> Plan:
    """The plan of a routine, matrix by matrix."""
    kernel, call = given.kernel, call_of(given.kernel.instruction)
    numbers, operands = dict(kernel.leaves), kernel.instruction.operands
    if call is None or call.name not in METHODS or any(operand not in numbers for operand in operands):
        raise kernel.instruction.unsupported("no kernel for its routine", by="the CPU back end")
    matrix = operands[0].array
    real_type = real_part_type(matrix.element_type)
    batch = math.prod(matrix.dims[:-2])

    def method_in(module: Module) -> Method:
        return METHODS[call.name](Tiles(module, kernel.name, element.storage_type(real_type), given.machine), call)

    seen = method_in(given.scratch)
    thread_bytes = whole_lines(seen.workspace_elements * real_type.size_bytes)

    def emit(module: Module) -> Functions:
        method = method_in(module)
        function = method.define()
        builder, own = Builder(begin(module, kernel)), arguments(kernel)
        share = nest.share(builder, batch, THREAD, THREADS)
        workspace = builder.gep("i8", own.workspace, builder.mul(THREAD, integer(thread_bytes)))
        bases = [*(own.inputs[numbers[operand]] for operand in operands), *own.outputs]
        arrays = [*(operand.array for operand in operands), *kernel.outputs]
        with builder.loop(share.start, share.stop, name="matrix", scalar=True) as loop:
            pointers = [
                builder.gep("i8", base, builder.mul(loop.index, integer(array.size_bytes // batch)))
                for base, array in zip(bases, arrays, strict=True)
            ]
            method.run(builder, function, pointers, workspace)
        builder.ret()
        return (builder.function.name,)

    sizes: dict[str, Detail] = {"routine": call.name, "batch": batch, "matrix": list(matrix.dims[-2:])}
    return given.plan(emit, seen.work * batch, divisible=batch > 1, thread_bytes=thread_bytes, details=sizes)


LAPACK = Kind((Strategy("matrix by matrix", _decide),), Given)
"""Routines of LAPACK."""


def _getrf(tiles: Tiles, call: Call) -> Method:
    if call.shapes[0].element_type.is_complex:
        return _elimination(tiles, call)
    rows, columns = call.shapes[0].dims[-2:]
    form = Lu(tiles, rows, columns)

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        source, matrix, pivots, info = pointers
        builder.copy_bytes(source, matrix, integer(rows * columns * tiles.bytes))
        builder.call(function, "void", [matrix, pivots, info, workspace])

    work = _FMA_NS * rows * columns * form.steps + _ELEMENT_NS * rows * columns
    return Method(form.emit, run, form.workspace_elements, work)


def _elimination(tiles: Tiles, call: Call) -> Method:
    rows, columns = call.shapes[0].dims[-2:]
    n = _numbers(tiles, call.shapes[0])
    form = ComplexGetrf(n, rows, columns)

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        source, target, pivots, info = pointers
        n.split(builder, source, workspace, (rows, columns))
        builder.call(function, "void", [workspace, pivots, info, n.at(builder, workspace, integer(rows))])
        n.join(builder, workspace, target, (rows, columns))

    work = n.components**2 * _FMA_NS * rows * columns * min(rows, columns) + _ELEMENT_NS * rows * columns
    return Method(form.emit, run, rows * n.row + form.work_elements, work)


def _geqrf(tiles: Tiles, call: Call) -> Method:
    if call.shapes[0].element_type.is_complex:
        return _columns(tiles, call, pivoted=False)
    rows, columns = call.shapes[0].dims[-2:]
    form = Qr(tiles, rows, columns)

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        source, matrix, factors = pointers
        builder.copy_bytes(source, matrix, integer(rows * columns * tiles.bytes))
        builder.call(function, "void", [matrix, factors, workspace])

    work = 2 * _FMA_NS * rows * columns * min(rows, columns) + _ELEMENT_NS * rows * columns
    return Method(form.emit, run, form.blocks.workspace_elements, work)


def _geqp3(tiles: Tiles, call: Call) -> Method:
    return _columns(tiles, call, pivoted=True)


def _columns(tiles: Tiles, call: Call, *, pivoted: bool) -> Method:
    rows, columns = call.shapes[0].dims[-2:]
    extent, n = (rows, columns), _numbers(tiles, call.shapes[0])
    form = Geqp3(n, rows, columns, pivoted)

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        work, row = n.at(builder, workspace, integer(1)), n.at(builder, workspace, integer(1 + rows))
        n.split(builder, pointers[0], work, extent)
        if pivoted:
            builder.copy_bytes(pointers[1], pointers[3], integer(columns * 4))
        builder.call(function, "void", [work, workspace, row, pointers[3] if pivoted else workspace])
        n.join(builder, work, pointers[2 if pivoted else 1], extent)
        n.join(builder, workspace, pointers[-1], (1, min(extent)))

    work = 2 * n.components**2 * _FMA_NS * rows * columns * min(extent) + _ELEMENT_NS * rows * columns
    return Method(form.emit, run, (rows + 1) * n.row + form.work_elements, work)


def _ormqr(tiles: Tiles, call: Call) -> Method:
    vectors, factors, matrix = (operand.array for operand in call.instruction.operands)
    rows, columns = matrix.dims[-2:]
    n = _numbers(tiles, vectors, matrix)
    form = Ormqr(n, rows, columns, factors.dims[-1], adjoint=call.options["transpose"] == "true")
    return _applied(call, n, form, is_product=False)


def _ungqr(tiles: Tiles, call: Call) -> Method:
    rows, columns = call.shapes[0].dims[-2:]
    n = _numbers(tiles, call.shapes[0])
    form = Ormqr(n, rows, columns, call.instruction.operands[1].array.dims[-1], grows=True)
    return _applied(call, n, form, is_product=True)


def _applied(call: Call, n: Numbers, form: Ormqr, *, is_product: bool) -> Method:
    rows, columns = call.instruction.operands[0].array.dims[-2:]
    extent = form.rows, form.columns

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        starts = (0, 1, 1 + rows, 1 + rows + form.rows)
        factors, vectors, matrix, work = (n.at(builder, workspace, integer(start)) for start in starts)
        n.split(builder, pointers[0], vectors, (rows, columns))
        n.split(builder, pointers[1], factors, (1, form.steps))
        if is_product:
            form.identity(builder, matrix)
        else:
            n.split(builder, pointers[2], matrix, extent)
        builder.call(function, "void", [vectors, factors, matrix, work])
        n.join(builder, matrix, pointers[-1], extent)

    work = 2 * n.components**2 * _FMA_NS * form.rows * form.columns * form.steps
    return Method(form.emit, run, (1 + rows + form.rows) * n.row + form.work_elements, work)


def _orgqr(tiles: Tiles, call: Call) -> Method:
    if call.shapes[0].element_type.is_complex:
        return _ungqr(tiles, call)
    rows, columns = call.shapes[0].dims[-2:]
    form = Product(tiles, rows, columns, call.instruction.operands[1].array.dims[-1])

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        builder.clear_bytes(pointers[2], integer(rows * columns * tiles.bytes))
        builder.call(function, "void", [*pointers, workspace])

    work = 2 * _FMA_NS * rows * columns * form.steps + _ELEMENT_NS * rows * columns
    return Method(form.emit, run, form.blocks.workspace_elements, work)


def _syevd(tiles: Tiles, call: Call) -> Method:
    size = call.shapes[0].dims[-1]
    wanted = {"lower": call.options["uplo"] == "L", "vectors": call.options.get("mode", "V") == "V"}
    is_complex = call.shapes[0].element_type.is_complex
    form = Hermitian(_numbers(tiles, call.shapes[0]), **wanted) if is_complex else Eigen(tiles, size, **wanted)

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        builder.call(function, "void", [*pointers, workspace])

    return Method(form.emit, run, form.workspace_elements, 4 * _FMA_NS * size**3 + _ROTATION_NS * size**2)


def _numbers(tiles: Tiles, *matrices: ArrayShape) -> Numbers:
    """Numbers of the matrices' type, in rows that are as long as any of them is wide or high."""
    components = 2 if matrices[0].element_type.is_complex else 1
    return Numbers(tiles, components, max(size for matrix in matrices for size in matrix.dims[-2:]))


def _gehrd(tiles: Tiles, call: Call) -> Method:
    size = call.shapes[0].dims[-1]
    n = _numbers(tiles, call.shapes[0])
    form = Hessenberg(n)

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        source, matrix, factors, info = pointers
        work, row = n.at(builder, workspace, integer(1)), n.at(builder, workspace, integer(1 + size))
        n.split(builder, source, work, (size, size))
        builder.call(function, "void", [work, workspace, row])
        n.join(builder, work, matrix, (size, size))
        n.join(builder, workspace, factors, (1, size - 1))
        builder.store(integer(0, "i32"), info)

    work = 4 * n.components**2 * _FMA_NS * size**3 / 3 + _ELEMENT_NS * size * size
    return Method(form.emit, run, (size + 1) * n.row + form.work_elements, work)


def _gees(tiles: Tiles, call: Call) -> Method:
    n, wanted = _numbers(tiles, call.shapes[0]), call.options["mode"] == "V"
    form = Schur(n, whole=True, vectors=wanted)

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        source, triangle, vectors, *values, chosen, info = pointers
        builder.call(function, "void", [source, triangle, vectors, values[0], values[-1], info, workspace])
        builder.store(integer(0, "i32"), chosen)
        if not wanted:
            builder.clear_bytes(vectors, integer(n.components * n.length**2 * tiles.bytes))

    return Method(
        form.emit,
        run,
        form.workspace_elements,
        15 * n.components**2 * _FMA_NS * n.length**3 + _ROTATION_NS * n.length**2,
    )


def _geev(tiles: Tiles, call: Call) -> Method:
    """Eigenvalues alone: vectors are made from Schur's form."""
    n = _numbers(tiles, call.instruction.operands[0].array)
    form = Schur(n, whole=False, vectors=False)

    def run(builder: Builder, function: str, pointers: list[Value], workspace: Value) -> None:
        source, *values, left, right, info = pointers
        builder.call(function, "void", [source, source, source, values[0], values[-1], info, workspace])
        for vectors in (left, right):
            builder.clear_bytes(vectors, integer(2 * n.length**2 * tiles.bytes))

    return Method(
        form.emit,
        run,
        form.workspace_elements,
        6 * n.components**2 * _FMA_NS * n.length**3 + _ROTATION_NS * n.length**2,
    )


METHODS: dict[str, Callable[[Tiles, Call], Method]] = {
    "getrf": _getrf,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "syevd": _syevd,
    "heevd": _syevd,
    "gehrd": _gehrd,
    "gees": _gees,
    "geev": _geev,
    "geqp3": _geqp3,
    "ungqr": _orgqr,
    "ormqr": _ormqr,
    "unmqr": _ormqr,
}
"""By LAPACK's name; the routines of `expansion.lapack.KERNELS`."""
