"""Schur's form of batches of general matrices, by Francis's double steps written as loops: LAPACK's gees.

Every matrix is brought to Hessenberg's form.  Then each iteration takes the last part of each that has not fallen
apart, as elements below the diagonal do that are nothing beside their neighbours.  A part of one row is done; one of
two is made triangular, or given equal diagonal elements where its eigenvalues are a pair; through any other a bulge of
three rows is chased, which two shifts at once make (Golub and Van Loan, "Matrix Computations", section 7.5).  All three
are the same reflections from both sides, of three rows at a time, so the matrices of a batch go from row to row
together, each where its part lies.  Complex matrices take the same steps, with one shift twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression, concatenate
from compiler.expansion.matrices import (
    alike,
    along,
    block,
    conjugate,
    corner,
    cut,
    diagonal,
    each,
    index_along,
    is_finite,
    kept,
    next_along,
    nonzero,
    on_diagonal,
    padded,
    previous_along,
    real,
    rows_at,
    scaled,
    with_block,
)
from compiler.expansion.reflections import hessenberg, householder_product, reflection
from compiler.ir.types import S32

_MOST_ITERATIONS = 30
"""Iterations for each eigenvalue before the rest are given up."""
_PATIENCE = 10
"""Iterations in one part after which shifts are tried that have nothing to do with it."""
_BULGE = 3
"""Rows of the bulge that a double shift chases (Golub and Van Loan, 7.5)."""


@dataclass(frozen=True, slots=True)
class Schur:
    """A matrix as A T A*.

    Attributes:
        triangle: T divided by `scale`, upper triangular but for pairs, whose diagonal elements are alike.
        scale: the greatest element of the matrix; [batch].
        vectors: A, the vectors as columns.
        pairs: whether a row and the next hold a pair of eigenvalues; [batch, rows].
        failed: how many of the first eigenvalues were not found; s32[batch].
    """

    triangle: Expression
    scale: Expression
    vectors: Expression
    pairs: Expression
    failed: Expression


def schur(matrix: Expression) -> Schur:
    """Schur's form; where an element is no finite number no eigenvalue is found."""
    batch, size, _ = matrix.dims
    form, scale = scaled(matrix)
    work = _hessenberg_over_vectors(form)
    finite = is_finite(matrix)
    none = scale.literal(0).to(S32).spread((batch,), ())
    bottom = finite.where(none + (size - 1), none - 1)
    state = [work, bottom, none, none.spread((batch, size), (0,))]
    if size > 1:
        state = counted_loop("francis", _MOST_ITERATIONS * max(size, _PATIENCE), state, _iteration, _is_unfinished)
        work, bottom, _, pairs = state
    else:
        bottom, pairs = none - 1, state[3]
    triangle, vectors = (work.slice((0, batch), (start, start + size), (0, size)) for start in (0, size + 1))
    is_first = pairs.compare("NE", 0)
    return Schur(
        _triangular(triangle, is_first),
        scale,
        vectors,
        is_first,
        finite.where(bottom + 1, none + size),
    )


def _hessenberg_over_vectors(matrix: Expression) -> Expression:
    """Hessenberg's form, and below it the vectors that lead to it, both with room for a bulge at the end."""
    batch, size, _ = matrix.dims
    packed, factors = hessenberg(matrix, 0, size)
    form = kept(index_along(packed, 1).compare("LE", index_along(packed, 2) + 1), packed, 0)
    vectors = matrix.literal(1).spread((batch, 1, 1), ())
    if size > 1:
        inner = householder_product(packed.slice((0, batch), (1, size), (0, size - 1)), factors)
        zeros = matrix.literal(0).spread((batch, 1, size - 1), ())
        column = concatenate([vectors, zeros.reshape(batch, size - 1, 1)], 1)
        vectors = concatenate([column, concatenate([zeros, inner], 1)], 2)
    return concatenate([padded(form, size + 1, size + 1), padded(vectors, size, size + 1)], 1)


def _triangular(form: Expression, is_first: Expression) -> Expression:
    """A form that has fallen apart without what is nothing; pairs have the mean of their diagonal elements."""
    own = diagonal(form)
    is_second = rows_behind(is_first)
    means = [(own + other(own, 1)) * 0.5 for other in (next_along, previous_along)]
    own = is_first.where(means[0], is_second.where(means[1], own))
    row, column = index_along(form, 1), index_along(form, 2)
    counts = row.compare("LT", column) | (row.compare("EQ", column + 1) & along(is_first, form, 2))
    return on_diagonal(form).where(along(own, form, 1), kept(counts, form, 0))


def rows_behind(rows: Expression) -> Expression:
    """The rows behind some, each told by a predicate."""
    return previous_along(rows.to(S32), 1).compare("NE", 0)


