"""The table of kernel emitters by kind."""

from __future__ import annotations

from collections.abc import Callable

from compiler.backends.cpu.kernels import dot, loop, reduce, row, scatter
from compiler.backends.cpu.kernels.emitted import EmittedKernel
from compiler.codegen.kernel import Kernel, KernelKind
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Module

Emitter = Callable[[Module, Kernel, Target, int], EmittedKernel]
"""Emits a kernel into a module for a target and calls with up to that many threads."""

EMITTERS: dict[KernelKind, Emitter] = {
    KernelKind.LOOP: lambda module, kernel, _target, _threads: loop.emit(module, kernel),
    KernelKind.REDUCE: lambda module, kernel, _target, _threads: reduce.emit(module, kernel),
    KernelKind.ROW: lambda module, kernel, _target, _threads: row.emit(module, kernel),
    KernelKind.DOT: dot.emit,
    KernelKind.SCATTER: lambda module, kernel, _target, _threads: scatter.emit(module, kernel),
}
"""How each kind of kernel is emitted."""
