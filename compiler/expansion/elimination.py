"""Elimination in batches of matrices written as loops: LU, tridiagonal systems, and where Cholesky's method fails.

Each step reads one column and one row and changes the rest of the matrix in one elementwise operation, which back ends
do in place; steps are as LAPACK's unblocked routines have them, so pivots and signs are LAPACK's.  They work in the
type they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression, concatenate, largest_of_row, number
from compiler.expansion.matrices import (
    alike,
    along,
    block,
    conjugate,
    corner,
    cut,
    dot,
    each,
    index_along,
    kept,
    line,
    only,
    padded,
    real,
    rows_at,
    times,
    with_block,
    with_line,
    with_only,
)
from compiler.ir.types import S32

_PANEL = 32
"""Columns of a Cholesky factor that are computed one by one: c128[256,256] takes 3.9 ms, without panels 9.7 (11-27)."""
_ONE_PANEL = 64
"""Columns up to which all are one panel: of 64 two panels take 0.9 of the time, of 33 four times as long (11-27)."""


class Lu(NamedTuple):
    """What getrf gives of [batch, rows, columns].

    Attributes:
        packed: L without its ones, and U, in one matrix.
        pivots: for each step the row, from 1, that it swapped with.
        failed: for each matrix the first step with a zero pivot, from 1, or 0.
    """

    packed: Expression
    pivots: Expression
    failed: Expression


def modulus(value: Expression) -> Expression:
    """|value|, by which Eigen chooses pivots."""
    return value.apply("abs")


def lu(matrix: Expression, size_of: Callable[[Expression], Expression] | None = None) -> Lu:
    """The LU factorisation with partial pivoting of each of the matrices [batch, rows, columns].

    Args:
        matrix: the matrices.
        size_of: by what the greatest entry of a column is chosen; LAPACK's measure where nothing is said.
    """
    size_of = size_of or _magnitude
    computation = matrix.instruction.computation
    batch, rows, columns = matrix.dims
    steps = min(rows, columns)
    pivots = number(computation, 0, S32).spread((batch, steps), ())
    failed = number(computation, 0, S32).spread((batch,), ())

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        work, pivots, failed = state
        column = line(work, 2, k)
        below = index_along(column, 1).compare("GE", k)
        magnitude = size_of(column)
        # As great as can be: a NaN that came to stand below a pivot could hide behind zeros.
        magnitude = kept(magnitude.compare("EQ", magnitude), magnitude, np.inf)
        greatest, chosen = largest_of_row(kept(below, magnitude, -1))
        zero = greatest.compare("EQ", 0)
        chosen = zero.where(k, chosen)
        pivots = with_only(pivots, chosen + 1, k)
        failed = (zero & failed.compare("EQ", 0)).where(k + 1, failed)
        return [_eliminated(work, column, chosen, zero, k), pivots, failed]

    work, pivots, failed = counted_loop("lu", steps, [matrix, pivots, failed], step)
    return Lu(work, pivots, failed)


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
    row = index_along(column, 1)
    is_chosen, is_k = row.compare("EQ", each(chosen, row)), row.compare("EQ", k)
    head, pivot = only(column, k), only(other, k)
    swapped = is_k.where(each(pivot, column), is_chosen.where(each(head, column), column))
    safe = zero.where(pivot.literal(1), pivot)
    active = row.compare("GT", k) & each(zero, row).apply("not")
    factors = kept(active, swapped / each(safe, swapped), 0)
    # What is not below row k loses nothing, what is not right of column k neither.
    at = index_along(work, 2)
    right = at.compare("GT", k)
    entries = along(is_k, work, 1).where(
        along(other, work, 2), along(is_chosen, work, 1).where(along(upper, work, 2), work)
    )
    reduced = entries - along(factors, work, 1) * along(other, work, 2)
    changed = along(active, work, 1)
    result = (changed & right).where(reduced, entries)
    return (changed & at.compare("EQ", k)).where(along(factors, work, 1), result)


def first_failure(matrix: Expression, failed: Expression) -> Expression:
    """The column (from 1) at which Cholesky's method fails on a lower triangle, or 0; no work where none `failed`.

    What failed did so by roundings of its own, which these need not repeat: then it is the last column, where there
    are most.
    """
    batch, size, _ = matrix.dims
    found = number(matrix.instruction.computation, 0, S32).spread((batch,), ())
    factor = matrix.literal(0).spread(matrix.dims, ())
    any_failed = failed.to(S32).sum(0).compare("GT", 0).to(S32)

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        matrix, factor, found, needed = state
        pivot, factor = _with_column(matrix, factor, k, k)
        fails = pivot.compare("GT", 0).apply("not") & found.compare("EQ", 0)
        return [matrix, factor, fails.where(k + 1, found), needed]

    def goes_on(_: Expression, state: list[Expression]) -> Expression:
        return state[3].compare("GT", 0)

    found = counted_loop("first_failure", size, [matrix, factor, found, any_failed], step, goes_on)[2]
    return (failed & found.compare("EQ", 0)).where(found.literal(0) + size, found)


def cholesky(matrix: Expression) -> Expression:
    """Cholesky's factors of lower triangles [batch, size, size]; of those that have none all is NaN.

    A panel of columns at a time loses in one product what those before it take from it.
    """
    batch, size, _ = matrix.dims
    lowest = real(matrix).literal(np.inf).spread((batch,), ())
    if size <= _ONE_PANEL:
        factor, lowest = _panel(matrix, lowest, number(matrix.instruction.computation, 0, S32))
    else:
        panels = -(-size // _PANEL)
        factor, lowest = _by_panels(_with_identity(matrix, panels * -(-size // panels)), lowest, panels)
        factor = corner(factor, size, size)
    return each(lowest.compare("GT", 0), factor).where(factor, factor.literal(np.nan))


def _with_identity(matrix: Expression, size: int) -> Expression:
    """Each matrix with rows and columns of the identity behind its own, up to a size."""
    work = padded(matrix, size, size)
    row, column = (index_along(work, dimension) for dimension in (1, 2))
    is_put = row.compare("EQ", column) & row.compare("GE", matrix.dims[1])
    return is_put.where(work.literal(1), work)


def _by_panels(matrix: Expression, lowest: Expression, panels: int) -> tuple[Expression, Expression]:
    """Cholesky's factors, and the least of all pivots.

    Args:
        matrix: whole panels of columns.
        lowest: the least of the pivots before.
        panels: how many.
    """
    batch, size, _ = matrix.dims
    width = size // panels

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        matrix, factor, lowest = state
        zero, first = k.literal(0), k * width
        panel = block(matrix, (zero, zero, first), (batch, size, width))
        before = block(factor, (zero, first, zero), (batch, width, size))
        columns, lowest = _panel(panel - dot(factor, conjugate(before), 2, 2), lowest, first)
        return [matrix, with_block(factor, columns, (zero, zero, first)), lowest]

    start = [matrix, matrix.literal(0).spread(matrix.dims, ()), lowest]
    _, factor, lowest = counted_loop("panels", panels, start, step)
    return factor, lowest


def _panel(panel: Expression, lowest: Expression, first: Expression) -> tuple[Expression, Expression]:
    """A panel's columns of Cholesky's factors, and the least of the pivots.

    Args:
        panel: columns of the matrices, less what the factors' columns before them take from them.
        lowest: the least of the pivots before.
        first: the number of the first column.
    """
    columns = panel.literal(0).spread(panel.dims, ())
    _, columns, lowest, _ = counted_loop("cholesky", panel.dims[2], [panel, columns, lowest, first], _panel_step)
    return columns, lowest


def _panel_step(k: Expression, state: list[Expression]) -> list[Expression]:
    """Column k of a panel: the state after it."""
    panel, columns, lowest, first = state
    pivot, columns = _with_column(panel, columns, k, first + k)
    # Behind a pivot that is no number none is, so that a NaN stays.
    return [panel, columns, lowest.compare("LT", pivot).where(lowest, pivot), first]


def _with_column(
    matrix: Expression, factor: Expression, k: Expression, pivot_row: Expression
) -> tuple[Expression, Expression]:
    """The pivot of column k, in its row, and the factor with that column, whose earlier ones are there."""
    rest = line(matrix, 2, k) - times(factor, conjugate(line(factor, 1, pivot_row)))
    pivot = real(only(rest, pivot_row))
    root, row = each(alike(pivot.apply("sqrt"), rest), rest), index_along(rest, 1)
    column = row.compare("EQ", pivot_row).where(root, kept(row.compare("GT", pivot_row), rest / root, 0))
    return pivot, index_along(factor, 2).compare("EQ", k).where(along(column, factor, 1), factor)


class TridiagonalSolution(NamedTuple):
    """What gtsv gives: what it leaves of the diagonals, the solutions, and the row, from 1, without a pivot or 0.

    The second diagonal, which exchanges of rows make, stands where the lower was.
    """

    lower: Expression
    diagonal: Expression
    upper: Expression
    solution: Expression
    failed: Expression


def tridiagonal_solve(
    lower: Expression, diagonal: Expression, upper: Expression, right: Expression
) -> TridiagonalSolution:
    """Tridiagonal systems, solved by elimination, which leaves what it has come to where there is no pivot.

    Args:
        lower: the diagonal below, [batch, size], whose first element is not used.
        diagonal: [batch, size].
        upper: the diagonal above, [batch, size], whose last element is not used.
        right: the right sides, [batch, size, columns].
    """
    batch, size, columns = right.dims
    inner = index_along(upper, 1).compare("LT", size - 1)
    lines = [diagonal, kept(inner, upper, 0), upper.literal(0).spread(upper.dims, ())]
    found = number(right.instruction.computation, 0, S32).spread((batch,), ())
    above = concatenate([*(operand.reshape(batch, size, 1) for operand in lines), right], 2)
    rows, last, found = _rows_eliminated(above, lower, found)
    rows = with_line(rows, 1, last, found.literal(0) + (size - 1))
    pivot = cut(last, 1, 0, 1).reshape(batch)
    found = (found.compare("EQ", 0) & pivot.compare("EQ", 0)).where(found.literal(size).spread((batch,), ()), found)
    solution = _substituted(rows, columns)
    # Rows behind the one that has no pivot are as they were given.
    done = kept(found.compare("NE", 0), found, size)
    row = index_along(diagonal, 1)
    reached = row.compare("LT", each(done, row))
    eliminated = [cut(rows, 2, n, n + 1).reshape(batch, size) for n in range(3)]
    second = concatenate([cut(lower, 1, 0, 1), cut(eliminated[2], 1, 0, size - 1)], 1)
    is_second = row.compare("GT", 0) & reached & inner
    sides = cut(rows, 2, 3, 3 + columns)
    left = along(reached, right, 1).where(sides, right)
    return TridiagonalSolution(
        is_second.where(second, lower),
        reached.where(eliminated[0], diagonal),
        (reached & inner).where(eliminated[1], upper),
        each(found, solution).compare("EQ", 0).where(solution, left),
        found,
    )


class _Eliminated(NamedTuple):
    """Rows as they begin at the pivot, with their right sides; the last by itself; the first without a pivot, or 0."""

    rows: Expression
    last: Expression
    found: Expression


def _rows_eliminated(rows: Expression, lower: Expression, found: Expression) -> _Eliminated:
    batch, size, length = rows.dims

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        rows, row, lower, found = state
        following = k + 1
        below = only(lower, following).reshape(batch, 1)
        given = line(rows, 1, following)
        # The next row as it begins below the pivot.
        following_row = concatenate([below, cut(given, 1, 0, 2), cut(given, 1, 3, length)], 1)
        pivot = cut(row, 1, 0, 1)
        stays = _magnitude(pivot).compare("GE", _magnitude(below)).reshape(batch)
        found = (stays & pivot.reshape(batch).compare("EQ", 0) & found.compare("EQ", 0)).where(following, found)
        first, second = (each(stays, row).where(*pair) for pair in ((row, following_row), (following_row, row)))
        factor = (cut(second, 1, 0, 1) / cut(first, 1, 0, 1)).reshape(batch)
        reduced = second - each(factor, first) * first
        none = reduced.literal(0).spread((batch, 1), ())
        shifted = [cut(reduced, 1, 1, 3), none, cut(reduced, 1, 3, length)]
        return [with_line(rows, 1, first, k), concatenate(shifted, 1), lower, found]

    start = line(rows, 1, number(rows.instruction.computation, 0, S32))
    rows, last, _, found = counted_loop("rows_eliminated", size - 1, [rows, start, lower, found], step)
    return _Eliminated(rows, last, found)


def _substituted(rows: Expression, columns: int) -> Expression:
    """The solution of a triangle that has its diagonal and two above it in columns, and right sides behind them."""
    batch, size, _ = rows.dims
    none = rows.literal(0).spread((batch, columns), ())

    def step(number: Expression, state: list[Expression]) -> list[Expression]:
        rows, solution, *known = state
        k = -number + (size - 1)
        row = line(rows, 1, k)
        pivot, *others = (cut(row, 1, n, n + 1).reshape(batch) for n in range(3))
        side = cut(row, 1, 3, 3 + columns)
        for factor, value in zip(others, known, strict=True):
            side = side - each(factor, side) * value
        found = side / each(pivot, side)
        return [rows, with_line(solution, 1, found, k), found, known[0]]

    solution = rows.literal(0).spread((batch, size, columns), ())
    return counted_loop("substituted", size, [rows, solution, none, none], step)[1]
