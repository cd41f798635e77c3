"""The table of kernel kinds: the strategies of each, of which the first that has a plan is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.backends.cpu.kernels.convolution.kernel import CONVOLUTION
from compiler.backends.cpu.kernels.dot.kernel import DOT
from compiler.backends.cpu.kernels.fft.kernel import FFT
from compiler.backends.cpu.kernels.foreign import FOREIGN
from compiler.backends.cpu.kernels.linear_algebra.lapack import LAPACK
from compiler.backends.cpu.kernels.linear_algebra.triangular import CHOLESKY, TRIANGULAR_SOLVE
from compiler.backends.cpu.kernels.loop.iteration import ITERATION
from compiler.backends.cpu.kernels.loop.kernel import LOOP
from compiler.backends.cpu.kernels.loop.update import UPDATE
from compiler.backends.cpu.kernels.reduce.kernel import REDUCE
from compiler.backends.cpu.kernels.row.kernel import ROW
from compiler.backends.cpu.kernels.scatter.kernel import SCATTER
from compiler.backends.cpu.kernels.sort.kernel import SORT
from compiler.backends.cpu.kernels.strategy import Functions, Kind
from compiler.backends.cpu.kernels.window.kernel import REDUCE_WINDOW
from compiler.backends.cpu.kernels.window.select_scatter import SELECT_AND_SCATTER
from compiler.backends.cpu.machine import Machine
from compiler.backends.strategy import Choice
from compiler.codegen.kernel import Kernel, KernelKind

KINDS: Mapping[KernelKind, Kind[Any]] = {
    KernelKind.LOOP: LOOP,
    KernelKind.ITERATION: ITERATION,
    KernelKind.REDUCE: REDUCE,
    KernelKind.ROW: ROW,
    KernelKind.DOT: DOT,
    KernelKind.CONVOLUTION: CONVOLUTION,
    KernelKind.REDUCE_WINDOW: REDUCE_WINDOW,
    KernelKind.SCATTER: SCATTER,
    KernelKind.UPDATE: UPDATE,
    KernelKind.SELECT_AND_SCATTER: SELECT_AND_SCATTER,
    KernelKind.SORT: SORT,
    KernelKind.CHOLESKY: CHOLESKY,
    KernelKind.TRIANGULAR_SOLVE: TRIANGULAR_SOLVE,
    KernelKind.FFT: FFT,
    KernelKind.LAPACK: LAPACK,
    KernelKind.FOREIGN: FOREIGN,
}
"""How each kind of kernel is decided about."""


def decide(kernel: Kernel, machine: Machine, threads: int) -> Choice[Functions]:
    """The strategy that a kernel gets on a machine, for calls with up to that many threads."""
    return KINDS[kernel.kind].decide(kernel, machine, threads)
