"""Householder's reflections of batches of matrices written as loops over columns.

QR as LAPACK's geqrf, geqp3 and orgqr, and from both sides as gehrd and sytrd: Hessenberg's form and three diagonals.
A reflection is 1 - tau v v*, where v is 0 above its column's diagonal, 1 on it and stands below it in the matrix; beta,
the diagonal of R, is real and has the sign that avoids cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression, largest_of_row
from compiler.expansion.matrices import (
    alike,
    along,
    column_at,
    conjugate,
    diagonal,
    each,
    hermitian,
    index_along,
    kept,
    line,
    nonzero,
    on_diagonal,
    only,
    real,
    times,
    transposed_times,
    turned_round,
    with_only,
)


def householder(matrix: Expression) -> tuple[Expression, Expression]:
    """R with the vectors below it, and the factors of the reflections."""
    batch, rows, columns = matrix.dims
    steps = min(rows, columns)
    factors = matrix.literal(0).spread((batch, steps), ())

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        work, factors = state
        return _column_reflected(work, factors, k)

    work, factors = counted_loop("householder", steps, [matrix, factors], step)
    return work, factors


def _column_reflected(work: Expression, factors: Expression, k: Expression) -> list[Expression]:
    """Column k made that of R by a reflection of what is right of it."""
    column = line(work, 2, k)
    tau, beta, vector = reflection(column, k)
    reflected = _reflected(work, vector, conjugate(tau), k)
    return [_with_column(work, reflected, _stored(column, k, beta, vector), k), with_only(factors, tau, k)]


def _stored(column: Expression, head: Expression, beta: Expression, vector: Expression) -> Expression:
    """A column that holds beta at its head and the reflection's vector below it."""
    row = index_along(column, 1)
    return row.compare("EQ", head).where(each(beta, column), row.compare("GT", head).where(vector, column))


def _with_column(work: Expression, reflected: Expression, column: Expression, k: Expression) -> Expression:
    """What is right of column k as it is reflected, and that column."""
    at = index_along(work, 2)
    return at.compare("GT", k).where(reflected, at.compare("EQ", k).where(along(column, work, 1), work))


class Pivoted(NamedTuple):
    """R with the reflections' vectors below it, the numbers (from 1) of its columns, and the reflections' factors."""

    packed: Expression
    order: Expression
    factors: Expression


def pivoted_householder(matrix: Expression, fixed: Expression) -> Pivoted:
    """R and reflections of the columns in the order of what is left of their lengths: LAPACK's geqp3.

    Columns whose `fixed`, [batch, columns], is not 0 come first, in their own order; there are no more than rows.
    """
    batch, rows, columns = matrix.dims
    steps = min(rows, columns)
    factors = matrix.literal(0).spread((batch, steps), ())
    order = index_along(fixed, 1) + 1

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        work, factors, order, fixed = state
        behind = index_along(work, 1).compare("GE", k)
        lengths = lengths_of(kept(behind, work, 0))
        is_number = lengths.compare("EQ", lengths)
        keys = fixed.compare("NE", 0).where(
            lengths.literal(np.inf).spread(lengths.dims, ()), kept(is_number, lengths, 0)
        )
        _, chosen = largest_of_row(kept(index_along(keys, 1).compare("GE", k), keys, -1))
        order, fixed = (_exchanged(vector, chosen, k) for vector in (order, fixed))
        return [*_column_reflected(_exchanged(work, chosen, k), factors, k), order, fixed]

    work, factors, order, _ = counted_loop("pivoted_householder", steps, [matrix, factors, order, fixed], step)
    return Pivoted(work, order, factors)


def _exchanged(array: Expression, chosen: Expression, k: Expression) -> Expression:
    """Each matrix, or row, with its column k and one of its own choice in each other's places."""
    *rest, columns = array.dims
    matrix = array.reshape(rest[0], rest[-1] if rest[1:] else 1, columns)
    at = index_along(matrix, 2)
    result = at.compare("EQ", each(chosen, matrix)).where(along(line(matrix, 2, k), matrix, 1), matrix)
    return at.compare("EQ", k).where(along(column_at(matrix, chosen), matrix, 1), result).reshape(*array.dims)


def hessenberg(matrix: Expression, low: int, high: int) -> tuple[Expression, Expression]:
    """H with the vectors below its second diagonal, and the factors; rows and columns low to high - 1 are reflected.

    Args:
        matrix: of shape (batch, n, n).
        low: the first row that is reflected.
        high: the one behind the last.
    """
    batch, size, _ = matrix.dims
    factors = matrix.literal(0).spread((batch, size - 1), ())
    if high - low < 2:
        return matrix, factors

    def step(number: Expression, state: list[Expression]) -> list[Expression]:
        work, factors = state
        k = number + low
        head, column = k + 1, line(work, 2, k)
        inside = index_along(column, 1).compare("LT", high)
        tau, beta, vector = reflection(kept(inside, column, 0), head)
        right = along(times(work, vector), work, 1) * along(conjugate(vector), work, 2)
        active = index_along(work, 1).compare("LT", high) & index_along(work, 2).compare("GE", head)
        work = active.where(work - each(tau, work) * right, work)
        stored = inside.where(_stored(column, head, beta, vector), column)
        result = _with_column(work, _reflected(work, vector, conjugate(tau), head), stored, k)
        return [result, with_only(factors, tau, k)]

    work, factors = counted_loop("hessenberg", high - low - 1, [matrix, factors], step)
    return work, factors


