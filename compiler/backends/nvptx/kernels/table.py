"""The table of kernel kinds: the strategies of each, of which the first that has a plan is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.backends.nvptx.kernels.convolution import CONVOLUTION
from compiler.backends.nvptx.kernels.dot import DOT
from compiler.backends.nvptx.kernels.fft import FFT
from compiler.backends.nvptx.kernels.iteration import ITERATION
from compiler.backends.nvptx.kernels.loop import LOOP
from compiler.backends.nvptx.kernels.reduce import REDUCE
from compiler.backends.nvptx.kernels.row import ROW
from compiler.backends.nvptx.kernels.scan import REDUCE_WINDOW
from compiler.backends.nvptx.kernels.scatter import SCATTER
from compiler.backends.nvptx.kernels.select_scatter import SELECT_AND_SCATTER
from compiler.backends.nvptx.kernels.sort import SORT
from compiler.backends.nvptx.kernels.strategy import Kind
from compiler.backends.nvptx.kernels.triangular import CHOLESKY, TRIANGULAR_SOLVE
from compiler.backends.nvptx.kernels.update import UPDATE
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
