"""Results in place: the operands that a kernel may write them over, as far as that follows from what it computes.

An element of a result may lie where an element of an operand lies that is needed for no other element.  That is so
where every way from the results down to the operand leads through elementwise ops alone; reshapes keep the order of
elements.  A row kernel reads all of a row before it writes any of it, so there a way may also lead through a reduction
of the row.  Whether a kernel really reads each element before it writes there, and only once, its emitter must know.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.codegen.kernel import Kernel
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ops import OPS, Trait, having

Pairs = tuple[tuple[int, int], ...]
"""Numbers of a result and of the input that it may lie in."""

_IN_ORDER = having(Trait.VIEW)


def same_element(kernel: Kernel) -> Pairs:
    """For kernels whose results have equal dimensions and whose elements are computed each on its own."""
    return _pairs(kernel, lambda _: False, lambda _: True)


def same_row(kernel: Kernel) -> Pairs:
    """For row kernels: results and operands with the dimensions of what is reduced."""
    (first, *_) = kernel.of_opcode("reduce")
    dims = first.operands[0].array.dims

    def is_row(value: Instruction) -> bool:
        return isinstance(value.shape, ArrayShape) and value.array.dims == dims

    return _pairs(kernel, is_row, is_row)


def of_operand(number: int) -> Callable[[Kernel], Pairs]:
    """The operand of that number, of which an element is read before the result's at its place is written."""

    def rule(kernel: Kernel) -> Pairs:
        (root,) = kernel.roots
        leaves = [dict(kernel.leaves).get(operand) for operand in root.operands]
        given = leaves[number]
        return ((0, given),) if given is not None and leaves.count(given) == 1 else ()

    return rule


def _pairs(kernel: Kernel, is_row: Callable[[Instruction], bool], writes: Callable[[Instruction], bool]) -> Pairs:
    """`is_row` tells what a reduction has read before anything is written, `writes` which roots lie in place."""
    moved = _moved(kernel, is_row)
    free = [
        n for n in range(len(kernel.inputs)) if not any(leaf in moved for leaf, number in kernel.leaves if number == n)
    ]
    outputs = zip(kernel.roots, kernel.outputs, strict=True) if len(kernel.roots) == len(kernel.outputs) else ()
    return tuple(
        (number, candidate)
        for number, (root, output) in enumerate(outputs)
        for candidate in free
        if writes(root) and _extent(output) == _extent(kernel.inputs[candidate].shape)
    )


def _extent(shape: object) -> tuple[int, int] | None:
    return (shape.size, shape.element_type.size_bytes) if isinstance(shape, ArrayShape) else None


def _moved(kernel: Kernel, is_row: Callable[[Instruction], bool]) -> set[Instruction]:
    """The leaves of which an element is read for the results' elements at other places."""
    leaves = {leaf for leaf, _ in kernel.leaves}
    moved: set[Instruction] = set()
    seen: set[tuple[Instruction, bool]] = set()
    stack = [(root, True) for root in kernel.roots]
    while stack:
        value, here = stack.pop()
        if (value, here) in seen:
            continue
        seen.add((value, here))
        if value not in leaves:
            stack += [(operand, _stays(value, operand, is_row, here=here)) for operand in value.operands]
        elif not here:
            moved.add(value)
    return moved


def _stays(value: Instruction, operand: Instruction, is_row: Callable[[Instruction], bool], *, here: bool) -> bool:
    """Whether an operand is read at the place of the value that is computed from it, or as a row."""
    if value.opcode == "reduce":
        return is_row(operand)
    if not here or not isinstance(value.shape, ArrayShape) or not isinstance(operand.shape, ArrayShape):
        return False
    if value.opcode in _IN_ORDER:
        return operand.array.size == value.array.size
    return OPS[value.opcode].elementwise and operand.array.dims == value.array.dims
