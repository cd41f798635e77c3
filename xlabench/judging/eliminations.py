"""What elimination must satisfy: factors and solutions of LU, Cholesky, tridiagonal and triangular systems, and `info`.

Of triangular factors the bound is componentwise, with a share of roundings in each step (Higham, "Accuracy and
Stability of Numerical Algorithms", theorems 8.5, 9.3, 10.3).

`info` says at which column no pivot was left.  It is a question of exact numbers, yet pivots are computed, so what it
must be is told by three kinds of matrices:

- where every pivot is told from zero by more than rounding, or is a zero to which no rounding came, it is known;
- where it names a column, that column depends on those before it, but for rounding (of Cholesky's: the block up to it
  is not positive definite, that before it may be), else it is wrong;
- everywhere else either answer is right, and a solution then may be any number, or none, by dividing by what is left.

Columns are held to their own lengths in that, since elimination that exchanges rows keeps columns apart; blocks of
Cholesky's method to their diagonals (Demmel, "On floating point errors in Cholesky", LAPACK Working Note 14, 1989).
Where nobody sees `info`, an engine may have given up where the reference did not: nothing is said of the third kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlabench.judging.lapack_call import Call, Claims, adjoint, flag, hermitian, lengths, norm, ratio
from xlabench.judging.tolerance import Array

_SHARE = 8.0
"""Roundings of a term in each step of an elimination."""
_MOST = 2**0.5
"""|re| + |im|, by which LAPACK chooses pivots, is at most so many times the modulus."""


class _Number(NamedTuple):
    """A number that elimination has come to, and how far off another engine's may be."""

    value: complex
    error: float

    @property
    def is_nothing(self) -> bool:
        """Whether it is zero in every engine."""
        return self.value == 0 and self.error == 0

    @property
    def is_told_from_zero(self) -> bool:
        """Whether it is zero in none."""
        return abs(self.value) > self.error


def gtsv(call: Call) -> Claims:
    """A tridiagonal system: of what is left of its diagonals nothing is said, since nobody gives the pivots.

    Args:
        call: the routine on one system.
    """
    lower, diagonal, upper, right = call.given
    *_, solution, info = call.results
    size, is_seen = len(diagonal), 4 not in call.unseen
    system = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    off = np.diag(call.errors[1]) + np.diag(call.errors[0][1:], -1) + np.diag(call.errors[2][:-1], 1)
    columns, known = _Columns(system, off, lengths(system)), _row_without_pivot(call)
    yield (4,), flag(holds=_may_be(call, columns, info) if known is None else info == known)
    is_open = known is None and _is_dependent(call, columns, size)
    if is_open and not is_seen:
        return
    if info != 0:  # whatever the routine left is right
        yield (3, 4), 0.0
        return
    if is_open and not np.isfinite(solution).all():
        return
    # Elimination keeps columns apart, so how far the system may be off is a matter of each.
    away = call.allowed(lengths(system), size) + lengths(off)
    slack = lengths(call.errors[3]) + call.allowed(0.0, size)
    far = ratio(lengths(system @ solution - right), away @ np.abs(solution) + slack)
    if far > 1 or not is_open:
        yield (3, 4), far


class _Columns(NamedTuple):
    """Columns that are eliminated, one after the other.

    Attributes:
        matrix: them.
        error: how far each element may be off.
        weights: for each column a magnitude; its roundings are shares of that.
    """

    matrix: Array
    error: Array
    weights: Array


def _may_be(call: Call, columns: _Columns, info: Array) -> bool:
    """Whether `info` may name a column, as far as a matrix tells in which rounding may make a zero of a pivot."""
    count = int(info)
    return not count or (0 < count <= len(columns.weights) and _is_dependent(call, columns, count))


def _is_dependent(call: Call, columns: _Columns, count: int) -> bool:
    """Whether the first columns of a matrix depend on each other, but for rounding."""
    scale = np.where(columns.weights > 0, columns.weights, 1.0)[:count]
    matrix = columns.matrix[:, :count] / scale
    away = norm((call.allowed(columns.weights[:count]) + lengths(columns.error[:, :count])) / scale)
    if len(matrix) < count or not np.isfinite(matrix).all():
        return True
    return ratio(np.linalg.svd(matrix, compute_uv=False)[-1], away) <= 1


