"""Jacobi's rotations of batches of matrices written as loops: eigenvalues of Hermitian matrices, singular values.

In each round rows i and n/2 + i are rotated together for all i at once, then all rows but the first move on by one
place (Brent and Luk, "The solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays",
1985): after n - 1 rounds, a sweep, every pair has met once and all are back in their places.  Convergence is quadratic,
so few sweeps do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression, concatenate, element
from compiler.expansion.matrices import (
    adjoint,
    alike,
    along,
    by_components,
    conjugate,
    corner,
    cut,
    diagonal,
    dot,
    each,
    hermitian,
    identity,
    index_along,
    kept,
    padded,
    real,
    rows_at,
    scaled,
    squares,
)
from compiler.expansion.reflections import householder, householder_product
from compiler.ir.types import C128, F64, S32
from compiler.ops.build import build

_MOST_SWEEPS = 20
"""Sweeps over all pairs: Jacobi's method converges quadratically, in 6 to 10 for f64 (Golub and Van Loan, 8.5)."""


def eigen(matrix: Expression, *, lower: bool) -> tuple[Expression, Expression]:
    """Vectors as columns, and the real eigenvalues in ascending order, of matrices of which one triangle is given."""
    batch, size, _ = matrix.dims
    form, scale = scaled(hermitian(matrix, lower=lower))
    even = size + size % 2
    start = padded(form, even, even)
    finished, vectors = _swept([start, identity(start, even)], even, _rotate_both, _off_diagonal)
    found = real(diagonal(finished)).slice((0, batch), (0, size))
    ordered, order = _sorted(found * each(scale, found))
    return adjoint(rows_at(corner(vectors, size, size), order)), ordered


def _off_diagonal(state: list[Expression]) -> Expression:
    """For each matrix whether what is off the diagonal still matters."""
    matrix = state[0]
    found = squares(matrix)
    off = kept(index_along(matrix, 1).compare("NE", index_along(matrix, 2)), found, 0).sum(1, 2)
    unit = float(np.finfo(matrix.type.dtype).eps)
    return off.compare("GT", found.sum(1, 2) * (matrix.dims[1] * unit * unit))


def _swept(
    start: list[Expression],
    size: int,
    rotate: Callable[[list[Expression]], list[Expression]],
    matters: Callable[[list[Expression]], Expression],
) -> list[Expression]:
    """The state after as many sweeps as it takes."""

    def sweep(_: Expression, state: list[Expression]) -> list[Expression]:
        arrays = state[:-1]
        turned = counted_loop("rotations", size - 1, arrays, lambda _, given: rotate(given))
        return [*turned, _any(matters(turned))]

    def goes_on(_: Expression, state: list[Expression]) -> Expression:
        return state[-1].compare("GT", 0)

    return counted_loop("sweeps", _MOST_SWEEPS, [*start, _any(matters(start))], sweep, goes_on)[:-1]


def _any(flags: Expression) -> Expression:
    return flags.to(S32).sum(0)


def _rotate_both(state: list[Expression]) -> list[Expression]:
    """One round of two-sided rotations, which make the elements between the partners vanish."""
    matrix, vectors = state
    batch, size, _ = matrix.dims
    half = size // 2
    whole = real(diagonal(matrix))
    first, second = (whole.slice((0, batch), (start, start + half)) for start in (0, half))
    between = diagonal(matrix.slice((0, batch), (0, half), (half, size)))
    cosine, sine = _angle(first, second, between)
    turned = _turned(_turned(matrix, 1, cosine, conjugate(sine)), 2, cosine, sine)
    return [turned, _turned(vectors, 1, cosine, conjugate(sine))]


