"""Matrices of a form: what iterations stop at, or never do by themselves, and what numbers drawn one by one never are.

A matrix of random numbers has its full rank and distinct eigenvalues, falls apart nowhere and is nothing's inverse.
What routines do about any other (a pivot of zero, a block that is done, a shift that does not help, a norm that is 0)
shows in these: exchanges of rows in a ring, of which QR iterations make themselves again, what falls apart, what has
less than its rank, what is defective, what is graded, what is orthogonal already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from xlabench.judging.tolerance import Array, DType, is_inexact

Generator = np.random.Generator
Form = Callable[[Generator, int, int], Array]
"""A matrix of so many rows and columns."""

Draw = Callable[[Generator, tuple[int, ...], DType, int | None], Array]
"""As in `xlabench.fuzzing.values`."""

_RANK = 2
_SMALL, _PHASES = 3, np.asarray([1, -1, 1j, -1j])


def _ring(rng: Generator, rows: int, columns: int) -> Array:
    """Each row one further, the last one first, perhaps in two rings."""
    cut = int(rng.integers(rows + 1))
    order = np.concatenate([np.roll(np.arange(cut), 1), cut + np.roll(np.arange(rows - cut), 1)]).astype(int)
    return np.asarray(np.eye(rows, columns)[order])


def _above(rng: Generator, rows: int, columns: int) -> Array:
    """A number, and ones above it: defective, and nilpotent where the number is 0."""
    return rng.integers(-1, 1, endpoint=True) * np.eye(rows, columns) + np.eye(rows, columns, 1)


def _alone(rng: Generator, rows: int, columns: int) -> Array:
    """A diagonal, numbers of which come again, or are 0."""
    return np.eye(rows, columns) * rng.integers(-1, 2, (rows, 1), endpoint=True)


def _of_rank_one(rng: Generator, rows: int, columns: int) -> Array:
    down, across = (rng.integers(-_SMALL, _SMALL, size, endpoint=True) for size in (rows, columns))
    return np.outer(down, across).astype(float)


def _falling_apart(rng: Generator, rows: int, columns: int) -> Array:
    """Two blocks, of which neither knows of the other, and a row and a column of zeros perhaps."""
    made, both = rng.standard_normal((rows, columns)), min([rows, columns])
    cut = int(rng.integers(both + 1))
    made[:cut, cut:] = made[cut:, :cut] = 0
    if rng.integers(2) and both:
        at = int(rng.integers(both))
        made[at], made[:, at] = 0, 0
    return made


def _reflecting(rng: Generator, rows: int, columns: int) -> Array:
    """What is orthogonal and symmetric, where it is square."""
    vector = rng.choice([-1.0, 1.0], max(rows, columns))
    return np.eye(rows, columns) - 2 / max(1, len(vector)) * np.outer(vector[:rows], vector[:columns])


def _graded(rng: Generator, rows: int, columns: int) -> Array:
    down, across = (2.0 ** -np.arange(n)[:: int(rng.choice([-1, 1]))] for n in (rows, columns))
    return rng.standard_normal((rows, columns)) * np.outer(down, across)


def _turning(rng: Generator, rows: int, columns: int) -> Array:
    """What is its own negative turned over, as far as it is square: all eigenvalues are imaginary."""
    made, both = rng.integers(-_SMALL, _SMALL, (rows, columns), endpoint=True).astype(float), min([rows, columns])
    square = made[:both, :both]
    made[:both, :both] = square - square.T
    return made


def _beside(rng: Generator, rows: int, columns: int) -> Array:
    """The same three numbers along and beside the diagonal."""
    below, on, above = rng.integers(-2, 2, 3, endpoint=True)
    diagonals = zip((below, on, above), (-1, 0, 1), strict=True)
    return np.asarray(sum(number * np.eye(rows, columns, at) for number, at in diagonals))


FORMS: Mapping[str, Form] = {
    "ring": _ring,
    "above": _above,
    "alone": _alone,
    "of rank one": _of_rank_one,
    "falling apart": _falling_apart,
    "reflecting": _reflecting,
    "graded": _graded,
    "turning": _turning,
    "beside": _beside,
}
"""The forms by name."""


def or_else(draw: Draw) -> Draw:
    """Matrices of any form where there may be any, else what a function draws: of indices, integers and lines."""

    def drawn(rng: Generator, dims: tuple[int, ...], dtype: DType, limit: int | None) -> Array:
        if limit is not None or not is_inexact(dtype) or len(dims) < _RANK:
            return draw(rng, dims, dtype, limit)
        with np.errstate(all="ignore"):  # of types that have no such numbers
            return np.asarray(batch(rng, dims, is_complex=dtype.kind == "c").astype(dtype))

    return drawn


def batch(rng: Generator, dims: tuple[int, ...], *, is_complex: bool) -> Array:
    """Matrices of any form, each of its own, complex ones times 1, -1 or either imaginary unit.

    Args:
        rng: what is drawn by.
        dims: of the array, whose last two dimensions are the matrices'.
        is_complex: whether they may have imaginary parts.
    """
    made = np.zeros(dims, np.complex128 if is_complex else np.float64)
    forms = list(FORMS.values())
    for at in np.ndindex(*dims[:-2]):
        matrix = forms[int(rng.integers(len(forms)))](rng, *dims[-2:])
        made[at] = matrix * rng.choice(_PHASES) if is_complex else matrix
    return made
