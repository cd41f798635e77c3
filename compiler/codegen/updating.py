"""The piece that an in-place update kernel is emitted from on either back end.

The kernel walks over the update's elements only; the operand's memory, which is the result's, keeps everything else.
"""

from __future__ import annotations

from compiler.codegen.index import Emission, Index, linear
from compiler.codegen.kernel import Kernel
from compiler.codegen.movement import start_indices
from compiler.codegen.nest import coordinates
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.shape import ArrayShape


def shape_of(kernel: Kernel) -> ArrayShape:
    """The shape of what is written."""
    return kernel.roots[0].operands[1].array


def write_element(kernel: Kernel, emission: Emission, at: Index) -> None:
    """Compute the element of the update at a linear index, and store it where it goes.

    Args:
        kernel: the update.
        emission: where code is emitted, with what is known there.
        at: the linear index.
    """
    (root,) = kernel.roots
    operand, update, *starts = root.operands
    values = elemental_of(kernel, emission)
    indices = coordinates(emission, at, update.array.dims)
    limits = [size - taken for size, taken in zip(operand.array.dims, update.array.dims, strict=True)]
    offsets = start_indices(values, starts, limits)
    target = [index + offset for index, offset in zip(indices, offsets, strict=True)]
    value = values.value(update, indices)
    store(emission, root.array, value, arguments(kernel).outputs[0], linear(target, operand.array.dims))
