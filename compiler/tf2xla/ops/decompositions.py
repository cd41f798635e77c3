"""Equations and decompositions of matrices, by the algorithms that passes write LAPACK's routines in.

A matrix that has no inverse makes infinities and NaN, as compiled code cannot stop where a kernel does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.expansion import matrices
from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.elimination import lu, modulus
from compiler.expansion.expression import Expression, concatenate, iota
from compiler.expansion.reflections import householder, householder_product
from compiler.expansion.rotations import eigen, singular
from compiler.ir.types import S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table
from compiler.tf2xla.reducing import in_f32, reduced


def _batched(operation: Operation, name: str, *, is_square: bool = True) -> tuple[Expression, tuple[int, ...]]:
    """Matrices as [batch, rows, columns], and the sizes of the batch."""
    x = operation[name]
    fits = len(x.dims) >= 2 and (not is_square or x.dims[-1] == x.dims[-2])
    kind = "square matrices" if is_square else "matrices"
    operation.require(fits, lambda: f"it takes {kind}, not arrays of the sizes {list(x.dims)}")
    outer = x.dims[:-2]
    return x.to(in_f32(x.type)).reshape(math.prod(outer), *x.dims[-2:]), outer


def _solution(a: Expression, b: Expression) -> Expression:
    """X with A X = B: what elimination makes of B beside A, then the triangle."""
    size = a.dims[1]
    whole, _, _ = lu(concatenate([a, b], 2))
    upper, right = matrices.cut(whole, 2, 0, size), matrices.cut(whole, 2, size, size + b.dims[2])
    attributes: dict[str, Any] = {
        "left_side": True,
        "lower": False,
        "unit_diagonal": False,
        "transpose_a": "NO_TRANSPOSE",
    }
    operands = [upper.instruction, right.instruction]
    return Expression(build(a.instruction.computation, "triangular-solve", operands, **attributes))


def _solved(operation: Operation) -> Expression:
    (a, outer), (b, own) = _batched(operation, "matrix"), _batched(operation, "rhs", is_square=False)
    fits = outer == own and a.dims[2] == b.dims[1]
    operation.require(fits, lambda: f"matrices of {list(a.dims)} and right sides of {list(b.dims)} do not go together")
    x = operation["rhs"]
    if 0 in x.dims:
        return x
    a = matrices.adjoint(a) if operation.attribute("adjoint") else a
    return _solution(a, b).reshape(*x.dims).to(x.type)


def _inverse(operation: Operation) -> Expression:
    x, (a, _) = operation["input"], _batched(operation, "input")
    if 0 in x.dims:
        return x
    a = matrices.adjoint(a) if operation.attribute("adjoint") else a
    return _solution(a, matrices.on_diagonal(a).to(a.type)).reshape(*x.dims).to(x.type)


def _determinant(operation: Operation) -> Expression:
    """The product of the pivots, its sign turned by every exchange of rows."""
    x, (a, outer) = operation["input"], _batched(operation, "input")
    if 0 in x.dims:
        return operation.full(1, x.type, outer)
    return reduced(_signed_pivots(a), "multiply", 1, (1,)).reshape(*outer).to(x.type)


def _signed_pivots(a: Expression) -> Expression:
    whole, pivots, _ = lu(a)
    position = iota(a.instruction.computation, S32, pivots.dims, 1) + 1
    one = a.literal(1).spread(pivots.dims, ())
    signs = pivots.compare("EQ", position).where(one, -one)
    return matrices.diagonal(whole) * signs


def _logarithm_of_determinant(operation: Operation) -> list[Expression]:
    """The sign of the determinant, of complex numbers its direction, and the logarithm of its size."""
    x, (a, outer) = operation["input"], _batched(operation, "input")
    if 0 in x.dims:
        return [operation.full(1, x.type, outer), operation.full(0, x.type, outer)]
    pivots = _signed_pivots(a)
    size = pivots.apply("abs").to(a.type) if a.type.is_complex else pivots.apply("abs")
    direction = pivots / size if a.type.is_complex else pivots.apply("sign")
    sign = reduced(direction, "multiply", 1, (1,))
    logarithm = reduced(size.apply("log"), "add", 0, (1,))
    return [one.reshape(*outer).to(x.type) for one in (sign, logarithm)]


def _factors(operation: Operation) -> Sequence[Expression]:
    """Both triangles in one matrix, and from which row each row came."""
    x, (a, outer) = operation["input"], _batched(operation, "input")
    size, kind = x.dims[-1], operation.type("output_idx_type")
    if 0 in x.dims:
        return x, operation.full(0, kind, (*outer, size))
    whole, pivots, _ = lu(a, modulus)
    order = iota(a.instruction.computation, kind, pivots.dims, 1)

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        order, pivots = state
        at = matrices.index_along(order, 1)
        is_k, is_chosen = at.compare("EQ", k), at.compare("EQ", matrices.each(matrices.only(pivots, k) - 1, at))
        head = matrices.only(order, k)
        other = is_chosen.where(order, order.literal(0).spread(order.dims, ())).sum(1)
        swapped = is_chosen.where(matrices.each(head, order), order)
        return [is_k.where(matrices.each(other, order), swapped), pivots]

    order = counted_loop("order", size, [order, pivots], step)[0]
    return whole.reshape(*x.dims).to(x.type), order.reshape(*outer, size)


def _qr(operation: Operation) -> Sequence[Expression]:
    x, (a, outer) = operation["input"], _batched(operation, "input", is_square=False)
    rows, columns = x.dims[-2:]
    inner = rows if operation.attribute("full_matrices") else min(rows, columns)
    if 0 in x.dims:
        raise operation.unsupported("matrices without elements have no decomposition here")
    packed, factors = householder(a)
    upper = matrices.index_along(packed, 1).compare("LE", matrices.index_along(packed, 2))
    r = upper.where(packed, packed.literal(0).spread(packed.dims, ()))
    vectors = matrices.cut(packed, 2, 0, min(rows, columns))
    if inner > vectors.dims[2]:
        vectors = matrices.padded(vectors, rows, inner)
    q = householder_product(vectors, factors)
    r = matrices.corner(r, inner, columns)
    return q.reshape(*outer, rows, inner).to(x.type), r.reshape(*outer, inner, columns).to(x.type)


def _eigen(operation: Operation) -> Sequence[Expression]:
    """Of the lower triangle; real eigenvalues as numbers of the input's type."""
    x, (a, outer) = operation["input"], _batched(operation, "input")
    size = x.dims[-1]
    nothing = operation.constant(np.zeros((0,), x.type.dtype), x.type)
    if 0 in x.dims:
        raise operation.unsupported("matrices without elements have no decomposition here")
    vectors, values = eigen(a, lower=True)
    found = matrices.alike(values, a).reshape(*outer, size).to(x.type)
    return found, vectors.reshape(*x.dims).to(x.type) if operation.attribute("compute_v") else nothing


