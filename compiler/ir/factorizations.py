"""Factorizations of matrices in NumPy, batched over leading dimensions, in the form in which LAPACK leaves them.

They work in the type they are given; callers widen to f64 or c128 first and round the results.  cholesky and
triangular-solve rest on the first two, the LAPACK names that JAX emits for the CPU on all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def cholesky(matrix: Array) -> tuple[Array, Array]:
    """The lower factor, and the column (from 1) at which each matrix turned out not to be positive definite, or 0."""
    size = matrix.shape[-1]
    factor = np.zeros_like(matrix)
    failed = np.zeros(matrix.shape[:-2], np.int32)
    for k in range(size):
        row = factor[..., k, :k]
        rest = matrix[..., k:, k] - (factor[..., k:, :k] @ np.conj(row)[..., None])[..., 0]
        # A pivot of zero is no failure of sqrt, but the next division shows it.
        failed = np.where((failed == 0) & ~(rest[..., 0].real > 0), np.int32(k + 1), failed)
        pivot = np.sqrt(rest[..., 0].real)
        factor[..., k, k] = pivot
        factor[..., k + 1 :, k] = rest[..., 1:] / pivot[..., None]
    return factor, failed


def substitute(matrix: Array, right: Array, *, lower: bool, unit: bool) -> Array:
    """Solve a triangular system row by row, from the row with one unknown on.

    Args:
        matrix: of shape (n, n), of which one triangle counts.
        right: of shape (n, sides).
        lower: whether it is the lower triangle.
        unit: whether the diagonal is taken for ones.
    """
    solution = np.array(right)
    size = matrix.shape[-1]
    for k in range(size) if lower else reversed(range(size)):
        known = slice(0, k) if lower else slice(k + 1, size)
        rest = right[..., k, :] - (matrix[..., k, None, known] @ solution[..., known, :])[..., 0, :]
        solution[..., k, :] = rest if unit else rest / matrix[..., k, k, None]
    return solution


def solve_triangular(
    matrix: Array, right: Array, *, left_side: bool, lower: bool, unit: bool, transpose: str = "N"
) -> Array:
    """Solve op(a) x = b, or x op(a) = b.

    Args:
        matrix: [..., n, n], of which one triangle is read.
        right: b, [..., n, columns], or [..., rows, n].
        left_side: whether it is op(a) x = b.
        lower: whether the lower triangle is read.
        unit: whether its diagonal is taken for ones.
        transpose: what op is, as LAPACK has it: N, T or C.
    """
    if transpose != "N":
        matrix, lower = np.swapaxes(matrix, -1, -2), not lower
        matrix = np.conj(matrix) if transpose == "C" else matrix
    if left_side:
        return substitute(matrix, right, lower=lower, unit=unit)
    # x a = b is a' x' = b'.
    turned, columns = np.swapaxes(matrix, -1, -2), np.swapaxes(right, -1, -2)
    return np.swapaxes(substitute(turned, columns, lower=not lower, unit=unit), -1, -2)


class Lu(NamedTuple):
    """L and U in one matrix, the row (from 1) that each step swapped with, the first step with a zero pivot or 0."""

    packed: Array
    pivots: Array
    failed: Array


def lu(matrix: Array) -> Lu:
    """The LU factorisation of each matrix of a batch, with partial pivoting, as LAPACK's getrf has it."""
    work = np.array(matrix)
    *batch, rows, columns = work.shape
    steps = min(rows, columns)
    pivots = np.zeros((*batch, steps), np.int32)
    failed = np.zeros(batch, np.int32)
    for index in np.ndindex(*batch):
        one = work[index]
        for k in range(steps):
            column = one[k:, k]
            magnitude = np.abs(column.real) + np.abs(column.imag)
            # As great as can be: a NaN that came to stand below a pivot could hide behind zeros.
            chosen = k + int(np.argmax(np.where(np.isnan(magnitude), np.inf, magnitude)))
            pivots[(*index, k)] = chosen + 1
            if one[chosen, k] == 0:
                failed[index] = failed[index] or k + 1
                continue
            one[[k, chosen]] = one[[chosen, k]]
            one[k + 1 :, k] /= one[k, k]
            one[k + 1 :, k + 1 :] -= np.outer(one[k + 1 :, k], one[k, k + 1 :])
    return Lu(work, pivots, failed)


def householder(matrix: Array) -> tuple[Array, Array]:
    """R with the Householder vectors below it, and their factors, as geqrf has them."""
    work = np.array(matrix)
    *batch, rows, columns = work.shape
    steps = min(rows, columns)
    factors = np.zeros((*batch, steps), work.dtype)
    for index in np.ndindex(*batch):
        one = work[index]
        for k in range(steps):
            # Squares of what is small are 0, and of columns of one direction only roundings of roundings are left.
            exponent = _exponent(one[k:, k])
            column = _scaled(one[k:, k], -exponent)
            head, tail = column[0], column[1:]
            length = np.linalg.norm(tail)
            if length == 0 and head.imag == 0:
                continue
            beta = -np.copysign(np.hypot(np.abs(head), length), head.real)
            factors[(*index, k)] = (beta - head) / beta
            vector = np.concatenate([np.ones(1, work.dtype), tail / (head - beta)])
            rest = one[k:, k + 1 :]
            rest -= np.conj((beta - head) / beta) * np.outer(vector, np.conj(vector) @ rest)
            one[k, k], one[k + 1 :, k] = np.ldexp(beta, exponent), vector[1:]
    return work, factors


def _exponent(column: Array) -> int:
    """The power of 2 of a column's largest component; 0 where there is none, or it is not finite."""
    largest = max(np.abs(column.real).max(), np.abs(column.imag).max())
    return int(np.frexp(largest)[1]) if np.isfinite(largest) else 0


def _scaled(column: Array, exponent: int) -> Array:
    """A column times a power of 2, which for itself may be no number of its type."""
    scaled = np.empty_like(column)
    scaled.real = np.ldexp(column.real, exponent)
    if column.dtype.kind == "c":
        scaled.imag = np.ldexp(column.imag, exponent)
    return scaled


def householder_product(vectors: Array, factors: Array) -> Array:
    """The first columns of the product of Householder reflections, as orgqr gives them."""
    *batch, rows, columns = vectors.shape
    result = np.broadcast_to(np.eye(rows, columns, dtype=vectors.dtype), vectors.shape).copy()
    for index in np.ndindex(*batch):
        for k in reversed(range(factors.shape[-1])):
            vector = np.concatenate([np.ones(1, vectors.dtype), vectors[(*index, slice(k + 1, None), k)]])
            rest = result[index][k:, k:]
            rest -= factors[(*index, k)] * np.outer(vector, np.conj(vector) @ rest)
    return result