def _angle(first: Expression, second: Expression, between: Expression) -> tuple[Expression, Expression]:
    """Cosine and sine of the rotation that diagonalises [[first, between], [between*, second]]."""
    size = between.apply("abs")
    one = size.literal(1).spread(size.dims, ())
    # Of a number that is not normal too few digits are left for a quotient by its size to be of size 1.
    none = size.compare("LT", float(np.finfo(size.type.dtype).tiny))
    safe = none.where(one, size)
    cotangent = (second - first) / (safe * 2)
    share = one / (_hypot_of_one(cotangent) + cotangent.apply("abs"))
    tangent = none.where(size.literal(0), cotangent.compare("LT", 0).where(-share, share))
    cosine = one / _hypot_of_one(tangent)
    sine = alike(tangent * cosine, between) * conjugate(between) / alike(safe, between)
    return alike(cosine, between), sine


def _hypot_of_one(value: Expression) -> Expression:
    """sqrt(1 + x^2), for large x by its magnitude."""
    size = value.apply("abs")
    large = size.compare("GT", 1e8)
    small = large.where(size.literal(0), size)
    return large.where(size, (small * small + 1).apply("sqrt"))


def _turned(matrix: Expression, dimension: int, cosine: Expression, sine: Expression) -> Expression:
    """Partners along a dimension rotated, and moved on by one place."""
    half = matrix.dims[dimension] // 2

    def cut_(start: int, stop: int, of: Expression = matrix) -> Expression:
        return cut(of, dimension, start, stop)

    first, second = cut_(0, half), cut_(half, 2 * half)
    c, s = (along(value, first, dimension) for value in (cosine, sine))
    top, bottom = first * c - second * s, first * conjugate(s) + second * c
    if half == 1:
        return concatenate([top, bottom], dimension)
    pieces = [
        cut_(0, 1, top),
        cut_(0, 1, bottom),
        cut_(1, half - 1, top),
        cut_(1, half, bottom),
        cut_(half - 1, half, top),
    ]
    return concatenate([piece for piece in pieces if piece.dims[dimension]], dimension)


def _sorted(values: Expression, *, descending: bool = False) -> tuple[Expression, Expression]:
    """Each row in order, and the columns that its elements stood in."""
    computation, size = values.instruction.computation, values.dims[1]
    pair = build(computation, "topk", [values.instruction], k=size, largest=descending)
    return Expression(element(pair, 0)), Expression(element(pair, 1))


class Methods(NamedTuple):
    """What singular values are made of: reflections, and perhaps a decomposition that is faster than rotations.

    Attributes:
        householder: as the loop of that name.
        product: as `householder_product`.
        eigen: vectors of whole symmetric matrices, as columns, by ascending values.
    """

    householder: Callable[[Expression], tuple[Expression, Expression]] = householder
    product: Callable[[Expression, Expression], Expression] = householder_product
    eigen: Callable[[Expression], Expression] | None = None


LOOPS = Methods()
"""Everything in loops."""


class Singular(NamedTuple):
    """Left vectors as columns, singular values in descending order, right vectors as conjugated rows."""

    left: Expression
    values: Expression
    right: Expression


def singular(matrix: Expression, *, full: bool, by: Methods = LOOPS) -> Singular:
    """The singular value decomposition of each of the matrices [batch, rows, columns].

    Args:
        matrix: the matrices.
        full: whether there are as many vectors as rows and columns, or as many as values.
        by: what it is made of.
    """
    rows, columns = matrix.dims[1:]
    if rows < columns:
        left, values, right = singular(adjoint(matrix), full=full, by=by)
        return Singular(adjoint(right), values, adjoint(left))
    form, scale = scaled(matrix)
    # Rows of the adjoint are the columns that are rotated; the identity beside them gathers the rotations.
    turned, rotations = adjoint(form), identity(form, columns)
    if by.eigen is not None:
        turned, rotations = _nearly_orthogonal(form, by.eigen)
    if turned.type is matrix.type:
        even = columns + columns % 2
        start = [padded(turned, even, rows), _bordered(rotations, even)]
        turned, rotations = _swept(start, even, _rotate_rows, _at_an_angle)
        turned, rotations = corner(turned, columns, rows), corner(rotations, columns, columns)
    values, order = _sorted(squares(turned).sum(2).apply("sqrt"), descending=True)
    least = float(np.finfo(matrix.type.dtype).eps) * (rows if turned.type is matrix.type else 0.5)
    left = _orthonormal(adjoint(rows_at(turned, order)), values, least, full=full, by=by).to(matrix.type)
    values = values.to(scale.type)
    return Singular(left, values * each(scale, values), rows_at(rotations, order).to(matrix.type))


