"""A kernel function's pointer arguments, and how the values inside a kernel are read through them.

Every kernel function starts with `ptr inputs..., ptr outputs..., ptr workspace`, all `noalias`: buffer assignment never
lets a kernel's result share memory with what it reads; what an update changes is reached through the result alone.
What a back end adds behind them is its own affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.codegen import access
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import PTR, Value
from compiler.codegen.movement import buffer_leaf
from compiler.ir.shape import ArrayShape

Parameters = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Arguments:
    """A kernel function's pointers by role."""

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    workspace: Value


def parameters(kernel: Kernel) -> Parameters:
    """The parameter list that every function of a kernel starts with."""
    inputs = [("ptr noalias readonly align 8", f"in{n}") for n in range(len(kernel.inputs))]
    outputs = [("ptr noalias align 8", f"out{n}") for n in range(len(kernel.outputs))]
    return [*inputs, *outputs, ("ptr noalias align 64", "workspace")]


def arguments(kernel: Kernel) -> Arguments:
    """The arguments as values, spelled alike in every function of the kernel."""
    return Arguments(
        tuple(Value(PTR, f"%in{n}") for n in range(len(kernel.inputs))),
        tuple(Value(PTR, f"%out{n}") for n in range(len(kernel.outputs))),
        Value(PTR, "%workspace"),
    )


def elemental_of(kernel: Kernel, emission: Emission) -> Elemental:
    """Values inside a kernel, its leaves read from the kernel's inputs; what it updates is its output."""
    given = arguments(kernel)
    updated = kernel.updated
    leaves = {
        leaf: buffer_leaf(emission, given.outputs[0] if leaf is updated else given.inputs[number], leaf.shape)
        for leaf, number in kernel.leaves
        if isinstance(leaf.shape, ArrayShape)
    }
    return Elemental(emission, leaves)


def store(emission: Emission, shape: ArrayShape, value: Value, output: Value, at: Index) -> None:
    """Store an element of a result, given by its linear index."""
    access.write(emission, output, shape.element_type, at, value)


def store_roots(kernel: Kernel, emission: Emission, indices: Sequence[Index], linear: Index) -> None:
    """Compute and store the element of every root at one point."""
    values = elemental_of(kernel, emission)
    found = [value for root in kernel.roots for value in values.elements(root, tuple(indices))]
    for shape, value, output in zip(kernel.outputs, found, arguments(kernel).outputs, strict=True):
        store(emission, shape, value, output, linear)
