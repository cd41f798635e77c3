"""The table of kernel emitters by kind."""

from __future__ import annotations

from collections.abc import Callable

from compiler.backends.nvptx.kernels import (
    convolution,
    dot,
    fft,
    iteration,
    loop,
    reduce,
    row,
    scan,
    scatter,
    select_scatter,
    sort,
    triangular,
    update,
)
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Gpu
from compiler.codegen.kernel import Kernel, KernelKind
from compiler.codegen.llvm_ir import Module
from compiler.codegen.scanning import direction

Emitter = Callable[[Module, Kernel, Gpu], EmittedKernel]
"""Emits a kernel into a module."""


def _for_all(emit: Callable[[Module, Kernel], EmittedKernel]) -> Emitter:
    return lambda module, kernel, _: emit(module, kernel)


def _loop(module: Module, kernel: Kernel, gpu: Gpu) -> EmittedKernel:
    """Elements are a thread's each, but for those of a dot of complex numbers, which is never fused."""
    return dot.emit(module, kernel, gpu) if kernel.roots[0].opcode == "dot" else loop.emit(module, kernel)


def _window(module: Module, kernel: Kernel) -> EmittedKernel:
    """Windows that hold everything up to a place are scans, others are a thread's each."""
    way = direction(kernel.roots[0])
    return loop.emit(module, kernel) if way is None else scan.emit(module, kernel, way)


EMITTERS: dict[KernelKind, Emitter] = {
    KernelKind.LOOP: _loop,
    KernelKind.ITERATION: _for_all(iteration.emit),
    KernelKind.REDUCE: _for_all(reduce.emit),
    KernelKind.ROW: _for_all(row.emit),
    KernelKind.DOT: dot.emit,
    KernelKind.CONVOLUTION: convolution.emit,
    KernelKind.REDUCE_WINDOW: _for_all(_window),
    KernelKind.SCATTER: scatter.emit,
    KernelKind.SORT: _for_all(sort.emit),
    KernelKind.CHOLESKY: _for_all(triangular.emit_cholesky),
    KernelKind.TRIANGULAR_SOLVE: _for_all(triangular.emit_solve),
    KernelKind.FFT: _for_all(fft.emit),
    KernelKind.SELECT_AND_SCATTER: _for_all(select_scatter.emit),
    KernelKind.UPDATE: _for_all(update.emit),
}
"""How each kind of kernel is emitted; a kind that is not here is unsupported."""