def _singular(operation: Operation) -> Sequence[Expression]:
    x, (a, outer) = operation["input"], _batched(operation, "input", is_square=False)
    if 0 in x.dims:
        raise operation.unsupported("matrices without elements have no decomposition here")
    left, values, right = singular(a, full=operation.attribute("full_matrices"))
    found = matrices.alike(values, a).reshape(*outer, values.dims[1]).to(x.type)
    if not operation.attribute("compute_uv"):
        nothing = operation.constant(np.zeros((0,), x.type.dtype), x.type)
        return found, nothing, nothing
    right = matrices.adjoint(right)
    return found, *(one.reshape(*outer, *one.dims[1:]).to(x.type) for one in (left, right))


_TYPES = "T: {complexes float32 float64 float16}"
RECORDS = table(
    record("MatrixInverse", f"input: T -> output: T; adjoint: bool = false; {_TYPES}", _inverse, "The inverse."),
    record(
        "MatrixSolve",
        f"matrix: T, rhs: T -> output: T; adjoint: bool = false; {_TYPES}",
        _solved,
        "The solution of equations.",
    ),
    record(
        "LogMatrixDeterminant",
        "input: T -> sign: T, log_abs_determinant: T; T: {complexes float16 float32 float64}",
        _logarithm_of_determinant,
        "The sign of the determinant, and the logarithm of its size.",
    ),
    record("MatrixDeterminant", f"input: T -> output: T; {_TYPES}", _determinant, "The determinant."),
    record(
        "Lu",
        "input: T -> lu: T, p: output_idx_type; T: {complexes float16 float32 float64}; "
        "output_idx_type: {index} = int32",
        _factors,
        "Triangular matrices whose product is the input, its rows in another order.",
    ),
    record(
        "Qr",
        f"input: T -> q: T, r: T; full_matrices: bool = false; {_TYPES}",
        _qr,
        "A unitary matrix times a triangular one.",
    ),
    record(
        "SelfAdjointEigV2",
        f"input: T -> e: T, v: T; compute_v: bool = true; {_TYPES}",
        _eigen,
        "Eigenvalues in ascending order, and eigenvectors, of Hermitian matrices.",
    ),
    record(
        "Svd",
        f"input: T -> s: T, u: T, v: T; compute_uv: bool = true; full_matrices: bool = false; {_TYPES}",
        _singular,
        "Singular values in descending order, and singular vectors.",
    ),
)
