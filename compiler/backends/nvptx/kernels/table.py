"""The table of kernel emitters by kind."""

from __future__ import annotations

from collections.abc import Callable

from compiler.backends.nvptx.kernels import (
    dot,
    fft,
    loop,
    reduce,
    row,
    scatter,
    select_scatter,
    sort,
    triangular,
    update,
)
from compiler.backends.nvptx.kernels.grid import EmittedKernel
from compiler.codegen.kernel import Kernel, KernelKind
from compiler.codegen.llvm_ir import Module

Emitter = Callable[[Module, Kernel], EmittedKernel]

EMITTERS: dict[KernelKind, Emitter] = {
    KernelKind.LOOP: loop.emit,
    KernelKind.REDUCE: reduce.emit,
    KernelKind.ROW: row.emit,
    KernelKind.DOT: dot.emit,
    KernelKind.CONVOLUTION: loop.emit,
    KernelKind.REDUCE_WINDOW: loop.emit,
    KernelKind.SCATTER: scatter.emit,
    KernelKind.SORT: sort.emit,
    KernelKind.CHOLESKY: triangular.emit_cholesky,
    KernelKind.TRIANGULAR_SOLVE: triangular.emit_solve,
    KernelKind.FFT: fft.emit,
    KernelKind.SELECT_AND_SCATTER: select_scatter.emit,
    KernelKind.UPDATE: update.emit,
}
"""How each kind of kernel is emitted; a kind that is not here is unsupported."""
