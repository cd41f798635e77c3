"""Eigenvalues and eigenvectors of batches of general matrices, from Schur's form: LAPACK's geev.

Pairs of a real form are made triangular in complex numbers, all at once; then the vectors of the triangle are found
together, row by row from the last.  Columns are kept no longer than 1 on the way, since those of eigenvalues that lie
close together grow beyond any range.
"""

from __future__ import annotations

import numpy as np

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression, largest_of_row
from compiler.expansion.matrices import (
    adjoint,
    along,
    by_components,
    conjugate,
    diagonal,
    dot,
    each,
    index_along,
    kept,
    line,
    next_along,
    nonzero,
    only,
    previous_along,
    real,
    rows_at,
    transposed_times,
    turned_round,
    with_line,
)
from compiler.expansion.reflections import lengths_of
from compiler.expansion.schur import Schur, rows_behind


def eigenvalues(form: Schur) -> tuple[Expression, Expression]:
    """Real and imaginary parts, in the order of the diagonal; of a pair the positive imaginary part first."""
    values = diagonal(form.triangle)
    if values.type.is_complex:
        return values.apply("real"), values.apply("imag")
    rise = _rise(form)
    return values, rise - previous_along(rise, 1)


def _rise(form: Schur) -> Expression:
    """Of each row that begins a pair the imaginary part of its eigenvalue; 0 elsewhere."""
    above, below = (diagonal(next_along(form.triangle, d)).apply("abs").apply("sqrt") for d in (2, 1))
    return kept(form.pairs, above * below, 0)


def eigenvectors(form: Schur) -> tuple[Expression, Expression]:
    """Left and right ones as columns of length 1, complex.

    Those of a pair, and all of a complex matrix, have a real number where they are greatest.
    """
    triangle, basis = _without_pairs(form)
    left = turned_round(_of_triangle(turned_round(adjoint(triangle))))
    found = [_turned(dot(basis, vectors, 2, 1)) for vectors in (left, _of_triangle(triangle))]
    if not form.triangle.type.is_complex:
        found = [_of_real(vectors, form.pairs) for vectors in found]
    left, right = map(_of_length_one, found)
    return left, right


def _without_pairs(form: Schur) -> tuple[Expression, Expression]:
    """The form as a triangle of complex numbers, and its vectors.

    The block [[a, b], [c, a]] has the vectors (b, iw) and (iw, b), where w is the imaginary part of its eigenvalues.
    """
    triangle, vectors = form.triangle, form.vectors
    if triangle.type.is_complex:
        return triangle, vectors
    rise, beside = _rise(form), kept(form.pairs, diagonal(next_along(triangle, 2)), 0)
    length = nonzero((rise * rise + beside * beside).apply("sqrt"))
    of_both = [share + previous_along(share, 1) for share in (beside / length, rise / length)]
    is_alone = of_both[1].compare("EQ", 0)
    own = _complex(is_alone.where(rise.literal(1).spread(rise.dims, ()), of_both[0]))
    other = of_both[1].literal(0).spread(rise.dims, ()).apply("complex", of_both[1])

    def turned(matrix: Expression, dimension: int, other: Expression) -> Expression:
        behind, before = next_along(matrix, dimension), previous_along(matrix, dimension)
        partner = along(form.pairs, matrix, dimension).where(behind, before)
        return matrix * along(own, matrix, dimension) + partner * along(other, matrix, dimension)

    triangle = turned(turned(_complex(triangle), 2, other), 1, conjugate(other))
    above = index_along(triangle, 1).compare("LE", index_along(triangle, 2))
    return kept(above, triangle, 0), turned(_complex(vectors), 2, other)


def _complex(value: Expression) -> Expression:
    return value.apply("complex", value.literal(0))


def _of_triangle(triangle: Expression) -> Expression:
    """The right eigenvectors of triangles, as columns no longer than about 1, by ever higher rows."""
    size = triangle.dims[1]
    limits = np.finfo(triangle.type.dtype)
    own = diagonal(triangle)
    # Eigenvalues that are alike are told apart as far as rounding may have moved them.
    least = (own.apply("abs") * float(limits.eps)).apply("maximum", float(limits.tiny / limits.eps * size))

    def step(number: Expression, state: list[Expression]) -> list[Expression]:
        vectors, triangle, own, least = state
        k = -number + (size - 1)
        known = transposed_times(vectors, line(triangle, 1, k))
        gap = own - each(only(own, k), own)
        value = known / gap.apply("abs").compare("LT", least).where(_complex(least), gap)
        column = index_along(value, 1)
        value = column.compare("EQ", k).where(value.literal(1), kept(column.compare("GT", k), value, 0))
        length = value.apply("abs").apply("maximum", 1)
        # Part by part: a quotient of complex numbers takes as long as all else in a step.
        share = length.literal(1).spread(length.dims, ()) / length
        shorter = by_components(vectors, lambda component: component * along(share, component, 2))
        vectors = with_line(shorter, 1, by_components(value, lambda component: component * share), k)
        return [vectors, triangle, own, least]

    start = triangle.literal(0).spread(triangle.dims, ())
    return counted_loop("of_triangle", size, [start, triangle, own, least], step)[0]


def _turned(vectors: Expression) -> Expression:
    """Columns turned so that their greatest elements are real."""
    batch, size, count = vectors.dims
    rows = vectors.transpose(0, 2, 1).reshape(batch * count, size)
    _, positions = largest_of_row(rows.apply("abs"))
    greatest = rows_at(rows.reshape(batch * count, size, 1), positions).reshape(batch, count)
    length = greatest.apply("abs")
    turn = length.compare("EQ", 0).where(greatest.literal(1), conjugate(greatest) / _complex(nonzero(length)))
    return vectors * along(turn, vectors, 2)


def _of_length_one(vectors: Expression) -> Expression:
    lengths = nonzero(lengths_of(vectors))
    return by_components(vectors, lambda component: component / along(lengths, component, 2))


def _of_real(vectors: Expression, pairs: Expression) -> Expression:
    """Vectors of real matrices: those of a pair are each other's conjugates, and others are real.

    What rounding adds to a real vector, times i, is large where eigenvalues lie close together, and an eigenvector as
    well: what is left without it is as right, but shorter.
    """
    first = along(pairs, vectors, 2)
    second = along(rows_behind(pairs), vectors, 2)
    partner = conjugate(previous_along(vectors, 2))
    return first.where(vectors, second.where(partner, _complex(real(vectors))))