def _is_unfinished(_: Expression, state: list[Expression]) -> Expression:
    return state[1].largest(0).compare("GE", 0)


def _iteration(_: Expression, state: list[Expression]) -> list[Expression]:
    """One step in the last part of each matrix; the state: work, the part's last row, how often, where pairs are."""
    work, bottom, age, pairs = state
    top = _top(work, bottom)
    start, is_pair = _start(work, top, bottom, age)
    is_active = top.compare("LT", bottom)
    first = -kept(is_active, -top, -work.dims[2]).largest(0)
    last = kept(is_active, bottom, 0).largest(0)

    def goes_on(at: Expression, state: list[Expression]) -> Expression:
        return (at + state[1]).compare("LT", state[2])

    def step(at: Expression, state: list[Expression]) -> list[Expression]:
        work, first, _, top, bottom, start = state
        return [_chased(work, at + first, (top, bottom), start), *state[1:]]

    moving = [work, first, last, top, bottom, start]
    work = counted_loop("chase", pairs.dims[1] - 1, moving, step, goes_on)[0]
    length = bottom - top + 1
    is_done = length.compare("LE", 2) & bottom.compare("GE", 0)
    is_found = is_pair & length.compare("EQ", 2)
    here = index_along(pairs, 1).compare("EQ", each(top, pairs)) & each(is_found, pairs)
    return [
        work,
        is_done.where(bottom - length, bottom),
        kept(is_done.apply("not"), age + 1, 0),
        here.where(pairs.literal(1).spread(pairs.dims, ()), pairs),
    ]


def _top(work: Expression, bottom: Expression) -> Expression:
    """The first row of the part that ends at the bottom."""
    batch, _, width = work.dims
    size = width - 1
    flat = corner(work, width, width).reshape(batch, width * width)
    own = flat.slice((0, batch), (0, (size - 1) * (width + 1) + 1, width + 1)).apply("abs")
    below = flat.slice((0, batch), (width, width + (size - 2) * (width + 1) + 1, width + 1)).apply("abs")
    # The greatest element is 1: that stands in for neighbours that are nothing themselves.
    around = nonzero(own.slice((0, batch), (0, size - 1)) + own.slice((0, batch), (1, size)))
    info = np.finfo(work.type.dtype)
    # And what is nothing beside that element: where neighbours round to nothing no step makes it less (LAPACK's lahqr).
    splits = below.compare("LE", (around * float(info.eps)).apply("maximum", float(info.tiny) * size / float(info.eps)))
    row = index_along(splits, 1) + 1
    return kept(splits & row.compare("LE", each(bottom, row)), row, 0).largest(1)


def _start(work: Expression, top: Expression, bottom: Expression, age: Expression) -> tuple[Expression, Expression]:
    """What the first reflection of each part turns into its first row, and whether the last two rows are a pair."""
    batch, rows, width = work.dims
    above = bottom - 1
    positions = [(above, above), (above, bottom), (bottom, above), (bottom, bottom)]
    positions += [(top, top), (top, top + 1), (top + 1, top), (top + 1, top + 1), (top + 2, top + 1)]
    # Of parts that are too short for them some lie nowhere.
    numbers = concatenate(
        [(row * width + column).apply("maximum", 0).reshape(batch, 1) for row, column in positions], 1
    )
    found = rows_at(work.reshape(batch, rows * width, 1), numbers)
    values = [cut(found, 1, n, n + 1).reshape(batch) for n in range(len(positions))]
    last = _LastRows(*values[:4])
    is_pair, rise = last.split()
    is_two = (bottom - top).compare("EQ", 1)
    longer = _bulge(values[4:], *last.shifts(is_pair, rise, age))
    shorter = [rise, last.c]
    if not work.type.is_complex:
        shorter = [is_pair.where(*pair) for pair in zip(last.leveled(), shorter, strict=True)]
    none = rise.literal(0).spread((batch,), ())
    chosen = [is_two.where(*pair) for pair in zip([*shorter, none], longer, strict=True)]
    return concatenate([value.reshape(batch, 1) for value in chosen], 1), is_pair


