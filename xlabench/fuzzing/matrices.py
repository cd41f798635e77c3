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

_KINDS, _HIDDEN = 5, 4
"""Kinds of blocks with given eigenvalues, and of what hides them."""
_LONGEST, _ADDED = 4, 6
"""Rows of a block at most; how often a row is added to another at most: numbers stay small, and eigenvalues exact."""


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


def _with_zeros(rng: Generator, rows: int, columns: int) -> Array:
    """Rows and columns of zeros anywhere among others."""
    made = rng.standard_normal((rows, columns))
    made[rng.integers(_SMALL, size=rows) == 0] = 0
    made[:, rng.integers(_SMALL, size=columns) == 0] = 0
    return made


def _of_less_rank(rng: Generator, rows: int, columns: int) -> Array:
    """Of any rank, to the bit."""
    rank = int(rng.integers(min(rows, columns) + 1))
    down, across = (rng.integers(-_SMALL, _SMALL, size, endpoint=True) for size in ((rows, rank), (rank, columns)))
    return np.asarray(down @ across, float)


def _block(rng: Generator, size: int) -> Array:
    """A block with eigenvalues of one kind: a pair of complex ones, one again and again, defective or close ones."""
    kind, on = int(rng.integers(_KINDS)), float(rng.integers(-_SMALL, _SMALL, endpoint=True))
    off, scale = float(rng.integers(1, _SMALL, endpoint=True)), 2.0 ** rng.integers(-1, 1, endpoint=True)
    if kind == 0 and size > 1:
        return np.asarray([[on, -off * scale], [off / scale, on]])
    if kind == 1 and size > 1:
        return np.kron(np.eye(size // 2), [[on, -off], [off, on]]) + np.eye(size // 2 * 2, k=2) * rng.integers(2)
    if kind == 2:
        return on * np.eye(size) + np.eye(size, k=1)
    if kind == 3:
        return np.diag(on + 2.0 ** -rng.integers(8, 24) * np.arange(size)) + np.eye(size, k=1) * rng.integers(2)
    return on * scale * np.eye(size)


def _of_eigenvalues(rng: Generator, rows: int, columns: int) -> Array:
    """Blocks with given eigenvalues, beside each other or one above another, as they are or hidden by a similarity."""
    made, both, at = np.zeros((rows, columns)), min(rows, columns), 0
    while at < both:
        block = _block(rng, int(rng.integers(1, min(_LONGEST, both - at), endpoint=True)))
        made[at : at + len(block), at : at + len(block)] = block
        if rng.integers(2):
            made[:at, at : at + len(block)] = rng.integers(-1, 1, (at, len(block)), endpoint=True)
        at += len(block)
    made[:both, :both] = _hidden(rng, made[:both, :both])
    return made


def _hidden(rng: Generator, square: Array) -> Array:
    """What has the same eigenvalues: another order, rows added and columns taken off, a rotation, or itself."""
    size, kind = len(square), int(rng.integers(_HIDDEN))
    if kind == 0:
        order = rng.permutation(size)
        return np.asarray(square[np.ix_(order, order)])
    if kind == 1:
        made = np.array(square)
        for _ in range(min(size - 1, _ADDED)):
            one, other = (int(n) for n in rng.permutation(size)[:2])
            made[one] += made[other]
            made[:, other] -= made[:, one]
        return made
    if kind == 2:
        rotation, _ = np.linalg.qr(rng.standard_normal((size, size)))
        return np.asarray(rotation @ square @ rotation.T)
    return square


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
    "with zeros": _with_zeros,
    "of less rank": _of_less_rank,
    "of eigenvalues": _of_eigenvalues,
}
"""The forms by name."""
_WEIGHTS = {"of eigenvalues": 4}
"""How many times as often forms are drawn as others: those of which there are many kinds."""


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
    forms = [form for name, form in FORMS.items() for _ in range(_WEIGHTS.get(name, 1))]
    for at in np.ndindex(*dims[:-2]):
        matrix = forms[int(rng.integers(len(forms)))](rng, *dims[-2:])
        made[at] = matrix * rng.choice(_PHASES) if is_complex else matrix
    return made
