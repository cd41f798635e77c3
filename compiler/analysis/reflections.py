"""Householder's reflections of batches of matrices written as loops over columns: QR as LAPACK's geqrf and orgqr.

Matrices are [batch, rows, columns].  A reflection is 1 - tau v v*, where v is 0 above its column's diagonal, 1 on it
and stands below it in the matrix; beta, the diagonal of R, is real and has the sign that avoids cancellation.
"""

from __future__ import annotations

from compiler.analysis.counted_loop import counted_loop
from compiler.analysis.elimination import along, conjugate, each, line, only, place, transposed_times
from compiler.analysis.expression import Expression, iota
from compiler.ir.types import S32


def householder(matrix: Expression) -> tuple[Expression, Expression]:
    """R with the vectors below it, and the factors of the reflections."""
    batch, rows, columns = matrix.dims
    steps = min(rows, columns)
    factors = matrix.literal(0).spread((batch, steps), ())

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        work, factors = state
        column = line(work, 2, k)
        row = iota(k.instruction.computation, S32, column.dims, 1)
        tau, beta, vector = _reflection(column, row, k)
        # Columns to the right of k are reflected; column k holds beta and the vector.
        projected = transposed_times(work, conjugate(vector))
        scaled = each(conjugate(tau), projected) * projected
        at = place(work, 2)
        reflected = work - along(vector, work, 1) * along(scaled, work, 2)
        stored = row.compare("EQ", k).where(each(beta, column), row.compare("GT", k).where(vector, column))
        result = at.compare("GT", k).where(reflected, at.compare("EQ", k).where(along(stored, work, 1), work))
        here = iota(k.instruction.computation, S32, factors.dims, 1).compare("EQ", k)
        return [result, here.where(each(tau, factors), factors)]

    work, factors = counted_loop("householder", steps, [matrix, factors], step)
    return work, factors


def _reflection(column: Expression, row: Expression, k: Expression) -> tuple[Expression, Expression, Expression]:
    """tau, beta and the vector that make a column's elements below number k vanish."""
    head = only(column, k)
    below = row.compare("GT", k)
    tail = below.where(column, column.literal(0))
    length = _norm(tail)
    real = head.apply("real") if head.type.is_complex else head
    whole = _hypot(_absolute(head), length)
    signed = real.compare("LT", 0).where(whole, -whole)
    idle = length.compare("EQ", 0)
    if head.type.is_complex:
        idle = idle & head.apply("imag").compare("EQ", 0)
        signed = signed.apply("complex", signed.literal(0))
    beta = idle.where(head, signed)
    one = head.literal(1).spread(head.dims, ())
    tau = idle.where(head.literal(0).spread(head.dims, ()), (beta - head) / idle.where(one, beta))
    divisor = idle.where(one, head - beta)
    vector = row.compare("EQ", k).where(column.literal(1).spread(column.dims, ()), tail / each(divisor, tail))
    return tau, beta, vector


def _absolute(value: Expression) -> Expression:
    return value.apply("abs")


def _norm(vector: Expression) -> Expression:
    """The length of each vector, scaled so that no square leaves the range of the type."""
    size = _absolute(vector)
    computation = size.instruction.computation
    assert computation.module is not None
    largest = size.largest(1)
    safe = largest.compare("EQ", 0).where(largest.literal(1).spread(largest.dims, ()), largest)
    share = size / each(safe, size)
    return safe * (share * share).sum(1).apply("sqrt") * largest.compare("EQ", 0).apply("not").to(size.type)


def _hypot(left: Expression, right: Expression) -> Expression:
    larger, smaller = left.apply("maximum", right), left.apply("minimum", right)
    safe = larger.compare("EQ", 0).where(larger.literal(1).spread(larger.dims, ()), larger)
    share = smaller / safe
    return larger * (share * share + 1).apply("sqrt")


def householder_product(vectors: Expression, factors: Expression) -> Expression:
    """The first columns of the product of the reflections, as many as there are columns of vectors."""
    steps = factors.dims[1]
    ones = place(vectors, 1).compare("EQ", place(vectors, 2)).to(vectors.type)

    def step(number: Expression, state: list[Expression]) -> list[Expression]:
        result, vectors, factors = state
        k = -number + (steps - 1)
        column = line(vectors, 2, k)
        row = iota(k.instruction.computation, S32, column.dims, 1)
        tail = row.compare("GT", k).where(column, column.literal(0))
        vector = row.compare("EQ", k).where(column.literal(1).spread(column.dims, ()), tail)
        projected = transposed_times(result, conjugate(vector))
        scaled = each(only(factors, k), projected) * projected
        return [result - along(vector, result, 1) * along(scaled, result, 2), vectors, factors]

    return counted_loop("householder_product", steps, [ones, vectors, factors], step)[0]
