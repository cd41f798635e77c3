"""Products of more than two factors: ragged-dot (groups of rows) and scaled-dot (factors scaled by blocks)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import Evaluator, Op
from compiler.ir.products import (
    ProductDimensions,
    contract,
    dot_shape,
    product_dimensions,
    rounded,
    summable,
    wider_type,
)
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.shape_rules import dimension, operand, require, result_type
from compiler.ir.traits import Trait

_NUMBERS = ("lhs_contracting_dims", "rhs_contracting_dims", "lhs_batch_dims", "rhs_batch_dims", "operand_precision")


class _RaggedDot(NamedTuple):
    """The ragged dimension of lhs, the dimension numbers, the group dimensions of rhs."""

    ragged: int
    numbers: ProductDimensions
    group_dims: tuple[int, ...]


def _ragged(instruction: Instruction) -> _RaggedDot:
    ragged = instruction.attributes.get("lhs_ragged_dims", ())
    require(len(ragged) == 1, f"ragged-dot takes one ragged dimension, not lhs_ragged_dims={list(ragged)}")
    return _RaggedDot(ragged[0], product_dimensions(instruction), instruction.attributes.get("rhs_group_dims", ()))


def _infer_ragged_dot(instruction: Instruction) -> Shape:
    lhs, rhs, sizes = operand(instruction, 0), operand(instruction, 1), operand(instruction, 2)
    ragged, numbers, group_dims = _ragged(instruction)
    dimension(ragged, lhs.rank, "lhs_ragged_dims")
    require(sizes.element_type.is_integer and sizes.rank >= 1, f"group sizes must be integers, not {sizes}")
    groups = sizes.dims[-1]
    element_type = result_type(instruction, wider_type(lhs, rhs))
    if ragged in numbers.lhs_batch:
        return dot_shape(lhs, rhs, numbers, element_type)
    if ragged in numbers.lhs_contracting:
        product = dot_shape(lhs, rhs, numbers, element_type)
        return ArrayShape(element_type, (groups, *product.dims))
    require(len(group_dims) == 1, f"rows of groups take one group dimension, not rhs_group_dims={list(group_dims)}")
    group = dimension(group_dims[0], rhs.rank, "rhs_group_dims")
    is_taken = group in numbers.rhs_batch or group in numbers.rhs_contracting
    require(not is_taken, f"group dimension {group} of {rhs} is one that products are summed or paired along")
    require(rhs.dims[group] == groups, f"dimension {group} of {rhs} must have the size {groups} of {sizes}")
    one = ArrayShape(rhs.element_type, tuple(n for d, n in enumerate(rhs.dims) if d != group))
    return dot_shape(lhs, one, _without(numbers, group), element_type)


def _without(numbers: ProductDimensions, group: int) -> ProductDimensions:
    """The dimension numbers once the group dimension of rhs is taken away."""
    return ProductDimensions(
        numbers.lhs_batch,
        tuple(d - (d > group) for d in numbers.rhs_batch),
        numbers.lhs_contracting,
        tuple(d - (d > group) for d in numbers.rhs_contracting),
    )


def _ragged_dot(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    types = [o.array.element_type for o in instruction.operands[:2]]
    lhs, rhs = (
        summable(value, kind, instruction.array.element_type) for value, kind in zip(values[:2], types, strict=True)
    )
    ragged, numbers, group_dims = _ragged(instruction)
    element_type = instruction.array.element_type
    if ragged in numbers.lhs_batch:
        return rounded(contract(lhs, rhs, numbers), element_type)
    masks = _group_masks(values[2], lhs, ragged, numbers)
    groups = [np.where(mask, lhs, 0) for mask in masks]
    if ragged in numbers.lhs_contracting:
        return rounded(np.stack([contract(one, rhs, numbers) for one in groups]), element_type)
    group = group_dims[0]
    products = [
        contract(one, np.take(rhs, index, axis=group), _without(numbers, group)) for index, one in enumerate(groups)
    ]
    return rounded(np.sum(products, axis=0), element_type)


def _group_masks(sizes: Array, lhs: Array, ragged: int, numbers: ProductDimensions) -> list[Array]:
    """For each group, where lhs belongs to it; sizes may differ from batch to batch."""
    lengths = sizes.astype(np.int64)  # what NumPy takes of them as they are, u64, is a float
    ends = np.cumsum(lengths, axis=-1)
    starts = ends - lengths
    batch = [d for d in range(lhs.ndim) if d in numbers.lhs_batch] if sizes.ndim > 1 else []
    if sizes.ndim != len(batch) + 1:
        raise ShapeError(f"group sizes of rank {sizes.ndim} do not fit {len(batch)} batch dimensions")
    spread = [lhs.shape[d] if d in batch else 1 for d in range(lhs.ndim)]
    position = np.arange(lhs.shape[ragged]).reshape([-1 if d == ragged else 1 for d in range(lhs.ndim)])
    return [
        (position >= starts[..., g].reshape(spread)) & (position < ends[..., g].reshape(spread))
        for g in range(sizes.shape[-1])
    ]


def _infer_scaled_dot(instruction: Instruction) -> Shape:
    lhs, rhs = operand(instruction, 0), operand(instruction, 1)
    for index, factor in ((2, lhs), (3, rhs)):
        scale = operand(instruction, index)
        fits = scale.rank == factor.rank or not scale.dims
        fits = fits and all(s and n % s == 0 for s, n in zip(scale.dims, factor.dims, strict=False))
        require(fits, f"the scale {scale} does not divide {factor} into blocks")
    return dot_shape(lhs, rhs, product_dimensions(instruction), result_type(instruction, wider_type(lhs, rhs)))


def _scaled_dot(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    types = [o.array.element_type for o in instruction.operands]
    lhs, rhs, lhs_scale, rhs_scale = (
        summable(v, kind, instruction.array.element_type) for v, kind in zip(values, types, strict=True)
    )
    product = contract(
        scaled_by_blocks(lhs, lhs_scale), scaled_by_blocks(rhs, rhs_scale), product_dimensions(instruction)
    )
    return rounded(product, instruction.array.element_type)


def scaled_by_blocks(factor: Array, scale: Array) -> Array:
    """A factor of a product times its scale, each element of which is for a block."""
    for axis, size in enumerate(scale.shape):
        scale = np.repeat(scale, factor.shape[axis] // size, axis=axis)
    return factor * scale


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "ragged-dot",
            (3, 3),
            _infer_ragged_dot,
            _ragged_dot,
            "Products of groups of rows with a matrix for each group.",
            optional=(*_NUMBERS, "lhs_ragged_dims", "rhs_group_dims"),
            traits=Trait.PRODUCT | Trait.ACCUMULATES,
        ),
        Op(
            "scaled-dot",
            (4, 4),
            _infer_scaled_dot,
            _scaled_dot,
            "A product of factors that are scaled block by block.",
            optional=(*_NUMBERS, "algorithm"),
            traits=Trait.PRODUCT | Trait.ACCUMULATES,
        ),
    )
}
