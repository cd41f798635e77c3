"""The table of kernel kinds: the strategies of each, of which the first that has a plan is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.backends.nvptx.kernels.convolution.kernel import CONVOLUTION
from compiler.backends.nvptx.kernels.dot.kernel import DOT
from compiler.backends.nvptx.kernels.fft.kernel import FFT
from compiler.backends.nvptx.kernels.linear_algebra.triangular import CHOLESKY, TRIANGULAR_SOLVE
from compiler.backends.nvptx.kernels.loop.iteration import ITERATION
from compiler.backends.nvptx.kernels.loop.kernel import LOOP
from compiler.backends.nvptx.kernels.loop.update import UPDATE
from compiler.backends.nvptx.kernels.reduce.kernel import REDUCE
from compiler.backends.nvptx.kernels.row.kernel import ROW
from compiler.backends.nvptx.kernels.scatter.kernel import SCATTER
from compiler.backends.nvptx.kernels.sort.kernel import SORT
from compiler.backends.nvptx.kernels.strategy import Kind
from compiler.backends.nvptx.kernels.window.kernel import REDUCE_WINDOW
from compiler.backends.nvptx.kernels.window.select_scatter import SELECT_AND_SCATTER
from compiler.codegen.kernel import KernelKind

KINDS: Mapping[KernelKind, Kind[Any]] = {
    KernelKind.LOOP: LOOP,
    KernelKind.ITERATION: ITERATION,
    KernelKind.REDUCE: REDUCE,
    KernelKind.ROW: ROW,
    KernelKind.DOT: DOT,
    KernelKind.CONVOLUTION: CONVOLUTION,
    KernelKind.REDUCE_WINDOW: REDUCE_WINDOW,
    KernelKind.SCATTER: SCATTER,
    KernelKind.SORT: SORT,
    KernelKind.CHOLESKY: CHOLESKY,
    KernelKind.TRIANGULAR_SOLVE: TRIANGULAR_SOLVE,
    KernelKind.FFT: FFT,
    KernelKind.SELECT_AND_SCATTER: SELECT_AND_SCATTER,
    KernelKind.UPDATE: UPDATE,
}
"""How each kind of kernel is decided about; a kind that is not here is unsupported."""