Reduction = Callable[[Expression, int, int], tuple[Expression, Expression]]
"""What does as `hessenberg`."""


class Tridiagonal(NamedTuple):
    """The triangle with the reflections' vectors in it, the diagonal, the one beside it, and the factors."""

    packed: Expression
    diagonal: Expression
    beside: Expression
    factors: Expression


def tridiagonal(matrix: Expression, *, lower: bool, reduce: Reduction = hessenberg) -> Tridiagonal:
    """Hermitian matrices, given by a triangle, made tridiagonal by reflections from both sides: LAPACK's hetrd.

    Args:
        matrix: of shape (batch, n, n).
        lower: whether the lower triangle is given.
        reduce: brings a Hermitian matrix into that form.
    """
    batch, size, _ = matrix.dims
    if not lower:
        # From the last row and column on upwards.
        results = tridiagonal(turned_round(matrix), lower=True, reduce=reduce)
        return Tridiagonal(*(turned_round(result) for result in results))
    work, factors = reduce(hermitian(matrix, lower=True), 0, size)
    packed = index_along(matrix, 1).compare("GE", index_along(matrix, 2)).where(work, matrix)
    below = diagonal(packed.slice((0, batch), (1, size), (0, size - 1)))
    return Tridiagonal(packed, real(diagonal(packed)), real(below), factors)


class Reflection(NamedTuple):
    """`1 - tau v v*`: tau, `beta`, which it makes of the column's head, and v."""

    factor: Expression
    beta: Expression
    vector: Expression


def reflection(column: Expression, k: Expression) -> Reflection:
    """The reflection that makes a column's elements below number k vanish.

    A column that is no more than a denormal number is left as it is: that has so few digits that no reflection made of
    it keeps lengths.
    """
    head = only(column, k)
    tail = _below(column, k)
    length = _norm(tail)
    whole = _hypot(head.apply("abs"), length)
    beta = alike(real(head).compare("LT", 0).where(whole, -whole), head)
    idle = length.compare("EQ", 0)
    if head.type.is_complex:
        idle = idle & head.apply("imag").compare("EQ", 0)
    idle = idle | whole.compare("LT", float(np.finfo(whole.type.dtype).tiny))
    beta = idle.where(head, beta)
    tau = idle.where(head.literal(0), (beta - head) / idle.where(head.literal(1), beta))
    divisor = idle.where(head.literal(1), head - beta)
    return Reflection(tau, beta, _unit_at(k, tail / each(divisor, tail)))


def _below(column: Expression, k: Expression) -> Expression:
    """A column with zeros down to element number k."""
    return kept(index_along(column, 1).compare("GT", k), column, 0)


def _unit_at(k: Expression, tail: Expression) -> Expression:
    """A reflection's vector: 1 at number k, and the tail."""
    return index_along(tail, 1).compare("EQ", k).where(tail.literal(1), tail)


def _reflected(matrix: Expression, vector: Expression, factor: Expression, head: Expression) -> Expression:
    """(1 - factor v v*) times the matrix; rows above the head, where v is 0, stay even where it is not finite."""
    projected = transposed_times(matrix, conjugate(vector))
    scaled = each(factor, projected) * projected
    below = index_along(matrix, 1).compare("GE", head)
    return below.where(matrix - along(vector, matrix, 1) * along(scaled, matrix, 2), matrix)


def _norm(vector: Expression) -> Expression:
    """The length of each vector."""
    batch, length = vector.dims
    return lengths_of(vector.reshape(batch, length, 1)).reshape(batch)


def lengths_of(matrix: Expression) -> Expression:
    """The length of each column, scaled so that no square leaves the range of the type."""
    size = matrix.apply("abs")
    largest = size.largest(1)
    safe = nonzero(largest)
    share = size / along(safe, size, 2)
    return safe * (share * share).sum(1).apply("sqrt") * largest.compare("EQ", 0).apply("not").to(size.type)


def _hypot(left: Expression, right: Expression) -> Expression:
    larger, smaller = left.apply("maximum", right), left.apply("minimum", right)
    share = smaller / nonzero(larger)
    return larger * (share * share + 1).apply("sqrt")


def householder_product(vectors: Expression, factors: Expression) -> Expression:
    """The first columns of the product of the reflections, as many as there are columns of vectors."""
    return householder_applied(vectors, factors, on_diagonal(vectors).to(vectors.type), grows=True)


def householder_applied(
    vectors: Expression,
    factors: Expression,
    matrix: Expression,
    *,
    transposed: bool = False,
    grows: bool = False,
) -> Expression:
    """The product of the reflections, or its adjoint, times the matrix.

    Args:
        vectors: below the diagonal of [batch, rows, columns].
        factors: of the reflections, [batch, steps].
        matrix: what is multiplied, [batch, rows, any].
        transposed: whether it is by the adjoint.
        grows: whether `matrix` is the identity, whose first columns the last reflections leave alone.
    """
    steps = factors.dims[1]

    def step(number: Expression, state: list[Expression]) -> list[Expression]:
        result, vectors, factors = state
        k = number if transposed else -number + (steps - 1)
        vector, factor = _unit_at(k, _below(line(vectors, 2, k), k)), only(factors, k)
        reflected = _reflected(result, vector, conjugate(factor) if transposed else factor, k)
        if grows:
            reflected = index_along(result, 2).compare("GE", k).where(reflected, result)
        return [reflected, vectors, factors]

    return counted_loop("householder_product", steps, [matrix, vectors, factors], step)[0]
