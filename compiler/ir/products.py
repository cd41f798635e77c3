"""Sums of products: the type they are summed in and the way back, for dot, convolution and their kin.

The reference is the best answer, not the fastest: products of floats narrower than f64 are summed in f64 and rounded
once.  Integers wrap; where every sum is below 2^53 they go through f64 too, since NumPy has fast products for nothing
else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import ShapeError
from compiler.ir.module import Instruction
from compiler.ir.numbers import narrow, saturate, widen
from compiler.ir.shape import UNBOUNDED, ArrayShape
from compiler.ir.shape_rules import distinct_dimensions, require, trace_dynamic
from compiler.ir.types import ElementType, Kind

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ProductDimensions:
    """The dimensions of the two factors of a general product that are batches, and those that are summed over."""

    lhs_batch: tuple[int, ...] = ()
    rhs_batch: tuple[int, ...] = ()
    lhs_contracting: tuple[int, ...] = ()
    rhs_contracting: tuple[int, ...] = ()

    def lhs_free(self, rank: int) -> list[int]:
        """Dimensions of lhs that are neither batch nor contracted."""
        return [d for d in range(rank) if d not in self.lhs_batch + self.lhs_contracting]

    def rhs_free(self, rank: int) -> list[int]:
        """Dimensions of rhs that are neither batch nor contracted."""
        return [d for d in range(rank) if d not in self.rhs_batch + self.rhs_contracting]


def product_dimensions(instruction: Instruction) -> ProductDimensions:
    """The dimension numbers that a dot or its kin is given."""
    attributes = instruction.attributes
    return ProductDimensions(
        attributes.get("lhs_batch_dims", ()),
        attributes.get("rhs_batch_dims", ()),
        attributes.get("lhs_contracting_dims", ()),
        attributes.get("rhs_contracting_dims", ()),
    )


def dot_shape(lhs: ArrayShape, rhs: ArrayShape, sides: ProductDimensions, element_type: ElementType) -> ArrayShape:
    """The shape of a general product; a ShapeError where the factors do not fit.

    Args:
        lhs: the shape of the left factor.
        rhs: that of the right one.
        sides: which dimensions are batches, and which are summed.
        element_type: of the result.
    """
    distinct_dimensions(sides.lhs_batch + sides.lhs_contracting, lhs.rank, "lhs batch and contracting dims")
    distinct_dimensions(sides.rhs_batch + sides.rhs_contracting, rhs.rank, "rhs batch and contracting dims")
    for what, left, right in (
        ("batch", sides.lhs_batch, sides.rhs_batch),
        ("contracting", sides.lhs_contracting, sides.rhs_contracting),
    ):
        require(len(left) == len(right), f"lhs and rhs name {len(left)} and {len(right)} {what} dims")
        for a, b in zip(left, right, strict=True):
            fits = lhs.dims[a] == rhs.dims[b] or UNBOUNDED in (lhs.dims[a], rhs.dims[b])
            if not fits:
                raise ShapeError(f"{what} dim {a} of {lhs} does not fit dim {b} of {rhs}")
    left_kept = [*sides.lhs_batch, *sides.lhs_free(lhs.rank)]
    right_kept = sides.rhs_free(rhs.rank)
    dims = (*(lhs.dims[d] for d in left_kept), *(rhs.dims[d] for d in right_kept))
    flags = trace_dynamic([*((lhs, d) for d in left_kept), *((rhs, d) for d in right_kept)])
    return ArrayShape(element_type, dims, flags)


def wider_type(lhs: ArrayShape, rhs: ArrayShape) -> ElementType:
    """The wider of two factors' types, which a product has unless it states another; they must mix.

    Raises:
        ShapeError: they do not.
    """
    kinds = {shape.element_type.kind for shape in (lhs, rhs)}
    if Kind.OPAQUE in kinds:
        raise ShapeError(f"{lhs} and {rhs} are not both numbers")
    if Kind.COMPLEX in kinds and len(kinds) > 1:
        raise ShapeError(f"complex and other numbers do not mix: {lhs} and {rhs}")
    return lhs.element_type if lhs.element_type.bits >= rhs.element_type.bits else rhs.element_type


def summable(value: Array, element_type: ElementType, result: ElementType) -> Array:
    """A factor in the type that its products are summed in: integers as floats where the result is one.

    Args:
        value: a factor, in NumPy's type for its element type.
        element_type: of the factor.
        result: of the product.
    """
    if element_type.kind is Kind.PRED or element_type.is_integer:
        return value.astype(np.float64 if result.is_float or result.is_complex else np.int64)
    return widen(value, element_type, precise=True)


def rounded(sums: Array, element_type: ElementType) -> Array:
    """Sums in the result type: floats rounded, or saturated to integers; integers wrapped; pred true if not 0.

    Of complex sums a result of other numbers is the real part.
    """
    if element_type.kind is Kind.PRED:
        return np.asarray(sums != 0)
    if not element_type.is_complex:
        sums = np.real(sums)
    if element_type.is_integer and sums.dtype.kind == "f":
        return saturate(sums, element_type)
    if element_type.is_integer and element_type.bits >= 8:
        return sums.astype(element_type.dtype)
    return narrow(sums, element_type)


def contract(lhs: Array, rhs: Array, dimensions: ProductDimensions) -> Array:
    """The general product as one batched matrix product: batch, then free dimensions of lhs, then of rhs."""
    lhs_free, rhs_free = dimensions.lhs_free(lhs.ndim), dimensions.rhs_free(rhs.ndim)
    left = lhs.transpose(*dimensions.lhs_batch, *lhs_free, *dimensions.lhs_contracting)
    right = rhs.transpose(*dimensions.rhs_batch, *dimensions.rhs_contracting, *rhs_free)
    batch = [lhs.shape[d] for d in dimensions.lhs_batch]
    rows, columns = [lhs.shape[d] for d in lhs_free], [rhs.shape[d] for d in rhs_free]
    depth = math.prod(lhs.shape[d] for d in dimensions.lhs_contracting)
    count, m, n = math.prod(batch), math.prod(rows), math.prod(columns)
    product = matrix_product(left.reshape(count, m, depth), right.reshape(count, depth, n))
    return product.reshape((*batch, *rows, *columns))


def matrix_product(left: Array, right: Array) -> Array:
    """Batched matrix product; integers exact modulo 2^64."""
    if left.dtype.kind in "iu" and left.size and right.size:
        bound = left.shape[-1] * _largest(left) * _largest(right)
        if bound < 1 << 53:
            return np.asarray(np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64))
    return np.asarray(np.matmul(left, right))


def _largest(value: Array) -> int:
    return max(abs(int(value.min())), abs(int(value.max())))
