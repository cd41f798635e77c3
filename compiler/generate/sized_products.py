"""Products of arrays whose sizes are known at run time only: with themselves, matrices and kernels."""

from __future__ import annotations

from typing import Any

from compiler.generate.choices import chance, permutation, pick
from compiler.generate.convolutions import in_order, labels_of, window_over
from compiler.generate.scope import Scope
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.windows import output_size

LEAST_BITS = 8
"""Of what is multiplied."""
_ITSELF_PERCENT = 50
"""How often an array is multiplied with itself."""
_BATCH_AND_FEATURES = 2  # dimensions of what is convolved, besides those of space


def multiplied(scope: Scope, value: Instruction) -> Instruction | None:
    """Its product with itself, or with a matrix along a dimension whose size is known."""
    shape, known = value.array, [d for d, is_cut in enumerate(value.array.dynamic) if not is_cut]
    if shape.element_type.bits < LEAST_BITS:
        return None
    if not known or chance(scope.choices, _ITSELF_PERCENT):
        return _squared(scope, value, scope.choices.integer(0, shape.rank - 1))
    along, columns = pick(scope.choices, known), scope.choices.integer(1, 3)
    if not scope.fits([shape.size // shape.dims[along], columns]):
        return None
    matrix = scope.like(ArrayShape(shape.element_type, (shape.dims[along], columns)))
    return scope.build("dot", [value, matrix], lhs_contracting_dims=(along,), rhs_contracting_dims=(0,))


def _squared(scope: Scope, value: Instruction, along: int) -> Instruction | None:
    """Its product with itself along any dimension: what lies beyond its size adds nothing to the sums."""
    rest = value.array.size // value.array.dims[along]
    if not scope.fits([rest, rest]):
        return None
    return scope.build("dot", [value, value], lhs_contracting_dims=(along,), rhs_contracting_dims=(along,))


def convolved(scope: Scope, value: Instruction) -> Instruction | None:
    """Its convolution with a kernel, where a size that is known may be that of features: the others may be any."""
    shape, choices = value.array, scope.choices
    features = [d for d, is_cut in enumerate(shape.dynamic) if not is_cut]
    if shape.rank < _BATCH_AND_FEATURES or not features or shape.element_type.bits < LEAST_BITS:
        return None
    feature = pick(choices, features)
    batch, *spatial = (d for d in permutation(choices, shape.rank) if d != feature)
    right, out = (permutation(choices, shape.rank) for _ in range(2))
    window = window_over(scope, [shape.dims[d] for d in spatial])
    ends = [output_size(shape.dims[d], piece) for d, piece in zip(spatial, window, strict=True)]
    groups = pick(choices, [n for n in (1, 1, 2, 3) if shape.dims[feature] % n == 0])
    outputs = groups * choices.integer(1, 3)
    if min(ends, default=1) < 1 or not scope.fits([shape.dims[batch], outputs, *ends]):
        return None
    dims = in_order(right, (shape.dims[feature] // groups, outputs, *(piece.size for piece in window)))
    kernel = scope.like(ArrayShape(shape.element_type, dims))
    labels = labels_of([batch, feature, *spatial], right, out)
    attributes: dict[str, Any] = {"dim_labels": labels, "window": tuple(window), "feature_group_count": groups}
    return scope.build("convolution", [value, kernel], **attributes)
