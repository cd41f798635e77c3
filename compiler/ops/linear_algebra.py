"""dot and its kin, cholesky, triangular-solve.

The reference is the best answer, not the fastest: products of floats narrower than f64 are summed in f64 and rounded
once.  Integers wrap; where every sum is below 2^53 they go through f64 too, since NumPy has fast products for nothing
else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow, widen
from compiler.ir.opdef import Evaluator, Op
from compiler.ir.shape import UNBOUNDED, ArrayShape, Shape
from compiler.ir.shape_rules import distinct_dimensions, operand, pick_dynamic, require, result_type
from compiler.ir.types import ElementType, Kind


@dataclass(frozen=True, slots=True)
class Sides:
    """The dimension numbers of a product."""

    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]
    lhs_contracting: tuple[int, ...]
    rhs_contracting: tuple[int, ...]

    def lhs_free(self, rank: int) -> list[int]:
        """Dimensions of lhs that are neither batch nor contracted."""
        return [d for d in range(rank) if d not in self.lhs_batch + self.lhs_contracting]

    def rhs_free(self, rank: int) -> list[int]:
        """Dimensions of rhs that are neither batch nor contracted."""
        return [d for d in range(rank) if d not in self.rhs_batch + self.rhs_contracting]


def _sides(instruction: Instruction) -> Sides:
    attributes = instruction.attributes
    return Sides(
        attributes.get("lhs_batch_dims", ()),
        attributes.get("rhs_batch_dims", ()),
        attributes.get("lhs_contracting_dims", ()),
        attributes.get("rhs_contracting_dims", ()),
    )


def _dot_shape(lhs: ArrayShape, rhs: ArrayShape, sides: Sides, element_type: ElementType) -> ArrayShape:
    distinct_dimensions(sides.lhs_batch + sides.lhs_contracting, lhs.rank, "lhs batch and contracting dims")
    distinct_dimensions(sides.rhs_batch + sides.rhs_contracting, rhs.rank, "rhs batch and contracting dims")
    for what, left, right in (
        ("batch", sides.lhs_batch, sides.rhs_batch),
        ("contracting", sides.lhs_contracting, sides.rhs_contracting),
    ):
        require(len(left) == len(right), f"lhs and rhs name {len(left)} and {len(right)} {what} dims")
        for a, b in zip(left, right, strict=True):
            fits = lhs.dims[a] == rhs.dims[b] or UNBOUNDED in (lhs.dims[a], rhs.dims[b])
            require(fits, f"{what} dim {a} of {lhs} does not fit dim {b} of {rhs}")
    left_kept = [*sides.lhs_batch, *sides.lhs_free(lhs.rank)]
    right_kept = sides.rhs_free(rhs.rank)
    dims = (*(lhs.dims[d] for d in left_kept), *(rhs.dims[d] for d in right_kept))
    flags = (pick_dynamic(lhs, left_kept) or (False,) * len(left_kept)) + (
        pick_dynamic(rhs, right_kept) or (False,) * len(right_kept)
    )
    return ArrayShape(element_type, dims, flags if any(flags) else ())


def _product_type(instruction: Instruction, lhs: ArrayShape, rhs: ArrayShape) -> ElementType:
    for shape in (lhs, rhs):
        require(shape.element_type.kind is not Kind.OPAQUE, f"{instruction.opcode} takes numbers, not {shape}")
    default = lhs.element_type if lhs.element_type.bits >= rhs.element_type.bits else rhs.element_type
    return result_type(instruction, default)


def _infer_dot(instruction: Instruction) -> Shape:
    lhs, rhs = operand(instruction, 0), operand(instruction, 1)
    return _dot_shape(lhs, rhs, _sides(instruction), _product_type(instruction, lhs, rhs))


def _dot(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    types = [o.array.element_type for o in instruction.operands[:2]]
    wide = [accumulable(value, kind) for value, kind in zip(values[:2], types, strict=True)]
    return rounded(contract(wide[0], wide[1], _sides(instruction)), instruction.array.element_type)


def accumulable(value: Array, element_type: ElementType) -> Array:
    """A factor in the type that its products are summed in."""
    if element_type.kind is Kind.PRED:
        return value.astype(np.int64)
    if element_type.is_integer:
        return value.astype(np.uint64 if element_type.kind is Kind.UNSIGNED and element_type.bits == 64 else np.int64)
    return widen(value, element_type, precise=True)


def rounded(sums: Array, element_type: ElementType) -> Array:
    """Sums in the result's type: floats rounded, integers wrapped, pred true where not 0."""
    if element_type.kind is Kind.PRED:
        return np.asarray(sums != 0)
    if element_type.is_integer and element_type.bits >= 8:
        return sums.astype(element_type.dtype)
    return narrow(sums, element_type)


def contract(lhs: Array, rhs: Array, sides: Sides) -> Array:
    """The general product as one batched matrix product."""
    lhs_free, rhs_free = sides.lhs_free(lhs.ndim), sides.rhs_free(rhs.ndim)
    left = lhs.transpose(*sides.lhs_batch, *lhs_free, *sides.lhs_contracting)
    right = rhs.transpose(*sides.rhs_batch, *sides.rhs_contracting, *rhs_free)
    batch = [lhs.shape[d] for d in sides.lhs_batch]
    rows, columns = [lhs.shape[d] for d in lhs_free], [rhs.shape[d] for d in rhs_free]
    depth = math.prod(lhs.shape[d] for d in sides.lhs_contracting)
    count, m, n = math.prod(batch), math.prod(rows), math.prod(columns)
    product = multiply(left.reshape(count, m, depth), right.reshape(count, depth, n))
    return product.reshape(*batch, *rows, *columns)


def multiply(left: Array, right: Array) -> Array:
    """Batched matrix product; integers exact modulo 2^64."""
    if left.dtype.kind in "iu" and left.size and right.size:
        bound = left.shape[-1] * _largest(left) * _largest(right)
        if bound < 1 << 53:
            product = np.matmul(left.astype(np.float64), right.astype(np.float64))
            return product.astype(np.int64)
    result: Array = np.matmul(left, right)
    return result


def _largest(value: Array) -> int:
    return max(abs(int(value.min())), abs(int(value.max())))


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "dot",
            (2, 2),
            _infer_dot,
            _dot,
            "Products summed over contracting dimensions, batch by batch.",
            optional=(
                "lhs_contracting_dims",
                "rhs_contracting_dims",
                "lhs_batch_dims",
                "rhs_batch_dims",
                "operand_precision",
                "algorithm",
                "sparsity_config",
            ),
        ),
    )
}
