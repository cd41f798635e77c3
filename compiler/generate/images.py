"""Kernels over images: convolutions, their gradients, and pools, of any number of spatial dimensions, not all alike.

Which strategy a convolution takes hangs on its features, on where they lie and on its window; what is done at the end
of a line, of a strip of lines and at an edge hangs on the size of each dimension.  In a square with the same window
both ways, whoever takes one dimension for the other is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.generate import regimes
from compiler.generate.around import read
from compiler.generate.choices import chance, permutation, pick
from compiler.generate.combining import combiner, combiners, identity_constant, scattered_to_windows
from compiler.generate.convolutions import in_order, labels_of, orders
from compiler.generate.products import sum_type
from compiler.generate.regimes import sizes
from compiler.generate.scope import Scope
from compiler.ir.attributes import WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType
from compiler.ir.windows import output_size

_SPATIAL = (2, 2, 2, 2, 1, 3)
"""Spatial dimensions."""
_SHORTER = (0, 0, 1, 2, 5)
"""By how many elements a spatial dimension is shorter than the longest."""
_WIDER_PERCENT, _USUAL_PERCENT, _SQUARE_PERCENT, _BATCH_GROUPS_PERCENT = 50, 85, 50, 25
"""How often narrow numbers are summed in a wider type; how often labels are usual ones; how often the window is the
same in all dimensions; how often groups are of the batch."""
_MOST_PRODUCTS = 1 << 23
"""Multiply-adds: the reference does some 10^8 a second."""
_GRADIENT_PERCENT = 40
"""How often a pool is what its gradient is."""

_WINDOWS = (
    WindowDimension(1),
    WindowDimension(3),
    WindowDimension(3, 1, 1, 1),
    WindowDimension(2, 2, 0, 1),
    WindowDimension(3, 1, 1, 2, 1, 2),
    WindowDimension(5, 2, 2, 1),
    WindowDimension(1, 2),
    WindowDimension(3, 1, 2, 2, 2, reversal=True),
    None,
)
"""The window in a dimension: one element, neighbours, padded, with steps, padded unevenly with holes, wide, elements
left out, that of the gradient to what came in, and, as in the gradient to the weights, one as long as the image."""
_POOLS = (
    WindowDimension(2, 2), WindowDimension(3, 2, 0, 1), WindowDimension(3, 1, 1, 1), WindowDimension(3, 3),
    WindowDimension(1),
)  # fmt: skip
"""The same of pools."""


def _window(scope: Scope, pieces: Sequence[WindowDimension | None], extents: Sequence[int]) -> list[WindowDimension]:
    """A window with room in each dimension: the same in all, or others."""
    drawn = [pick(scope.choices, pieces)] * len(extents)
    if not chance(scope.choices, _SQUARE_PERCENT):
        drawn = [pick(scope.choices, pieces) for _ in extents]
    found = [piece or WindowDimension(size, 1, 1, 1) for size, piece in zip(extents, drawn, strict=True)]
    fits = [output_size(size, piece) > 0 for size, piece in zip(extents, found, strict=True)]
    return [piece if is_fit else WindowDimension(1) for piece, is_fit in zip(found, fits, strict=True)]


def convolved(scope: Scope, element_type: ElementType) -> Instruction:
    """A convolution: images of many features, or of single ones.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of the images.
    """
    choices, spatial = scope.choices, pick(scope.choices, _SPATIAL)
    inputs, outputs, groups, extent = sizes(choices, regimes.FEATURES)
    longest = max(3, extent // 2) if spatial > 2 else extent * extent if spatial == 1 else extent
    extents = [max(3, longest - pick(choices, _SHORTER)) for _ in range(spatial)]
    of_batch = groups if chance(choices, _BATCH_GROUPS_PERCENT) else 1
    batch, window = choices.integer(1, 3), _window(scope, _WINDOWS, extents)

    def products() -> int:
        return math.prod([batch, inputs, outputs, groups, *_ends(extents, window), *(piece.size for piece in window)])

    if products() > _MOST_PRODUCTS:
        batch = 1
    if products() > _MOST_PRODUCTS:
        window = [WindowDimension(1) for _ in extents]
    left, right, out = orders(scope, spatial, _USUAL_PERCENT)
    image = in_order(left, (of_batch * batch, inputs * (groups // of_batch), *extents))
    weights = in_order(right, (inputs, groups * outputs, *(piece.size for piece in window)))
    dims = in_order(out, (batch, groups * outputs, *_ends(extents, window)))
    return scope.build(
        "convolution",
        [read(scope, element_type, image), read(scope, element_type, weights)],
        shape=ArrayShape(sum_type(scope, element_type, _WIDER_PERCENT), dims),
        dim_labels=labels_of(left, right, out),
        window=tuple(window),
        **{"batch_group_count" if of_batch > 1 else "feature_group_count": groups},
    )


def _ends(extents: Sequence[int], window: Sequence[WindowDimension]) -> list[int]:
    return [output_size(size, piece) for size, piece in zip(extents, window, strict=True)]


def pooled(scope: Scope, element_type: ElementType) -> Instruction:
    """A pool of images, or what its gradient makes of one.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of the images.
    """
    choices = scope.choices
    batch, features, *extents = sizes(choices, regimes.POOLED)
    window = [*_window(scope, _POOLS, extents), WindowDimension(1), WindowDimension(1)]
    order = pick(choices, ((0, 3, 1, 2), (0, 1, 2, 3), permutation(choices, 4)))
    # Of the dimensions of an order, batch and features come first, as in that of a convolution.
    dims = in_order(order, (batch, features, *extents))
    laid_out = tuple(piece for _, piece in sorted(zip((*order[2:], *order[:2]), window, strict=True), key=_position))
    value = read(scope, element_type, dims)
    if chance(choices, _GRADIENT_PERCENT):
        ends = tuple(_ends(dims, laid_out))
        return scattered_to_windows(scope, value, read(scope, element_type, ends), laid_out)
    opcode = pick(choices, combiners(element_type))
    operands = [value, identity_constant(scope, opcode, element_type)]
    return scope.build("reduce-window", operands, to_apply=combiner(scope, opcode, element_type), window=laid_out)


def _position(item: tuple[int, WindowDimension]) -> int:
    return item[0]
