"""The table of kernel emitters by kind."""

from __future__ import annotations

from collections.abc import Callable

from compiler.backends.cpu.kernels import (
    convolution,
    dot,
    dot_complex,
    fft,
    foreign,
    iteration,
    loop,
    pool_gradient,
    reduce,
    row,
    scatter,
    select_scatter,
    sort,
    update,
    window,
)
from compiler.backends.cpu.kernels.emitted import EmittedKernel
from compiler.backends.cpu.kernels.linear_algebra import lapack, triangular
from compiler.codegen.kernel import Kernel, KernelKind
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Module

Emitter = Callable[[Module, Kernel, Target, int], EmittedKernel]
"""Emits a kernel into a module for a target and calls with up to that many threads."""

EMITTERS: dict[KernelKind, Emitter] = {
    KernelKind.LOOP: lambda module, kernel, target, threads: (
        dot_complex.emit(module, kernel, target, threads) if dot_complex.applies(kernel) else loop.emit(module, kernel)
    ),
    KernelKind.ITERATION: lambda module, kernel, _target, _threads: iteration.emit(module, kernel),
    KernelKind.REDUCE: lambda module, kernel, target, threads: (
        loop.emit(module, kernel) if loop.takes_sums(kernel) else reduce.emit(module, kernel, target, threads)
    ),
    KernelKind.ROW: lambda module, kernel, target, _threads: row.emit(module, kernel, target),
    KernelKind.DOT: dot.emit,
    KernelKind.CONVOLUTION: convolution.emit,
    KernelKind.REDUCE_WINDOW: lambda module, kernel, _target, threads: window.emit(module, kernel, threads),
    KernelKind.SCATTER: lambda module, kernel, _target, _threads: scatter.emit(module, kernel),
    KernelKind.UPDATE: lambda module, kernel, _target, _threads: update.emit(module, kernel),
    KernelKind.SELECT_AND_SCATTER: lambda module, kernel, _target, _threads: (
        pool_gradient.emit(module, kernel) if pool_gradient.applies(kernel) else select_scatter.emit(module, kernel)
    ),
    KernelKind.SORT: lambda module, kernel, _target, threads: sort.emit(module, kernel, threads),
    KernelKind.CHOLESKY: triangular.emit_cholesky,
    KernelKind.TRIANGULAR_SOLVE: triangular.emit_solve,
    KernelKind.FFT: lambda module, kernel, _target, threads: fft.emit(module, kernel, threads),
    KernelKind.LAPACK: lapack.emit,
    KernelKind.FOREIGN: lambda module, kernel, _target, _threads: foreign.emit(module, kernel),
}
"""How each kind of kernel is emitted."""
