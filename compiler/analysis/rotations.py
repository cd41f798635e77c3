"""Jacobi's rotations of batches of matrices written as loops: eigenvalues of Hermitian matrices, singular values.

Matrices are [batch, rows, columns].  In each round rows i and n/2 + i are rotated together for all i at once, then all
rows but the first move on by one place (Brent and Luk, "The solution of singular-value and symmetric eigenvalue
problems on multiprocessor arrays", 1985): after n - 1 rounds, a sweep, every pair has met once and all are back in
their places.  Convergence is quadratic, so few sweeps do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.analysis.counted_loop import counted_loop
from compiler.analysis.elimination import conjugate, each, place
from compiler.analysis.expression import Expression, concatenate, element, iota
from compiler.analysis.reflections import householder, householder_product
from compiler.ir.types import S32
from compiler.ops.build import build

_MOST_SWEEPS = 20


def eigen(matrix: Expression, *, lower: bool) -> tuple[Expression, Expression]:
    """Vectors as columns, and the real eigenvalues in ascending order, of matrices of which one triangle is given."""
    batch, size, _ = matrix.dims
    whole = _hermitian(matrix, lower=lower)
    largest = whole.apply("abs").largest(1, 2)
    scale = largest.compare("GT", 0).where(largest, largest.literal(1))
    even = size + size % 2
    start = _padded(whole / each(_as(scale, whole), whole), even)
    identity = place(start, 1).compare("EQ", place(start, 2)).to(start.type)
    finished, vectors = _swept([start, identity], even, _rotate_both, _off_diagonal)
    diagonal = _real(_diagonal(finished)).slice((0, batch), (0, size))
    values = diagonal * each(scale, diagonal)
    ordered, order = _sorted(values)
    kept = vectors.slice((0, batch), (0, size), (0, size))
    return conjugate(_chosen_rows(kept, order).transpose(0, 2, 1)), ordered


def _hermitian(matrix: Expression, *, lower: bool) -> Expression:
    row, column = place(matrix, 1), place(matrix, 2)
    other = conjugate(matrix.transpose(0, 2, 1))
    whole = row.compare("GE" if lower else "LE", column).where(matrix, other)
    return row.compare("EQ", column).where(_as(_real(matrix), matrix), whole)


def _real(value: Expression) -> Expression:
    return value.apply("real") if value.type.is_complex else value


def _as(real: Expression, like: Expression) -> Expression:
    """A real array in the type of another, which may be complex."""
    return real.apply("complex", real.literal(0)) if like.type.is_complex else real


def _padded(matrix: Expression, size: int) -> Expression:
    """With zeros at the end of rows and columns up to a size."""
    for dimension in (1, 2):
        missing = size - matrix.dims[dimension]
        if missing:
            dims = tuple(missing if d == dimension else n for d, n in enumerate(matrix.dims))
            matrix = concatenate([matrix, matrix.literal(0).spread(dims, ())], dimension)
    return matrix


def _diagonal(matrix: Expression) -> Expression:
    """[batch, size]."""
    here = place(matrix, 1).compare("EQ", place(matrix, 2))
    if not matrix.type.is_complex:
        return here.where(matrix, matrix.literal(0)).sum(2)
    real, imaginary = matrix.apply("real"), matrix.apply("imag")
    return here.where(real, real.literal(0)).sum(2).apply("complex", here.where(imaginary, real.literal(0)).sum(2))


def _squares(value: Expression) -> Expression:
    size = value.apply("abs")
    return size * size


def _off_diagonal(state: list[Expression]) -> Expression:
    """For each matrix whether what is off the diagonal still matters."""
    matrix = state[0]
    squares = _squares(matrix)
    off = place(matrix, 1).compare("NE", place(matrix, 2)).where(squares, squares.literal(0)).sum(1, 2)
    unit = float(np.finfo(matrix.type.dtype).eps)
    return off.compare("GT", squares.sum(1, 2) * (matrix.dims[1] * unit * unit))


def _swept(
    start: list[Expression],
    size: int,
    rotate: Callable[[list[Expression]], list[Expression]],
    matters: Callable[[list[Expression]], Expression],
) -> list[Expression]:
    """The state after as many sweeps as it takes."""

    def sweep(_: Expression, state: list[Expression]) -> list[Expression]:
        arrays = state[:-1]
        turned = counted_loop("rotations", size - 1, arrays, lambda _, parts: rotate(parts))
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
    diagonal = _real(_diagonal(matrix))
    first, second = (diagonal.slice((0, batch), (start, start + half)) for start in (0, half))
    between = _diagonal(matrix.slice((0, batch), (0, half), (half, size)))
    cosine, sine = _angle(first, second, between)
    turned = _turned(_turned(matrix, 1, cosine, conjugate(sine)), 2, cosine, sine)
    return [turned, _turned(vectors, 1, cosine, conjugate(sine))]


def _angle(first: Expression, second: Expression, between: Expression) -> tuple[Expression, Expression]:
    """Cosine and sine of the rotation that diagonalises [[first, between], [between*, second]]."""
    size = between.apply("abs")
    none = size.compare("EQ", 0)
    one = size.literal(1).spread(size.dims, ())
    safe = none.where(one, size)
    cotangent = (second - first) / (safe * 2)
    root = (_hypot_of_one(cotangent)) + cotangent.apply("abs")
    tangent = cotangent.compare("LT", 0).where(-(one / root), one / root)
    tangent = none.where(size.literal(0).spread(size.dims, ()), tangent)
    cosine = one / _hypot_of_one(tangent)
    sine = _as(tangent * cosine, between)
    sine = sine * conjugate(between) / _as(safe, between)
    return _as(cosine, between), sine


def _hypot_of_one(value: Expression) -> Expression:
    """sqrt(1 + x^2), for large x by its magnitude."""
    size = value.apply("abs")
    large = size.compare("GT", 1e8)
    kept = large.where(size.literal(0), size)
    return large.where(size, (kept * kept + 1).apply("sqrt"))


def _turned(matrix: Expression, dimension: int, cosine: Expression, sine: Expression) -> Expression:
    """Partners along a dimension rotated, and moved on by one place."""
    half = matrix.dims[dimension] // 2

    def part(start: int, stop: int, of: Expression = matrix) -> Expression:
        return of.slice(*((start, stop) if d == dimension else (0, n) for d, n in enumerate(of.dims)))

    first, second = part(0, half), part(half, 2 * half)
    c, s = (value.spread(first.dims, (0, dimension)) for value in (cosine, sine))
    top, bottom = first * c - second * s, first * conjugate(s) + second * c
    if half == 1:
        return concatenate([top, bottom], dimension)
    pieces = [
        part(0, 1, top),
        part(0, 1, bottom),
        part(1, half - 1, top),
        part(1, half, bottom),
        part(half - 1, half, top),
    ]
    return concatenate([piece for piece in pieces if piece.dims[dimension]], dimension)


def _sorted(values: Expression, *, descending: bool = False) -> tuple[Expression, Expression]:
    """Each row in order, and the columns that its elements stood in."""
    computation, size = values.instruction.computation, values.dims[1]
    pair = build(computation, "topk", [values.instruction], k=size, largest=descending)
    return Expression(element(pair, 0)), Expression(element(pair, 1))


def _chosen_rows(matrix: Expression, order: Expression) -> Expression:
    """The rows of each matrix in another order."""
    batch, rows, columns = matrix.dims
    computation = matrix.instruction.computation
    first = iota(computation, S32, order.dims, 0) * rows
    gathered = build(
        computation,
        "gather",
        [matrix.reshape(batch * rows, columns).instruction, (first + order).reshape(batch * rows, 1).instruction],
        offset_dims=(1,),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1, columns),
    )
    return Expression(gathered).reshape(batch, rows, columns)


def singular(matrix: Expression, *, full: bool) -> tuple[Expression, Expression, Expression]:
    """Left vectors as columns, singular values in descending order, right vectors as conjugated rows.

    With `full` there are as many vectors as rows and columns, else as many as values.
    """
    batch, rows, columns = matrix.dims
    if rows < columns:
        left, values, right = singular(_adjoint(matrix), full=full)
        return _adjoint(right), values, _adjoint(left)
    largest = matrix.apply("abs").largest(1, 2)
    scale = largest.compare("GT", 0).where(largest, largest.literal(1))
    even = columns + columns % 2
    # Rows of the adjoint are the columns that are rotated; the identity beside them gathers the rotations.
    scaled = _adjoint(matrix / each(_as(scale, matrix), matrix))
    start = _padded_rows(scaled, even)
    square = start.literal(0).spread((batch, even, even), ())
    identity = place(square, 1).compare("EQ", place(square, 2)).to(start.type)
    turned, rotations = _swept([start, identity], even, _rotate_rows, _not_orthogonal)
    turned = turned.slice((0, batch), (0, columns), (0, rows))
    rotations = rotations.slice((0, batch), (0, columns), (0, columns))
    values, order = _sorted(_squares(turned).sum(2).apply("sqrt"), descending=True)
    right = _chosen_rows(rotations, order)
    left = _orthonormal(_adjoint(_chosen_rows(turned, order)), values, full=full)
    return left, values * each(scale, values), right


def _adjoint(matrix: Expression) -> Expression:
    return conjugate(matrix.transpose(0, 2, 1))


def _padded_rows(matrix: Expression, rows: int) -> Expression:
    missing = rows - matrix.dims[1]
    if not missing:
        return matrix
    return concatenate([matrix, matrix.literal(0).spread((matrix.dims[0], missing, matrix.dims[2]), ())], 1)


def _partners(matrix: Expression) -> tuple[Expression, Expression, Expression]:
    """Of rows that are partners the squares of their lengths and their inner product: [batch, half] each."""
    batch, size, length = matrix.dims
    first, second = (matrix.slice((0, batch), (start, start + size // 2), (0, length)) for start in (0, size // 2))
    product = first * conjugate(second)
    if not product.type.is_complex:
        return _squares(first).sum(2), _squares(second).sum(2), product.sum(2)
    inner = product.apply("real").sum(2).apply("complex", product.apply("imag").sum(2))
    return _squares(first).sum(2), _squares(second).sum(2), inner


def _rotate_rows(state: list[Expression]) -> list[Expression]:
    """One round of rotations that make partners orthogonal."""
    cosine, sine = _angle(*_partners(state[0]))
    return [_turned(part, 1, cosine, conjugate(sine)) for part in state]


def _not_orthogonal(state: list[Expression]) -> Expression:
    """For each matrix whether two rows are not orthogonal yet."""
    rows = state[0]
    gram = build(
        rows.instruction.computation,
        "dot",
        [rows.instruction, conjugate(rows).instruction],
        lhs_batch_dims=(0,),
        rhs_batch_dims=(0,),
        lhs_contracting_dims=(2,),
        rhs_contracting_dims=(2,),
    )
    return _off_diagonal([Expression(gram)])


def _orthonormal(vectors: Expression, lengths: Expression, *, full: bool) -> Expression:
    """Orthogonal columns of descending lengths made as long as 1; those of no length, and missing ones, are made up."""
    batch, rows, columns = vectors.dims
    unit = float(np.finfo(vectors.type.dtype).eps)
    largest = lengths.slice((0, batch), (0, 1)).reshape(batch)
    counts = lengths.compare("GT", each(largest * (unit * rows), lengths))
    safe = counts.where(lengths, lengths.literal(1))
    given = counts.spread(vectors.dims, (0, 2))
    scaled = given.where(vectors / _as(safe, vectors).spread(vectors.dims, (0, 2)), vectors.literal(0))
    packed, factors = householder(scaled)
    wide = _padded(packed, rows) if full and rows > columns else packed
    product = householder_product(wide, factors)
    # Reflections give columns up to a sign, the diagonal of R.
    signs = _diagonal(packed.slice((0, batch), (0, columns), (0, columns)))
    turns = counts.where(signs, signs.literal(1))
    kept = product.slice((0, batch), (0, rows), (0, columns)) * turns.spread(vectors.dims, (0, 2))
    if not full or rows == columns:
        return kept
    return concatenate([kept, product.slice((0, batch), (0, rows), (columns, rows))], 2)
