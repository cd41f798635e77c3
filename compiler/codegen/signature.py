"""A kernel function's pointer arguments, and how the values inside a kernel are read through them.

Every kernel function starts with `ptr inputs..., ptr outputs..., ptr workspace`, all `noalias`: buffer assignment never
lets a kernel's result share memory with what it reads, but where a kernel was told so.  An output in the memory of an
input is written through that input's pointer, so that LLVM knows of each access which others it meets; what an update
changes is reached through the result alone.  What a back end adds behind them is its own affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.analysis.storage import alignment_of
from compiler.codegen import access
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import PTR, Value
from compiler.codegen.movement import buffer_leaf
from compiler.ir.shape import ArrayShape

Parameters = list[tuple[str, str]]

_ALIGNMENT = 8
"""Bytes at whose multiples arrays start that are no smaller."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A kernel function's pointers by role."""

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    workspace: Value


def parameters(kernel: Kernel) -> Parameters:
    """The parameter list that every function of a kernel starts with."""
    written = {number for _, number in kernel.in_place}
    sizes = [value.shape.size_bytes for value in kernel.inputs]
    inputs = [
        (f"ptr noalias{'' if number in written else ' readonly'} align {_alignment(size)}", f"in{number}")
        for number, size in enumerate(sizes)
    ]
    outputs = [
        (f"ptr noalias align {_alignment(array.size_bytes)}", f"out{n}") for n, array in enumerate(kernel.outputs)
    ]
    return [*inputs, *outputs, ("ptr noalias align 64", "workspace")]


def _alignment(size_bytes: int) -> int:
    return min(_ALIGNMENT, alignment_of(size_bytes))


def arguments(kernel: Kernel) -> Arguments:
    """The arguments as values, spelled alike in every function of the kernel."""
    names = {output: f"%in{number}" for output, number in kernel.in_place}
    return Arguments(
        tuple(Value(PTR, f"%in{n}") for n in range(len(kernel.inputs))),
        tuple(Value(PTR, names.get(n, f"%out{n}")) for n in range(len(kernel.outputs))),
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
    """Store an element of a result, given by its linear index.

    Args:
        emission: where code is emitted, with what is known there.
        shape: of the result.
        value: the element, in the form in which it is computed with.
        output: where the result begins.
        at: the element's number.
    """
    access.write(emission, output, shape.element_type, at, value)


def store_roots(kernel: Kernel, values: Elemental, indices: Sequence[Index], linear: Index) -> None:
    """Compute and store the element of every root at one point.

    Args:
        kernel: what is computed.
        values: what evaluates elements.
        indices: of the point, one for each dimension.
        linear: its number.
    """
    found = [value for root in kernel.roots for value in values.elements(root, tuple(indices))]
    for shape, value, output in zip(kernel.outputs, found, arguments(kernel).outputs, strict=True):
        store(values.emission, shape, value, output, linear)
