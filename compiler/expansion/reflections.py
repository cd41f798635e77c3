"""Householder's reflections of batches of matrices written as loops over columns: QR as LAPACK's geqrf and orgqr.

A reflection is 1 - tau v v*, where v is 0 above its column's diagonal, 1 on it and stands below it in the matrix; beta,
the diagonal of R, is real and has the sign that avoids cancellation.
"""

from __future__ import annotations

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression
from compiler.expansion.matrices import (
    alike,
    along,
    conjugate,
    each,
    kept,
    line,
    nonzero,
    on_diagonal,
    only,
    place,
    real,
    transposed_times,
)


def householder(matrix: Expression) -> tuple[Expression, Expression]:
    """R with the vectors below it, and the factors of the reflections."""
    batch, rows, columns = matrix.dims
    steps = min(rows, columns)
    factors = matrix.literal(0).spread((batch, steps), ())

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        work, factors = state
        column = line(work, 2, k)
        row = place(column, 1)
        tau, beta, vector = _reflection(column, k)
        # Columns to the right of k are reflected; column k holds beta and the vector.
        reflected = _reflected(work, vector, conjugate(tau))
        stored = row.compare("EQ", k).where(each(beta, column), row.compare("GT", k).where(vector, column))
        at = place(work, 2)
        result = at.compare("GT", k).where(reflected, at.compare("EQ", k).where(along(stored, work, 1), work))
        here = place(factors, 1).compare("EQ", k)
        return [result, here.where(each(tau, factors), factors)]

    work, factors = counted_loop("householder", steps, [matrix, factors], step)
    return work, factors


def _reflection(column: Expression, k: Expression) -> tuple[Expression, Expression, Expression]:
    """tau, beta and the vector that make a column's elements below number k vanish."""
    head = only(column, k)
    tail = _below(column, k)
    length = _norm(tail)
    whole = _hypot(head.apply("abs"), length)
    beta = alike(real(head).compare("LT", 0).where(whole, -whole), head)
    idle = length.compare("EQ", 0)
    if head.type.is_complex:
        idle = idle & head.apply("imag").compare("EQ", 0)
    beta = idle.where(head, beta)
    tau = idle.where(head.literal(0), (beta - head) / idle.where(head.literal(1), beta))
    divisor = idle.where(head.literal(1), head - beta)
    return tau, beta, _unit_at(k, tail / each(divisor, tail))


def _below(column: Expression, k: Expression) -> Expression:
    """A column with zeros down to element number k."""
    return kept(place(column, 1).compare("GT", k), column, 0)


def _unit_at(k: Expression, tail: Expression) -> Expression:
    """A reflection's vector: 1 at number k, and the tail."""
    return place(tail, 1).compare("EQ", k).where(tail.literal(1), tail)


def _reflected(matrix: Expression, vector: Expression, factor: Expression) -> Expression:
    """(1 - factor v v*) times the matrix."""
    projected = transposed_times(matrix, conjugate(vector))
    scaled = each(factor, projected) * projected
    return matrix - along(vector, matrix, 1) * along(scaled, matrix, 2)


def _norm(vector: Expression) -> Expression:
    """The length of each vector, scaled so that no square leaves the range of the type."""
    size = vector.apply("abs")
    largest = size.largest(1)
    safe = nonzero(largest)
    share = size / each(safe, size)
    return safe * (share * share).sum(1).apply("sqrt") * largest.compare("EQ", 0).apply("not").to(size.type)


def _hypot(left: Expression, right: Expression) -> Expression:
    larger, smaller = left.apply("maximum", right), left.apply("minimum", right)
    share = smaller / nonzero(larger)
    return larger * (share * share + 1).apply("sqrt")


def householder_product(vectors: Expression, factors: Expression) -> Expression:
    """The first columns of the product of the reflections, as many as there are columns of vectors."""
    steps = factors.dims[1]
    ones = on_diagonal(vectors).to(vectors.type)

    def step(number: Expression, state: list[Expression]) -> list[Expression]:
        result, vectors, factors = state
        k = -number + (steps - 1)
        vector = _unit_at(k, _below(line(vectors, 2, k), k))
        return [_reflected(result, vector, only(factors, k)), vectors, factors]

    return counted_loop("householder_product", steps, [ones, vectors, factors], step)[0]
