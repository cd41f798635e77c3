"""Operands of a convolution that leave out zeros: of each block of N elements along a dimension only one is kept.

Such an operand is a tuple (kept elements, their positions within their blocks); `sparsity_config` says which operand
it is, N and the dimension.  The config is kept as text, because only convolutions read it and few hold it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.shape import ArrayShape, TupleShape, leaves
from compiler.ir.shape_rules import operand

_CONFIG = re.compile(r"(lhs|rhs)\s*=\s*\{\s*sparsity\s*=\s*(\d+)x(\d+)\s+dimension\s*=\s*(\d+)\s+stride\s*=\s*(\d+)")
_SIDES = ("lhs", "rhs")


@dataclass(frozen=True, slots=True)
class Sparsity:
    """One element of every `block` along a dimension."""

    block: int
    dimension: int


class Configured(NamedTuple):
    """A sparsity: so many elements are kept of every `block` along a dimension, `stride` apart."""

    kept: int
    block: int
    dimension: int
    stride: int


def configured(config: str) -> dict[str, Configured]:
    """What a `sparsity_config` says of lhs and rhs."""
    return {
        side: Configured(int(kept), int(block), int(dimension), int(stride))
        for side, kept, block, dimension, stride in _CONFIG.findall(config)
    }


def sparsity(instruction: Instruction, index: int) -> Sparsity | None:
    """How an operand of a convolution leaves out zeros; None if it holds all elements.

    Raises:
        ShapeError: the operand is a tuple that no sparsity explains.
    """
    shape = instruction.operands[index].shape
    if not isinstance(shape, TupleShape):
        return None
    found = configured(instruction.attributes.get("sparsity_config", ""))
    if index >= len(_SIDES) or _SIDES[index] not in found:
        raise ShapeError(f"operand {index} of {instruction.opcode} must be an array, not {shape}")
    kept, block, dimension, stride = found[_SIDES[index]]
    if kept != 1 or stride != 1 or not block:
        raise ShapeError(f"sparsity {kept}x{block} with stride {stride}: only one of N side by side has a meaning")
    arrays = [element for element in shape.elements if isinstance(element, ArrayShape)]
    if len(shape.elements) != 2 or len(arrays) != 2:
        raise ShapeError(f"a sparse operand is (elements, positions), not {shape}")
    elements, positions = arrays
    if elements.dims != positions.dims or not positions.element_type.is_integer or dimension >= elements.rank:
        raise ShapeError(f"{shape} is not elements and their positions in blocks along dimension {dimension}")
    return Sparsity(block, dimension)


def full_shape(instruction: Instruction, index: int) -> ArrayShape:
    """The shape of an operand with the zeros that it leaves out."""
    found = sparsity(instruction, index)
    if found is None:
        return operand(instruction, index)
    elements = next(leaves(instruction.operands[index].shape))
    dims = list(elements.dims)
    dims[found.dimension] *= found.block
    return elements.with_dims(tuple(dims))


def filled(found: Sparsity, elements: Array, positions: Array) -> Array:
    """An operand with its zeros; an element whose position is outside of its block is lost.

    Args:
        found: the dimension and how many of how many elements are there.
        elements: those that are there.
        positions: of each its place within its block.
    """
    after = found.dimension + 1
    position = np.arange(found.block).reshape(-1, *(1,) * (elements.ndim - after))
    blocks = np.where(np.expand_dims(positions, after) == position, np.expand_dims(elements, after), 0)
    dims = list(elements.shape)
    dims[found.dimension] *= found.block
    return blocks.astype(elements.dtype).reshape(dims)
