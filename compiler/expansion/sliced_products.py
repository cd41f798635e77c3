"""Products of a slice of an array, another one in each iteration of a loop: slices of the product of the whole array.

    dot(dynamic-slice(x, i), w)  ->  dynamic-slice(dot(x, w), i)

The sums of each element are the same.  The product of the whole reads `w` once, where each iteration would read it for
the few rows of one slice; a loop whose iterations are bound by that is what recurrent networks on small batches are.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass

from compiler.analysis.trip_count import known_trip_count
from compiler.expansion.expression import number
from compiler.ir.module import Instruction
from compiler.ir.products import ProductDimensions, product_dimensions
from compiler.ops import Trait, having
from compiler.ops.build import build

_SEEN_THROUGH = (having(Trait.VIEW) & having(Trait.MOVES)) | {"convert"}
_FEW_ROWS = 16
"""Rows of a slice below which its product is bound by memory, and one product of all slices is not: as many as register
tiles have at most. Of 4 rows and 64 KiB of weights one product takes 0.76 of the time, of 8 about as long
(`reports/measured/2026-11-26-constants`)."""
_LEAST_ELEMENTS = 4096
"""Of the factor that stays: less is near anyway."""


@dataclass(frozen=True, slots=True)
class SlicedProduct:
    """A dot one of whose operands, number `side`, is slice `taken` of an array along its dimension `along`.

    Between the slice and the dot there are `steps`, conversions and reshapes, from the slice on.
    """

    dot: Instruction
    side: int
    taken: Instruction
    steps: tuple[Instruction, ...]
    along: int

    @property
    def array(self) -> Instruction:
        """The array that is sliced."""
        return self.taken.operands[0]

    @property
    def other(self) -> Instruction:
        """The other factor."""
        return self.dot.operands[1 - self.side]

    @property
    def sides(self) -> ProductDimensions:
        """The dimension numbers with the slice for the left factor."""
        given = product_dimensions(self.dot)
        if self.side == 0:
            return given
        return ProductDimensions(given.rhs_batch, given.lhs_batch, given.rhs_contracting, given.lhs_contracting)

    @property
    def keeps(self) -> bool:
        """Whether the operand still has the sliced dimension, of size 1."""
        return self.dot.operands[self.side].array.rank == self.array.array.rank

    def moved(self, dims: tuple[int, ...]) -> tuple[int, ...]:
        """Dimensions of the array that are those of the operand."""
        return dims if self.keeps else tuple(d + (d >= self.along) for d in dims)


def find(loop: Instruction, dot: Instruction, still: Container[Instruction]) -> SlicedProduct | None:
    """The product of a slice that a dot in a loop's body is, if it pays to compute it for all slices before the loop.

    That is so if there are about as many iterations as slices, of few rows each, and if the whole product is no larger
    than what it is made of.  `still` holds what does not change from iteration to iteration.
    """
    for side in (0, 1):
        found = _sliced(dot, side)
        if found is None or found.array not in still or found.other not in still:
            continue
        slices, trip_count = found.array.array.dims[found.along], known_trip_count(loop) or 0
        summed = math.prod(found.other.array.dims[d] for d in found.sides.rhs_contracting)
        rows = dot.array.size * summed // max(found.other.array.size, 1)
        size = dot.array.size * slices
        pays = slices <= 2 * trip_count and rows < _FEW_ROWS
        far = found.other.array.size >= _LEAST_ELEMENTS
        if pays and far and size <= found.array.array.size + found.other.array.size:
            return found
    return None


def _sliced(dot: Instruction, side: int) -> SlicedProduct | None:
    steps: list[Instruction] = []
    taken = dot.operands[side]
    while taken.opcode in _SEEN_THROUGH:
        steps.insert(0, taken)
        (taken,) = taken.operands
    if taken.opcode != "dynamic-slice" or len(taken.operands) != 1 + taken.array.rank:
        return None
    whole, taken_dims = taken.operands[0].array.dims, taken.array.dims
    cut = [d for d in range(len(whole)) if whole[d] != taken_dims[d]]
    if len(cut) != 1 or taken_dims[cut[0]] != 1:
        return None
    along = cut[0]
    if dot.operands[side].array.dims not in (taken_dims, taken_dims[:along] + taken_dims[along + 1 :]):
        return None
    found = SlicedProduct(dot, side, taken, tuple(steps), along)
    special = found.moved(found.sides.lhs_batch + found.sides.lhs_contracting)
    return None if found.keeps and along in special else found


def widen(found: SlicedProduct) -> Instruction:
    """Put a slice of the product of the whole array into the dot's place; returns that product, in the same body."""
    body, dot, sides, array = found.dot.computation, found.dot, found.sides, found.array
    for step in found.steps:
        if step.opcode == "convert":
            array = build(body, "convert", [array], shape=array.array.with_type(step.array.element_type))
    attributes = dict(dot.attributes)
    attributes["lhs_contracting_dims"] = found.moved(sides.lhs_contracting)
    attributes["rhs_contracting_dims"] = sides.rhs_contracting
    if sides.lhs_batch:
        attributes["lhs_batch_dims"], attributes["rhs_batch_dims"] = found.moved(sides.lhs_batch), sides.rhs_batch
    if found.side and "operand_precision" in attributes:
        attributes["operand_precision"] = attributes["operand_precision"][::-1]
    free = [d for d in range(array.array.rank) if d not in found.moved(sides.lhs_batch + sides.lhs_contracting)]
    batch, position = len(sides.lhs_batch), len(sides.lhs_batch) + free.index(found.along)
    others = [found.other.array.dims[d] for d in sides.rhs_free(found.other.array.rank)]
    dims = [array.array.dims[d] for d in (*found.moved(sides.lhs_batch), *free)] + others
    product = build(
        body, "dot", [array, found.other], shape=dot.array.with_dims(tuple(dims)), name=dot.name, **attributes
    )
    start = found.taken.operands[1 + found.along]
    zero = number(body, 0, start.array.element_type).instruction
    starts = [start if d == position else zero for d in range(len(dims))]
    sizes = [1 if d == position else size for d, size in enumerate(dims)]
    result = build(body, "dynamic-slice", [product, *starts], dynamic_slice_sizes=tuple(sizes))
    rows = sizes[batch : len(dims) - len(others)]
    if not found.keeps:
        rows.pop(position - batch)
    split = batch + len(rows)
    result = build(body, "reshape", [result], shape=dot.array.with_dims((*sizes[:batch], *rows, *others)))
    if found.side and rows:
        rank = split + len(others)
        order = (*range(batch), *range(split, rank), *range(batch, split))
        result = build(body, "transpose", [result], dimensions=order)
    dot.replace_uses_with(result)
    return product
