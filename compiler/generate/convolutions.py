"""Recipe of convolutions: of any labels, and of those that most programs have, for which there are special kernels.

What decides on a kernel is whether features lie side by side, how many there are beside a vector's lanes, whether the
window is one element, and whether each feature is a group; orders of dimensions drawn at random hardly ever are any of
it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.generate.choices import chance, permutation, pick
from compiler.generate.scope import SIZES, Scope
from compiler.ir.attributes import ConvolutionDimensions, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType
from compiler.ir.windows import output_size

_SPATIAL, _EXTENTS = (1, 2, 1, 2, 3, 0), (0, 17, 17, 8)
"""Spatial dimensions, and how long they are at most by how many there are."""
_FEATURES, _GROUPS = (1, 2, 3, 4, 1, 2, 3, 4, 8, 15, 16, 17, 33), (1, 1, 1, 2, 3, 8)
"""Features of a group, on both sides of the edges of vectors, and groups."""
_BATCHES = (1, 2, 3, 4, 1, 2, 3, 4, 5, 9, 17)
"""Images of a batch, or of each group of one: more than there are places along either side of an image, too."""
_BATCH_GROUPS_PERCENT, _USUAL_PERCENT, _NEAR_PERCENT = 40, 60, 25
"""How often groups are of the batch; how often labels are usual ones; how often one order of these is another."""
_POINT_PERCENT, _DENSE_PERCENT, _REVERSED_PERCENT = 20, 30, 15
"""How often a window is one element; how often it looks at neighbours only; how often it is reversed."""
_MOST_PRODUCTS = 1 << 20
"""Multiply-adds: the reference does some 10^8 a second."""


def orders(scope: Scope, spatial: int, usual_percent: int = _USUAL_PERCENT) -> list[list[int]]:
    """Where batch, features and spatial dimensions lie: of operands and result, of the kernel its features first.

    Args:
        scope: the source of decisions.
        spatial: how many spatial dimensions there are.
        usual_percent: how often labels are usual ones.
    """
    rank = spatial + 2
    if not chance(scope.choices, usual_percent):
        return [permutation(scope.choices, rank) for _ in range(3)]
    if chance(scope.choices, 50):
        own = [0, rank - 1, *range(1, rank - 1)]
        found = [own, [spatial, spatial + 1, *range(spatial)], own]
    else:
        own = list(range(rank))
        found = [own, [1, 0, *range(2, rank)], own]
    if chance(scope.choices, _NEAR_PERCENT):
        found[scope.choices.integer(0, 2)] = permutation(scope.choices, rank)
    return found


def window_over(scope: Scope, extents: Sequence[int]) -> list[WindowDimension]:
    """A window that fits in spatial dimensions of some sizes at some place.

    Args:
        scope: the source of decisions.
        extents: the sizes, none of them 0.
    """
    if chance(scope.choices, _POINT_PERCENT):
        return [WindowDimension(1) for _ in extents]
    is_dense = chance(scope.choices, _DENSE_PERCENT)
    pieces = []
    for extent in extents:
        length = scope.choices.integer(1, min(4, extent))
        low, high = (scope.choices.integer(0, length - 1) for _ in range(2))
        stride, base, taken = (
            1 if is_dense else pick(scope.choices, of) for of in ((1, 2), (1, 1, 1, 2), (1, 1, 1, 2))
        )
        is_reversed = chance(scope.choices, _REVERSED_PERCENT)
        pieces.append(WindowDimension(length, stride, low, high, base, taken, reversal=is_reversed))
    return pieces


def labels_of(left: Sequence[int], right: Sequence[int], out: Sequence[int]) -> ConvolutionDimensions:
    """The dimension numbers that orders are.

    Args:
        left: of the operand, batch and features first.
        right: of the kernel, features that come in and those that go out first.
        out: of the result, batch and features first.
    """
    return ConvolutionDimensions(
        left[0], left[1], tuple(left[2:]), right[0], right[1], tuple(right[2:]), out[0], out[1], tuple(out[2:])
    )


def in_order(order: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes at the places that an order says."""
    return tuple(size for _, size in sorted(zip(order, sizes, strict=True)))


def convolution(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    """A convolution; None where there is no room for it, or its window does not fit.

    Args:
        scope: where instructions are added.
        opcode: the table's, `convolution`.
        element_type: of the operands.
    """
    spatial = pick(scope.choices, _SPATIAL)
    groups, is_batch = pick(scope.choices, _GROUPS), chance(scope.choices, _BATCH_GROUPS_PERCENT)
    batch = (groups if is_batch else 1) * pick(scope.choices, _BATCHES)
    inputs, outputs = pick(scope.choices, _FEATURES), groups * pick(scope.choices, _FEATURES)
    extents = [pick(scope.choices, [n for n in SIZES if n <= _EXTENTS[spatial]]) for _ in range(spatial)]
    window = window_over(scope, extents)
    ends = [output_size(n, piece) for n, piece in zip(extents, window, strict=True)]
    if min(ends, default=1) < 1:
        return None
    left, right, out = orders(scope, spatial)
    labels = labels_of(left, right, out)
    lengths = [piece.size for piece in window]
    lhs = in_order(left, (batch, inputs * (1 if is_batch else groups), *extents))
    rhs = in_order(right, (inputs, outputs, *lengths))
    products = batch * math.prod(ends) * outputs * inputs * math.prod(lengths)
    if not all(map(scope.fits, (lhs, rhs, (batch, outputs, *ends)))) or products > _MOST_PRODUCTS:
        return None
    operands = [scope.like(ArrayShape(element_type, dims)) for dims in (lhs, rhs)]
    count = {"batch_group_count" if is_batch else "feature_group_count": groups}
    return scope.build(opcode, operands, dim_labels=labels, window=tuple(window), **count)
