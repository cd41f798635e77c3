"""Equal kernels, which one function serves: they are told apart by what is inside and what they take.

What a kernel's code depends on besides must keep it apart: a sort looks at what its users read of it, a call of the
caller's functions and of LAPACK at what is written beside it, and what yields a tuple at who takes that apart.
"""

from __future__ import annotations

from compiler.codegen.kernel import Kernel, KernelKind
from compiler.ir.alike import Numbering
from compiler.ir.shape import ArrayShape

_OF_THEIR_OWN = frozenset({KernelKind.SORT, KernelKind.FOREIGN, KernelKind.LAPACK})


def number_of(kernel: Kernel, numbering: Numbering) -> int | None:
    """A number that equal kernels have alike; None for one that no other is equal to."""
    instruction = kernel.instruction
    if kernel.kind in _OF_THEIR_OWN:
        return None
    if instruction.opcode != "fusion" and not isinstance(instruction.shape, ArrayShape):
        return None
    body = list(kernel.body())
    if any(inner.opcode == "custom-call" for inner in body):
        return None
    leaves = {leaf: ("leaf", leaf.opcode, leaf.shape, number) for leaf, number in kernel.leaves}
    inside = numbering.graph(body, kernel.roots, leaves)
    taken = tuple(value.shape for value in kernel.inputs)
    return numbering.number((kernel.kind, inside, taken, instruction.shape, kernel.in_place))