def _row_without_pivot(call: Call) -> int | None:
    """The row of a tridiagonal system, from 1, at which every engine finds no pivot; 0 where all find each.

    None where rounding decides, of a pivot or of which of two rows holds it.
    """
    (below, center, above), size = (_numbers(call, n) for n in range(3)), len(call.given[1])
    pivot, beside = center[0], above[0]
    for row in range(1, size):
        lower = below[row]
        if lower.is_nothing:
            if not pivot.is_told_from_zero:
                return row if pivot.is_nothing else None
            pivot, beside = center[row], above[row]
            continue
        longer = _magnitude(pivot) - _magnitude(lower)
        doubt = _MOST * (pivot.error + lower.error)
        if call.given[1].dtype.kind == "c":
            doubt += _SHARE * call.eps * (abs(pivot.value) + abs(lower.value))
        if longer >= doubt and pivot.is_told_from_zero:
            pivot, beside = _less(call, center[row], (lower, pivot), beside), above[row]
        elif -longer > doubt:
            nothing = _Number(0.0, 0.0)
            pivot, beside = (
                _less(call, beside, (pivot, lower), center[row]),
                _less(call, nothing, (pivot, lower), above[row]),
            )
        else:
            return None
    if pivot.is_told_from_zero:
        return 0
    return size if pivot.is_nothing else None


def _numbers(call: Call, operand: int) -> list[_Number]:
    values = call.given[operand].astype(np.complex128)
    return [_Number(value, error) for value, error in zip(values, call.errors[operand], strict=True)]


def _magnitude(number: _Number) -> float:
    return float(abs(number.value.real) + abs(number.value.imag))


def _less(call: Call, number: _Number, quotient: tuple[_Number, _Number], other: _Number) -> _Number:
    """A number less a quotient times another.

    Args:
        call: the routine, whose type says what a rounding is.
        number: that from which it is taken.
        quotient: of these two, of which the second is told from zero.
        other: what the quotient is multiplied by.
    """
    numerator, denominator = quotient
    if numerator.is_nothing or other.is_nothing:
        return number
    share = _SHARE * call.eps
    factor = numerator.value / denominator.value
    unsure = (numerator.error + abs(factor) * denominator.error) / (abs(denominator.value) - denominator.error)
    unsure += share * abs(factor) + call.least
    lost = unsure * (abs(other.value) + other.error) + abs(factor) * other.error
    value = number.value - factor * other.value
    size = abs(number.value) + abs(factor * other.value)
    return _Number(value, number.error + lost + share * size + call.least)


class _Terms(NamedTuple):
    """A product of triangles less what it is to be.

    Attributes:
        difference: that.
        magnitude: the product of the triangles' magnitudes.
        pivots: what each element was divided by in the end: a quotient that is too small for its type is off by as
            much of that.
    """

    difference: Array
    magnitude: Array
    pivots: Array


def _componentwise(call: Call, terms: _Terms, error: Array, steps: int) -> float:
    """How far a product of triangles is off.

    Args:
        call: the routine, whose type says what a rounding is.
        terms: the product and what it is to be.
        error: of what was given.
        steps: of the elimination.
    """
    difference, magnitude, pivots = terms
    lost = call.least * np.maximum(np.abs(pivots), 1.0)
    return ratio(np.abs(difference), _SHARE * (steps + 1) * (call.eps * magnitude + lost) + error)


def getrf(call: Call) -> Claims:
    """Factors with exchanged rows; that `info` is theirs only those are asked who see them.

    Args:
        call: the routine on one matrix.
    """
    packed, pivots, info = call.results
    steps = len(pivots)
    order = np.arange(len(packed))
    for step, pivot in enumerate(pivots.tolist()):
        if not step < pivot <= len(packed):
            yield (0, 1, 2), np.inf
            return
        order[[step, pivot - 1]] = order[[pivot - 1, step]]
    lower, upper = np.tril(packed, -1)[:, :steps] + np.eye(len(packed), steps), np.triu(packed)[:steps]
    magnitude = np.abs(lower) @ np.abs(upper)
    yield (2,), flag(holds=_may_fail(call, lengths(magnitude), info))
    if 2 not in call.unseen:
        zeros = np.flatnonzero(np.diag(upper) == 0)
        yield (0, 1, 2), flag(holds=info == (zeros[0] + 1 if zeros.size else 0))
    # The pivot is chosen by |re| + |im|, which is up to a root of 2 more than the modulus.
    most = (_MOST if packed.dtype.kind == "c" else 1.0) + float(call.allowed(1.0))
    yield (0, 1, 2), flag(holds=bool((np.abs(lower) <= most).all()))
    pivots = np.zeros(upper.shape[1])
    pivots[:steps] = np.abs(np.diag(upper))
    terms = _Terms(lower @ upper - call.given[0][order], magnitude, pivots)
    yield (0, 1, 2), _componentwise(call, terms, call.errors[0][order], steps)


