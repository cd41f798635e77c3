"""An emitted kernel, as the program takes it: functions to call in order, with the same arguments each.

A kernel function is `void NAME(inputs..., outputs..., workspace, i64 thread, i64 threads)`.  Where all chunks of
one part must be finished before the next begins, a kernel is several functions, each in a phase of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compiler.codegen import signature
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I64, Builder, Function, Module, Value

THREAD = Value(I64, "%thread")
THREADS = Value(I64, "%threads")


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel in LLVM IR.

    Attributes:
        kernel: what it computes.
        functions: names of the functions to call, in order.
        workspace_bytes: scratch memory it needs, for all chunks together.
        parallel: whether threads share its functions' work; if not, one thread runs them alone.
        cost_ns: estimated nanoseconds on one thread.
        chunks_per_thread: into how many chunks each thread's share may be cut.
        callback: what of Python it calls, which must live as long as the code does.
    """

    kernel: Kernel
    functions: tuple[str, ...]
    workspace_bytes: int
    parallel: bool
    cost_ns: float
    chunks_per_thread: int = 1
    callback: Any = None


def emit_nothing(kernel: Kernel) -> Callable[[Module], tuple[str, ...]]:
    """The emitter of a kernel that has nothing to compute: a function that returns."""

    def emit(module: Module) -> tuple[str, ...]:
        function = begin(module, kernel)
        Builder(function).ret()
        return (function.name,)

    return emit


def parameters(kernel: Kernel) -> signature.Parameters:
    """The parameter list of a kernel's functions."""
    return [*signature.parameters(kernel), (I64, "thread"), (I64, "threads")]


def begin(module: Module, kernel: Kernel, suffix: str = "") -> Function:
    """Start one of a kernel's functions.

    Args:
        module: where it is defined.
        kernel: gives name and parameters.
        suffix: what tells it from the kernel's other functions.
    """
    return module.function(
        f"{kernel.name}{suffix}", "void", parameters(kernel), linkage="internal", attributes="noinline nounwind"
    )