@dataclass(frozen=True, slots=True)
class _LastRows:
    """[[a, b], [c, d]], the last two rows and columns of each part."""

    a: Expression
    b: Expression
    c: Expression
    d: Expression

    def split(self) -> tuple[Expression, Expression]:
        """Whether the eigenvalues are a pair, and if not how far that which is farther from d lies from it."""
        half, product = (self.a - self.d) * 0.5, self.b * self.c
        square = half * half + product
        if half.type.is_complex:
            root = square.apply("sqrt")
            # Of the two roots that which does not cancel.
            turned = real(conjugate(half) * root).compare("LT", 0)
            return turned.compare("NE", turned), half + turned.where(-root, root)
        unit = float(np.finfo(half.type.dtype).eps)
        doubt = (half * half).apply("maximum", product.apply("abs")) * (4 * unit)
        root = square.apply("maximum", 0).apply("sqrt")
        return square.compare("LT", -doubt), half + half.compare("LT", 0).where(-root, root)

    def leveled(self) -> tuple[Expression, Expression]:
        """The direction, of a pair, by which the diagonal elements become alike."""
        half, total = (self.a - self.d) * 0.5, self.b + self.c
        length = nonzero((total * total + half * half * 4).apply("sqrt"))
        cosine = ((total.apply("abs") / length + 1) * 0.5).apply("sqrt")
        sine = half / (length * cosine)
        return cosine, total.compare("LT", 0).where(sine, -sine)

    def shifts(self, is_pair: Expression, rise: Expression, age: Expression) -> tuple[Expression, Expression]:
        """Centre and distance of two shifts: the pair, or the nearer to d twice; others where those did not help."""
        nearer = self.d - self.b * self.c / nonzero(rise)
        centre = is_pair.where((self.a + self.d) * 0.5, nearer)
        distance = real(self.c).literal(0).spread(age.dims, ())
        if not rise.type.is_complex:
            half = (self.a - self.d) * 0.5
            distance = kept(is_pair, (-(half * half + self.b * self.c)).apply("maximum", 0).apply("sqrt"), 0)
        size = self.c.apply("abs")
        is_late = age.apply("remainder", _PATIENCE).compare("EQ", _PATIENCE - 1)
        centre = is_late.where(self.d + alike(size * 0.75, self.d), centre)
        return centre, is_late.where(size * 0.4375**0.5, distance)


def _bulge(head: list[Expression], centre: Expression, distance: Expression) -> list[Expression]:
    """The first column of (H - s1)(H - s2), divided by its magnitude, from elements of H's first rows."""
    own, right, below, following, further = head
    away = own - centre
    size = away.apply("abs") + distance + below.apply("abs")
    scale, distance = alike(nonzero(size), own), alike(distance, own)
    share = below / scale
    return [
        share * right + away * (away / scale) + distance * (distance / scale),
        share * (away + following - centre),
        share * further,
    ]


def _chased(work: Expression, k: Expression, window: tuple[Expression, Expression], start: Expression) -> Expression:
    """Three rows and columns from k on reflected, where these are in the part: by the start, or by column k - 1."""
    top, bottom = window
    batch, rows, width = work.dims
    is_active, is_start = k.compare("GE", top) & k.compare("LT", bottom), k.compare("EQ", top)
    zero, before = k.literal(0), k - 1
    lines = block(work, (zero, k, zero), (batch, _BULGE, width))
    column = block(lines, (zero, zero, before.apply("maximum", 0)), (batch, _BULGE, 1)).reshape(batch, _BULGE)
    tau, beta, vector = reflection(each(is_start, column).where(start, column), zero)
    tau, vector = kept(is_active, tau, 0), kept(each(is_active, vector), vector, 0)
    total = _combined(lines, 1, conjugate(vector))
    reflected = lines - along(vector, lines, 1) * along(each(conjugate(tau), total) * total, lines, 2)
    row, at = index_along(lines, 1), index_along(lines, 2)
    follows = each(is_active & is_start.apply("not"), lines) & at.compare("EQ", before)
    made = kept(row.compare("EQ", 0), each(beta, lines), 0)
    lines = at.compare("GE", k).where(reflected, follows.where(made, lines))
    work = with_block(work, lines, (zero, k, zero))
    columns = block(work, (zero, zero, k), (batch, rows, _BULGE))
    total = _combined(columns, 2, vector)
    turned = columns - along(each(tau, total) * total, columns, 1) * along(conjugate(vector), columns, 2)
    # Of the form what lies above the part's end, and of the vectors everything.
    row = index_along(columns, 1)
    changes = row.compare("LE", each(bottom, columns)) | row.compare("GE", width)
    return with_block(work, changes.where(turned, columns), (zero, zero, k))


def _combined(lines: Expression, dimension: int, factors: Expression) -> Expression:
    """The sum of a few rows or columns, each times its factor; not a dot, so that it is computed where it is used."""
    batch, count = factors.dims
    rest = next(n for d, n in enumerate(lines.dims) if d not in (0, dimension))
    given = [cut(lines, dimension, n, n + 1).reshape(batch, rest) for n in range(count)]
    terms = [line * each(cut(factors, 1, n, n + 1).reshape(batch), line) for n, line in enumerate(given)]
    return sum(terms[1:], terms[0])