def _may_fail(call: Call, weights: Array, info: Array) -> bool:
    """Whether `info` may name a column, by the matrix: a column of zeros stays one, whatever is taken from it.

    Args:
        call: the routine on one matrix.
        weights: of each column.
        info: what it said.
    """
    matrix, error = call.given[0], call.errors[0]
    steps = min(matrix.shape)
    is_zero = np.asarray(~matrix.any(axis=0) & ~error.any(axis=0))
    zeros = np.flatnonzero(is_zero[:steps])
    if zeros.size and not 0 < info <= zeros[0] + 1:
        return False
    return _may_be(call, _Columns(matrix[:, :steps], error[:, :steps], weights[:steps]), info)


def potrf(call: Call) -> Claims:
    """Cholesky's factor; of what is left of a matrix that has none nothing is said.

    Args:
        call: the routine on one matrix.
    """
    factor, info = call.results
    uplo, steps, size = call.options.get("uplo", "L"), np.arange(len(factor)), len(factor)
    matrix, error = hermitian(call.given[0], uplo), call.errors[0] + call.errors[0].T
    count = int(info) or size
    if not 0 < count <= size:
        yield (1,), np.inf
        return
    # Each block up to a column that is named had its pivots, that with it had not.
    is_right = _definite(call, matrix, error, count) <= 1 if info else _definite(call, matrix, error, size) >= -1
    yield (1,), flag(holds=is_right and (not info or count == 1 or _definite(call, matrix, error, count - 1) >= -1))
    is_open = 1 in call.unseen and abs(_definite(call, matrix, error, size)) <= 1
    if info == 0 and not is_open:
        lower = np.tril(factor) if call.is_set("uplo", "L") else adjoint(np.triu(factor))
        magnitude = np.abs(lower) @ np.abs(adjoint(lower))
        pivots = np.diag(lower)[np.minimum.outer(steps, steps)]
        yield (0, 1), flag(holds=bool((np.diag(lower).real > 0).all() and not np.diag(lower).imag.any()))
        yield (0, 1), _componentwise(call, _Terms(lower @ adjoint(lower) - matrix, magnitude, pivots), error, size)


def _definite(call: Call, matrix: Array, error: Array, count: int) -> float:
    """How many times as far as rounding takes it the least eigenvalue of the first rows and columns is above zero.

    Beyond 1 all pivots are positive in every engine, below -1 in none.

    Args:
        call: the routine.
        matrix: Hermitian.
        error: of it.
        count: how many rows and columns.
    """
    matrix, error = matrix[:count, :count], error[:count, :count]
    diagonal, doubt = np.diag(matrix).real, np.diag(error)
    if (diagonal + doubt <= 0).any():
        return -np.inf
    if (diagonal <= doubt).any():
        return 0.0
    roots = np.sqrt(diagonal)
    scaled = matrix / roots / roots[:, np.newaxis]
    if not np.isfinite(scaled).all():
        return 0.0
    lost = call.allowed(0.0, count) * np.maximum(np.maximum.outer(roots, roots), 1.0)
    away = call.allowed(norm(scaled), count) + norm((lost + error) / roots / roots[:, np.newaxis])
    return float(np.linalg.eigvalsh(scaled)[0] / away)


def trsm(call: Call) -> Claims:
    """A triangular system; where an element of its diagonal may be zero a solution need be no number.

    Args:
        call: the routine on one system.
    """
    (solution,) = call.results
    triangle, error = (
        (np.tril if call.is_set("uplo", "L") else np.triu)(array) for array in (call.given[0], call.errors[0])
    )
    if call.is_set("diag", "U"):
        diagonal = np.eye(len(triangle), dtype=np.bool_)
        triangle, error = np.where(diagonal, 1.0, triangle), np.where(diagonal, 0.0, error)
    is_open = bool((np.abs(np.diag(triangle)) <= np.diag(error)).any())
    if not np.diag(triangle).all() or (is_open and not np.isfinite(solution).all()):
        return
    if not call.is_set("trans_x", "N"):
        triangle, error = triangle.T, error.T
        triangle = np.conj(triangle) if call.is_set("trans_x", "C") else triangle

    def times(matrix: Array, other: Array) -> Array:
        return np.asarray(matrix @ other if call.is_set("side", "L") else other @ matrix)

    magnitude = times(np.abs(triangle), np.abs(solution))
    spread = times(error, np.abs(solution)) + call.errors[1]
    pivots = np.diag(triangle)[:, None] if call.is_set("side", "L") else np.diag(triangle)
    terms = _Terms(times(triangle, solution) - call.given[1], magnitude, pivots)
    far = _componentwise(call, terms, spread, len(triangle))
    if far > 1 or not is_open:
        yield (0,), far
