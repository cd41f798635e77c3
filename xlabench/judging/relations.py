"""What the results of a routine of LAPACK must satisfy, whichever of the many right ones they are.

Reflections, vectors, Schur forms and pivots are fixed up to signs, orders and conditions, so no bound of an element
tells a right one from a wrong one.  What they satisfy does: a backward stable routine gives the exact factors of a
matrix that is a little off, `|E| <= p(n) eps |A|` (LAPACK Users' Guide, chapter 4; Higham, "Accuracy and Stability of
Numerical Algorithms", theorems 8.5, 9.3, 10.3, 19.4).  `p(n)` is `THRESHOLD` times the order here: LAPACK's own tests
let pass what comes to that (LAPACK Working Note 41).  What eliminates is in `xlabench.judging.eliminations`.

Each relation looks at one matrix, in f64, and gives how many times its bound something is off: up to 1 is right.  Where
one has nothing to say (a routine that gave up, a matrix whose scaling decides) it gives nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from xlabench.judging import eliminations
from xlabench.judging.lapack_call import THRESHOLD, Call, Claims, adjoint, flag, hermitian, lengths, norm, ratio
from xlabench.judging.tolerance import Array

_SCALED = 16.0
"""Rows and columns that differ by more are balanced, and how far a balanced matrix may be off nobody says."""
_POWERS = (1, 2, 3)
"""Of which the traces of all eigenvalues are held to those of the matrix."""


def _reflected(vectors: Array, factors: Array) -> Array:
    """The product of the reflections `1 - t v v'`, the first on the left.

    It is `1 - V T V'` with an upper triangle `T` (Schreiber and Van Loan, "A storage-efficient WY representation",
    1989), so what takes long is two products of matrices in place of one of vectors for each reflection.
    """
    scaled = factors[:, np.newaxis] * (adjoint(vectors) @ vectors)
    triangle = np.linalg.solve(np.triu(scaled, 1) + np.eye(len(factors)), np.diag(factors))
    return np.asarray(np.eye(len(vectors)) - vectors @ triangle @ adjoint(vectors))


def _vectors(packed: Array, count: int, below: int = 1) -> Array:
    """The vectors of so many reflections, which stand below a diagonal, whose ones are not stored."""
    rows = len(packed)
    return np.asarray(np.tril(packed[:, :count], -below) + np.eye(rows, count, 1 - below))


def _geqrf(call: Call) -> Claims:
    packed, factors = call.results
    yield from _is_qr(call, call.given[0], call.errors[0], (packed, factors), (0, 1))


def _is_qr(call: Call, matrix: Array, error: Array, found: tuple[Array, Array], results: tuple[int, ...]) -> Claims:
    packed, factors = found
    orthogonal = _reflected(_vectors(packed, len(factors)), factors)
    yield results, call.unitary(orthogonal)
    yield results, call.columns_off(orthogonal @ np.triu(packed) - matrix, matrix, error)


def _geqp3(call: Call) -> Claims:
    """The columns are in an order in which each step took one that nothing left over was longer than, nearly."""
    packed, pivots, factors = call.results
    matrix = call.given[0]
    if sorted(pivots.tolist()) != list(range(1, matrix.shape[1] + 1)):
        yield (0, 1, 2), np.inf
        return
    chosen = pivots.astype(np.intp) - 1
    yield from _is_qr(call, matrix[:, chosen], call.errors[0][:, chosen], (packed, factors), (0, 1, 2))
    upper = np.abs(np.triu(packed))
    # What is left of a column is updated, not computed anew, as long as that keeps half of the digits.
    nearly, slack = 1 + THRESHOLD * np.sqrt(call.eps), call.allowed(norm(matrix)) + norm(call.errors[0])
    for step in range(len(factors)):
        left_over = lengths(upper[step:, step:])
        yield (0, 1, 2), flag(holds=bool((left_over <= nearly * upper[step, step] + slack).all()))


def _orgqr(call: Call) -> Claims:
    yield from _product(call, lambda orthogonal, _: orthogonal[:, : call.results[0].shape[1]])


def _ormqr(call: Call) -> Claims:
    def applied(orthogonal: Array, matrix: Array) -> Array:
        turned = adjoint(orthogonal) if call.is_set("transpose", "true") else orthogonal
        return turned @ matrix if call.is_set("left", "true") else matrix @ turned

    yield from _product(call, applied)


def _product(call: Call, made: Callable[[Array, Array], Array]) -> Claims:
    """What is made of reflections that are known; of such only as keep lengths, to which errors add."""
    packed, factors, *others = call.given
    matrix = others[0] if others else np.eye(packed.shape[1])
    orthogonal = _reflected(_vectors(packed, len(factors)), factors)
    is_known = not any(error.any() for error in call.errors)
    if is_known and call.unitary(orthogonal) <= 1:
        order = max(*packed.shape, *matrix.shape)
        allowed = call.allowed(norm(matrix), order)
        yield (0,), ratio(norm(call.results[0] - made(orthogonal, matrix)), allowed)


def _gehrd(call: Call) -> Claims:
    """A part of the rows is reduced where the others are triangular, as those who ask for a part take care of."""
    packed, factors, info = call.results
    rows, within = len(packed), slice(int(call.options["low"]) - 1, int(call.options["high"]))
    around, others = np.tril(np.abs(call.given[0]) + call.errors[0], -1), np.tril(packed, -2)
    around[within, within] = others[within, within] = 0
    if around.any():
        return
    no_step = np.delete(factors, np.s_[within.start : within.stop - 1])
    yield (0, 1, 2), flag(holds=info == 0 and not others.any() and not no_step.any())
    orthogonal = _reflected(_vectors(packed, rows - 1, 2), factors[: rows - 1])
    yield from _similar(call, call.given[0], np.triu(packed, -1), orthogonal, (0, 1, 2))


def _similar(call: Call, matrix: Array, inner: Array, orthogonal: Array, results: tuple[int, ...]) -> Claims:
    """A matrix is an inner one between an orthogonal one and its inverse."""
    yield results, call.unitary(orthogonal)
    difference = orthogonal @ inner @ adjoint(orthogonal) - matrix
    yield results, call.off(difference, norm(matrix), norm(call.errors[0]))


def _sytrd(call: Call) -> Claims:
    packed, diagonal, beside, factors, info = call.results
    rows, uplo = len(packed), call.options.get("uplo", "U")
    if uplo == "L":
        orthogonal = _reflected(_vectors(packed, rows - 1, 2), factors)
    else:
        vectors = (np.triu(packed, 2) + np.eye(rows, k=1))[:, 1:]
        orthogonal = _reflected(vectors[:, ::-1], factors[::-1])
    inner = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    results = (0, 1, 2, 3, 4)
    yield results, flag(holds=info == 0)
    # The triangle that is not read stays as it is, and the tridiagonal matrix stands in the other as well.
    side = 1 if uplo == "L" else -1
    kept = (np.triu if side == 1 else np.tril)(np.ones(packed.shape), side) > 0
    yield results, flag(holds=bool((np.abs(packed - call.given[0]) <= call.errors[0])[kept].all()))
    size = norm(call.given[0])
    # So does what LAPACK does not read of a Hermitian diagonal: its imaginary part, which is none.
    stored, given, error = (np.diag(one) for one in (packed, call.given[0], call.errors[0]))
    stored = np.where(np.abs(stored.imag - given.imag) <= error, stored.real, stored)
    yield results, max(call.off(stored - diagonal, size), call.off(np.diag(packed, -side) - beside, size))
    wide = replace(call, errors=[2 * call.errors[0]])
    yield from _similar(wide, hermitian(call.given[0], uplo), inner, orthogonal, results)


def _eigenvalues(call: Call, values: Array, results: tuple[int, ...]) -> Claims:
    """They are those of a matrix that is a little off: so is what is left of each, and so are the traces of powers.

    All are brought near 1 first, by a power of two, so that powers of large matrices are finite.
    """
    if not np.isfinite(values).all():
        yield results, np.inf
        return
    scale = np.exp2(-np.frexp(norm(call.given[0]))[1], dtype=np.float64)
    away = (call.allowed(norm(call.given[0])) + norm(call.errors[0])) * scale
    matrix, values = call.given[0] * scale, values * scale
    size = norm(matrix)
    for value in values:
        left = np.linalg.svd(matrix - value * np.eye(len(matrix)), compute_uv=False)[-1]
        yield results, ratio(np.asarray(left), away)
    power = np.eye(len(matrix))
    for exponent in _POWERS:
        power = power @ matrix
        grown = exponent * np.sqrt(len(matrix)) * away * (size + away) ** (exponent - 1)
        yield results, ratio(np.abs((values**exponent).sum() - np.trace(power)), grown)


def _is_balanced(matrix: Array) -> bool:
    """Whether no row is much longer or shorter than its column, diagonal aside."""
    off = np.abs(matrix - np.diag(np.diag(matrix)))
    rows, columns = off.sum(axis=1), off.sum(axis=0)
    both = (rows > 0) & (columns > 0)
    shares = rows[both] / columns[both]
    return bool(((shares > 1 / _SCALED) & (shares < _SCALED)).all())


def _geev(call: Call) -> Claims:
    *eigenvalues, left, right, info = call.results
    matrix, values = call.given[0], eigenvalues[0] if len(eigenvalues) == 1 else eigenvalues[0] + 1j * eigenvalues[1]
    spectrum, count = tuple(range(len(eigenvalues))), len(eigenvalues)
    yield (count + 2,), flag(holds=info == 0)
    if not _is_balanced(matrix):
        return
    yield from _eigenvalues(call, values, spectrum)
    size, error = norm(matrix), norm(call.errors[0])
    for side, vectors, turned, found in (
        ("left", left, adjoint(matrix), np.conj(values)),
        ("right", right, matrix, values),
    ):
        if call.is_set(f"compute_{side}", "V"):
            results = (*spectrum, count if side == "left" else count + 1)
            yield results, ratio(np.abs(lengths(vectors) - 1), call.allowed(1.0))
            yield results, ratio(lengths(turned @ vectors - vectors * found), call.allowed(size) + error)


def _gees(call: Call) -> Claims:
    """The form with its vectors, or where there are none the eigenvalues that it says."""
    triangle, vectors, *eigenvalues, chosen, info = call.results
    values = eigenvalues[0] if len(eigenvalues) == 1 else eigenvalues[0] + 1j * eigenvalues[1]
    spectrum, last, blocks = tuple(range(2, 2 + len(eigenvalues))), 2 + len(eigenvalues), _of_blocks(triangle)
    yield (last, last + 1), flag(holds=chosen == 0 and info == 0)
    yield (0,), flag(holds=_is_schur_form(triangle))
    yield (0, *spectrum), call.off(values - blocks, norm(triangle))
    yield from _eigenvalues(call, blocks, (0,))
    if call.is_set("mode", "V"):
        yield from _similar(call, call.given[0], triangle, vectors, (0, 1))


def _is_schur_form(triangle: Array) -> bool:
    """Whether there is nothing below the diagonal but, of a real matrix, blocks of two rows."""
    below = np.diag(triangle, -1) != 0
    of_two = triangle.dtype.kind != "c" and not (below[1:] & below[:-1]).any()
    return not np.tril(triangle, -2).any() and (of_two or not below.any())


def _of_blocks(triangle: Array) -> Array:
    """The eigenvalues of a Schur form: its diagonal, and of a block of two rows what its other elements make of it."""
    values, beside = np.diag(triangle).astype(np.complex128), np.diag(triangle, -1)
    if triangle.dtype.kind != "c":
        for row in np.flatnonzero(beside):
            away = np.sqrt(np.abs(triangle[row, row + 1])) * np.sqrt(np.abs(beside[row]))
            values[row : row + 2] += 1j * away * np.array([1, -1])
    return values


def _syevd(call: Call) -> Claims:
    vectors, values, info = call.results
    if info == 0:
        matrix = hermitian(call.given[0], call.options.get("uplo", "L"))
        wide = replace(call, given=[matrix], errors=[2 * call.errors[0]])
        yield (1, 2), flag(holds=bool((np.diff(values) >= 0).all()))
        if call.is_set("mode", "N"):  # of Hermitian matrices all eigenvalues are as well conditioned
            yield (1, 2), wide.off(values - np.linalg.eigvalsh(matrix), norm(matrix), norm(wide.errors[0]))
        else:
            yield from _similar(wide, matrix, np.diag(values), vectors, (0, 1, 2))


def _gesdd(call: Call) -> Claims:
    """Result 0 is what is left of the operand; vectors that are not asked for are open (`judging.left_open`)."""
    _, singular, left, right, info = call.results
    if info == 0 and call.is_set("mode", "N"):
        size, known = norm(call.given[0]), np.linalg.svd(call.given[0], compute_uv=False)
        yield (1, 4), flag(holds=bool((np.diff(singular) <= 0).all()))
        yield (1, 4), call.off(singular - known, size, norm(call.errors[0]))
    elif info == 0:
        count, results = len(singular), (1, 2, 3, 4)
        yield results, flag(holds=bool((np.diff(singular) <= 0).all() and (singular >= 0).all()))
        yield results, max(call.unitary(left), call.unitary(adjoint(right)))
        product = (left[:, :count] * singular) @ right[:count]
        yield results, call.off(product - call.given[0], norm(call.given[0]), norm(call.errors[0]))


def _qr_factors(call: Call) -> Claims:
    """Of reflections that nobody sees: the orthogonal factor, and with it the triangle where that is a result too."""
    orthogonal, *triangles = call.results
    matrix, steps = call.given[0], min(call.given[0].shape)
    yield (0,), call.unitary(orthogonal)
    upper = adjoint(orthogonal) @ matrix
    yield (0,), call.columns_off(np.tril(upper[:, :steps], -1), matrix[:, :steps], call.errors[0][:, :steps])
    yield (0,), call.columns_off(orthogonal @ upper - matrix, matrix, call.errors[0])
    for triangle in triangles:
        yield (1,), flag(holds=not np.tril(triangle, -1).any())
        yield (0, 1), call.columns_off(orthogonal[:, : len(triangle)] @ triangle - matrix, matrix, call.errors[0])


RELATIONS: Mapping[str, Callable[[Call], Claims]] = {
    "geqrf": _geqrf,
    "geqp3": _geqp3,
    "orgqr": _orgqr,
    "ungqr": _orgqr,
    "ormqr": _ormqr,
    "unmqr": _ormqr,
    "gehrd": _gehrd,
    "sytrd": _sytrd,
    "hetrd": _sytrd,
    "geev": _geev,
    "gees": _gees,
    "syevd": _syevd,
    "heevd": _syevd,
    "gesdd": _gesdd,
    "gesvd": _gesdd,
    "gtsv": eliminations.gtsv,
    "getrf": eliminations.getrf,
    "potrf": eliminations.potrf,
    "trsm": eliminations.trsm,
    "qr": _qr_factors,
}
"""By LAPACK's name without the letter of the type; `qr` is what is made of the results of geqrf."""
