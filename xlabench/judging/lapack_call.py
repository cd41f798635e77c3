"""A routine of LAPACK on one matrix as the judge sees it: what it was given and what an engine gave, in f64.

`xlabench.judging.relations` and `xlabench.judging.eliminations` have what must hold of each routine's results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from xlabench.judging.tolerance import Array

THRESHOLD = 30.0
"""Of the order times the last place: what LAPACK's own tests let pass."""

Claim = tuple[tuple[int, ...], float]
"""Results of a routine by their numbers, and how many times its bound they are off."""
Claims = Iterator[Claim]


@dataclass(frozen=True, slots=True)
class Call:
    """A routine on one matrix.

    Attributes:
        given: its operands in f64 or c128, integers as they are.
        errors: how far each of them may be off.
        results: what an engine gave for it, in f64 or c128.
        options: the routine's.
        eps: the last place of the routine's own type.
        least: below this the type has no digits to speak of.
        unseen: the numbers of results that the program does not give: they are the reference's.
    """

    given: Sequence[Array]
    errors: Sequence[Array]
    results: Sequence[Array]
    options: Mapping[str, str]
    eps: float
    least: float
    unseen: frozenset[int] = frozenset()

    @property
    def order(self) -> int:
        """The greatest dimension of the matrix."""
        return max(map(int, self.given[0].shape))

    def is_set(self, option: str, value: str) -> bool:
        """Whether an option has a value."""
        return self.options.get(option) == value

    def allowed(self, size: Array | float, order: int | None = None) -> Array:
        """How far something of this size may be off."""
        share = THRESHOLD * (self.order if order is None else order)
        return np.asarray(share * (self.eps * np.asarray(size) + self.least))

    def off(self, difference: Array, size: Array | float, slack: Array | float = 0.0) -> float:
        """How many times as far as allowed a matrix is off, all of it together.

        Args:
            difference: a matrix that should be zero.
            size: of what it was computed from.
            slack: what it may be off besides.
        """
        return ratio(norm(difference), self.allowed(size) + slack)

    def columns_off(self, difference: Array, columns: Array, errors: Array) -> float:
        """How many times as far as allowed the columns of a matrix are off, each held to its own length.

        Args:
            difference: a matrix that should be zero.
            columns: what it was computed from.
            errors: of these.
        """
        return ratio(lengths(difference), self.allowed(lengths(columns)) + lengths(errors))

    def unitary(self, matrix: Array) -> float:
        """How far columns are from being orthonormal."""
        square = adjoint(matrix) @ matrix
        return ratio(norm(square - np.eye(len(square))), self.allowed(1.0, len(matrix)))


def adjoint(matrix: Array) -> Array:
    """The conjugate transpose."""
    return np.asarray(np.conj(matrix.T))


def hermitian(matrix: Array, uplo: str) -> Array:
    """The matrix of which one triangle is given, whose diagonal is real."""
    triangle = np.tril(matrix, -1) if uplo == "L" else np.triu(matrix, 1)
    return np.asarray(triangle + adjoint(triangle) + np.diag(np.diag(matrix).real))


def norm(matrix: Array) -> Array:
    """The Frobenius norm."""
    return _length(np.abs(matrix).reshape(-1))


def lengths(matrix: Array) -> Array:
    """The length of each column of a matrix."""
    return _length(np.abs(matrix))


def _length(magnitudes: Array) -> Array:
    """Of each column of numbers whose squares may be too large or too small for f64."""
    most = np.max(magnitudes, axis=0, initial=0.0)
    scale = np.where((most > 0) & np.isfinite(most), most, 1.0)
    return np.asarray(scale * np.sqrt(((magnitudes / scale) ** 2).sum(axis=0)))


def ratio(distance: Array, allowed: Array) -> float:
    """The greatest of the shares; what is no number is infinitely far off."""
    shares = np.where(distance == 0, 0.0, distance / np.where(allowed > 0, allowed, np.nan))
    return float(np.max(np.where(np.isnan(shares), np.inf, shares), initial=0.0))


def flag(*, holds: bool) -> float:
    """How far off what either holds or does not is."""
    return 0.0 if holds else np.inf
