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

from compiler.ir.numbers import narrow, widen
from compiler.ir.types import ElementType, Kind

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ProductDimensions:
    """Which dimensions of the two factors of a general product are batch dimensions and which are summed over."""

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


def summable(value: Array, element_type: ElementType) -> Array:
    """A factor in the type that its products are summed in."""
    if element_type.kind is Kind.PRED:
        return value.astype(np.int64)
    if element_type.is_integer:
        return value.astype(np.int64)
    return widen(value, element_type, precise=True)


def rounded(sums: Array, element_type: ElementType) -> Array:
    """Sums in the result's type: floats rounded, integers wrapped, pred true where not 0."""
    if element_type.kind is Kind.PRED:
        return np.asarray(sums != 0)
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