def _bordered(matrix: Expression, size: int) -> Expression:
    """A square matrix in the corner of the identity."""
    if matrix.dims[1] == size:
        return matrix
    whole = padded(matrix, size, size)
    last = index_along(whole, 1).compare("EQ", size - 1) & index_along(whole, 2).compare("EQ", size - 1)
    return last.where(whole.literal(1), whole)


def _nearly_orthogonal(matrix: Expression, eigen: Callable[[Expression], Expression]) -> tuple[Expression, Expression]:
    """In f64 the columns of a matrix, and of the identity, rotated by the vectors of its square, as conjugated rows.

    What that loses is half of the digits of f64: nothing that a matrix of f32 had.
    """
    wide = matrix.to(C128 if matrix.type.is_complex else F64)
    vectors = eigen(dot(conjugate(wide), wide, 1, 1))
    return dot(conjugate(vectors), conjugate(wide), 1, 2), adjoint(vectors)


class _Pair(NamedTuple):
    """[[first, between], [between*, second]] of each pair, [batch, half] each."""

    first: Expression
    second: Expression
    between: Expression


def _partners(matrix: Expression) -> _Pair:
    """The squares of the lengths of rows that are partners, and their inner product."""
    batch, size, length = matrix.dims
    first, second = (matrix.slice((0, batch), (start, start + size // 2), (0, length)) for start in (0, size // 2))
    inner = by_components(first * conjugate(second), lambda component: component.sum(2))
    return _Pair(squares(first).sum(2), squares(second).sum(2), inner)


def _rotate_rows(state: list[Expression]) -> list[Expression]:
    """One round of rotations that make partners orthogonal."""
    cosine, sine = _angle(*_partners(state[0]))
    return [_turned(array, 1, cosine, conjugate(sine)) for array in state]


def _at_an_angle(state: list[Expression]) -> Expression:
    """For each matrix whether two rows, however short they are if not next to nothing, are not orthogonal yet.

    Beside the longest row the product of two short ones is nothing, but not beside their own lengths: taken for nothing
    it would leave the small singular values off by the root of a rounding of the largest.
    """
    gram = dot(state[0], conjugate(state[0]), 2, 2)
    unit = float(np.finfo(gram.type.dtype).eps) * state[0].dims[2]
    lengths = real(diagonal(gram)).apply("sqrt")
    counts = lengths.compare("GT", each(lengths.largest(1) * unit, lengths))
    lengths = kept(counts, lengths, np.inf)
    limit = along(lengths, gram, 1) * along(lengths, gram, 2) * unit
    off = index_along(gram, 1).compare("NE", index_along(gram, 2)) & gram.apply("abs").compare("GT", limit)
    return off.to(S32).sum(1, 2).compare("GT", 0)


def _orthonormal(vectors: Expression, lengths: Expression, least: float, *, full: bool, by: Methods) -> Expression:
    """Orthogonal columns of descending lengths made as long as 1; missing ones are made up.

    So are those that are not longer than a share of the first.
    """
    batch, rows, columns = vectors.dims
    largest = lengths.slice((0, batch), (0, 1)).reshape(batch)
    counts = lengths.compare("GT", each(largest * least, lengths))
    safe = alike(kept(counts, lengths, 1), vectors)
    scaled = kept(along(counts, vectors, 2), vectors / along(safe, vectors, 2), 0)
    packed, factors = by.householder(scaled)
    product = by.product(padded(packed, rows, rows) if full else packed, factors)
    # Reflections give columns up to a sign, that of the diagonal of R.
    turns = counts & real(diagonal(corner(packed, columns, columns))).compare("LT", 0)
    given = corner(product, rows, columns)
    given = along(turns, given, 2).where(-given, given)
    if not full or rows == columns:
        return given
    return concatenate([given, product.slice((0, batch), (0, rows), (columns, rows))], 2)
