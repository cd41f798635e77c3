"""Factorisations of batches of matrices written as loops over columns: LU, and where Cholesky's method fails.

Each step reads one column and one row and changes the rest of the matrix in one elementwise operation, which back ends
do in place; steps are as LAPACK's unblocked routines have them, so pivots and signs are LAPACK's.  They work in the
type they are given.
"""

from __future__ import annotations

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression, largest_of_row, number
from compiler.expansion.matrices import (
    alike,
    along,
    conjugate,
    each,
    kept,
    line,
    only,
    place,
    real,
    rows_at,
    times,
    with_only,
)
from compiler.ir.types import S32


def lu(matrix: Expression) -> tuple[Expression, Expression, Expression]:
    """L and U in one matrix, the row (from 1) that each step swapped with, the first step with a zero pivot or 0."""
    computation = matrix.instruction.computation
    batch, rows, columns = matrix.dims
    steps = min(rows, columns)
    pivots = number(computation, 0, S32).spread((batch, steps), ())
    failed = number(computation, 0, S32).spread((batch,), ())

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        work, pivots, failed = state
        column = line(work, 2, k)
        below = place(column, 1).compare("GE", k)
        greatest, chosen = largest_of_row(kept(below, _magnitude(column), -1))
        zero = greatest.compare("EQ", 0)
        chosen = zero.where(k, chosen)
        pivots = with_only(pivots, chosen + 1, k)
        failed = (zero & failed.compare("EQ", 0)).where(k + 1, failed)
        return [_eliminated(work, column, chosen, zero, k), pivots, failed]

    work, pivots, failed = counted_loop("lu", steps, [matrix, pivots, failed], step)
    return work, pivots, failed


def _magnitude(value: Expression) -> Expression:
    """|re| + |im|, by which LAPACK chooses pivots."""
    if not value.type.is_complex:
        return value.apply("abs")
    return value.apply("real").apply("abs") + value.apply("imag").apply("abs")


def _eliminated(
    work: Expression, column: Expression, chosen: Expression, zero: Expression, k: Expression
) -> Expression:
    """The matrix after rows k and `chosen` have changed places and column k has been eliminated below row k."""
    upper, other = line(work, 1, k), rows_at(work, chosen)
    row = place(column, 1)
    is_chosen, is_k = row.compare("EQ", each(chosen, row)), row.compare("EQ", k)
    head, pivot = only(column, k), only(other, k)
    swapped = is_k.where(each(pivot, column), is_chosen.where(each(head, column), column))
    safe = zero.where(pivot.literal(1), pivot)
    active = row.compare("GT", k) & each(zero, row).apply("not")
    factors = kept(active, swapped / each(safe, swapped), 0)
    # What is not below row k loses nothing, what is not right of column k neither.
    at = place(work, 2)
    right = at.compare("GT", k)
    entries = along(is_k, work, 1).where(
        along(other, work, 2), along(is_chosen, work, 1).where(along(upper, work, 2), work)
    )
    reduced = entries - along(factors, work, 1) * along(other, work, 2)
    changed = along(active, work, 1)
    result = (changed & right).where(reduced, entries)
    return (changed & at.compare("EQ", k)).where(along(factors, work, 1), result)


def first_failure(matrix: Expression, failed: Expression) -> Expression:
    """The column (from 1) at which Cholesky's method fails on a lower triangle, or 0; no work where none `failed`."""
    batch, size, _ = matrix.dims
    found = number(matrix.instruction.computation, 0, S32).spread((batch,), ())
    factor = matrix.literal(0).spread(matrix.dims, ())
    any_failed = failed.to(S32).sum(0).compare("GT", 0).to(S32)

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        matrix, factor, found, needed = state
        known = times(factor, conjugate(line(factor, 1, k)))
        rest = line(matrix, 2, k) - known
        pivot = real(only(rest, k))
        fails = pivot.compare("GT", 0).apply("not") & found.compare("EQ", 0)
        found = fails.where(k + 1, found)
        root = alike(pivot.apply("sqrt"), rest)
        column = kept(place(rest, 1).compare("GE", k), rest / each(root, rest), 0)
        here = place(factor, 2).compare("EQ", k)
        return [matrix, here.where(along(column, factor, 1), factor), found, needed]

    def goes_on(_: Expression, state: list[Expression]) -> Expression:
        return state[3].compare("GT", 0)

    return counted_loop("first_failure", size, [matrix, factor, found, any_failed], step, goes_on)[2]
