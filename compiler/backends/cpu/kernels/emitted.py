"""What a kernel emitter hands to the program: functions to call in order, with the same arguments each.

A kernel function is `void NAME(ptr inputs..., ptr outputs..., ptr workspace, i64 thread, i64 threads)`, every pointer
`noalias`.  Where a kernel needs all threads to have finished one part before the next, it is several functions, and the
program puts a barrier between them.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.codegen.elemental import Elemental, buffer_leaf
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Function, Module, Value


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel in LLVM IR.

    Attributes:
        kernel: what it computes.
        functions: names of the functions to call, in order.
        workspace_bytes: scratch memory it needs, for all threads together.
        parallel: whether its functions share the work out; if not, one thread runs them alone.
        work: estimated nanoseconds on one thread.
    """

    kernel: Kernel
    functions: tuple[str, ...]
    workspace_bytes: int
    parallel: bool
    work: float


def parameters(kernel: Kernel) -> list[tuple[str, str]]:
    """The parameter list of a kernel's functions."""
    inputs = [("ptr noalias readonly align 8", f"in{n}") for n in range(len(kernel.inputs))]
    outputs = [("ptr noalias align 8", f"out{n}") for n in range(len(kernel.outputs))]
    return [*inputs, *outputs, ("ptr noalias align 64", "workspace"), ("i64", "thread"), ("i64", "threads")]


def begin(module: Module, kernel: Kernel, suffix: str = "") -> Function:
    """Start one of a kernel's functions."""
    return module.function(
        f"{kernel.name}{suffix}",
        "void",
        parameters(kernel),
        linkage="internal",
        attributes='noinline nounwind "frame-pointer"="none"',
    )


@dataclass(frozen=True, slots=True)
class Arguments:
    """A kernel function's arguments by role."""

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    workspace: Value
    thread: Value
    threads: Value


def arguments(kernel: Kernel) -> Arguments:
    """The arguments as values, the same in every function of the kernel."""
    return Arguments(
        tuple(Value("ptr", f"%in{n}") for n in range(len(kernel.inputs))),
        tuple(Value("ptr", f"%out{n}") for n in range(len(kernel.outputs))),
        Value("ptr", "%workspace"),
        Value("i64", "%thread"),
        Value("i64", "%threads"),
    )


def elemental_of(kernel: Kernel, emission: Emission) -> Elemental:
    """Values inside a kernel, its leaves read from the kernel's inputs."""
    given = arguments(kernel)
    leaves = {
        leaf: buffer_leaf(emission, given.inputs[number], leaf.array)
        for leaf, number in kernel.leaves
        if leaf.array.element_type.bits
    }
    return Elemental(emission, leaves)
