"""LAPACK's routines whose results only LAPACK's own steps define: eigenvalues in its order, pivots, reflections.

SciPy's wrappers run them, one matrix at a time, in the program's own type, since signs and orders follow roundings; JAX
on the CPU calls the same library.  SciPy is loaded when the first is asked for.  Results stand in the order in which
JAX's calls name them, `info` last where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Options = dict[str, str]
Single = Callable[[Sequence[Array], Options], tuple[Any, ...]]


_LETTERS = str.maketrans("fdFD", "sdcz")


def _routine(name: str, value: Array) -> Any:
    """SciPy's wrapper of a routine for the type of a value; symmetric matrices are Hermitian where complex."""
    hermitian = name == "sytrd" and value.dtype.kind == "c"
    return getattr(
        import_module("scipy.linalg.lapack"), value.dtype.char.translate(_LETTERS) + ("hetrd" if hermitian else name)
    )


_FAR = 30
"""Powers of two by which a matrix may be off 1 and is left alone."""


def _near_one(matrix: Array) -> tuple[Array, int]:
    """A matrix whose greatest element is near 1, and the power of two that it was divided by.

    OpenBLAS's geev scales what is far from 1 itself, and gives wrong eigenvalues then.
    """
    exponent = int(np.frexp(np.max(np.abs(matrix), initial=0.0))[1])
    if abs(exponent) <= _FAR:
        return matrix, 0
    half = exponent // 2  # a power of two may be beyond a type where its root is not
    real = matrix.real.dtype.type
    return (matrix * np.ldexp(real(1), -half) * np.ldexp(real(1), half - exponent)).astype(matrix.dtype), exponent


def _geev(values: Sequence[Array], options: Options) -> tuple[Any, ...]:
    matrix, exponent = _near_one(values[0])
    left, right = (options[f"compute_{side}"] == "V" for side in ("left", "right"))
    *found, on_left, on_right, info = _routine("geev", matrix)(matrix, compute_vl=left, compute_vr=right)
    half = exponent // 2
    eigenvalues = [
        (
            values_ * np.ldexp(values_.real.dtype.type(1), half) * np.ldexp(values_.real.dtype.type(1), exponent - half)
        ).astype(values_.dtype)
        for values_ in found
    ]
    none = np.zeros(matrix.shape)
    vectors = ((on_left, left), (on_right, right))
    unpacked = [_complex_vectors(found, eigenvalues) if wanted else none for found, wanted in vectors]
    return *eigenvalues, *unpacked, info


def _complex_vectors(vectors: Array, eigenvalues: Sequence[Array]) -> Array:
    """Columns k and k + 1 of a real matrix's vectors are real and imaginary part of a conjugate pair."""
    if len(eigenvalues) == 1:
        return vectors
    result = vectors.astype(np.result_type(vectors.dtype, np.complex64))
    for k in np.flatnonzero(eigenvalues[1] > 0):
        result[:, k] = vectors[:, k] + 1j * vectors[:, k + 1]
        result[:, k + 1] = np.conj(result[:, k])
    return result


def _gees(values: Sequence[Array], options: Options) -> tuple[Any, ...]:
    (matrix,) = values
    if options.get("sort", "N") != "N":
        raise ValueError("eigenvalues cannot be sorted")
    wanted = options["mode"] == "V"
    found = _routine("gees", matrix)(lambda *_: False, matrix, compute_v=wanted)
    triangle, chosen, *eigenvalues, vectors, _, info = found
    return triangle, vectors if wanted else np.zeros(matrix.shape), *eigenvalues, chosen, info


def _gehrd(values: Sequence[Array], options: Options) -> tuple[Any, ...]:
    (matrix,) = values
    low, high = (int(options[end]) - 1 for end in ("low", "high"))
    return tuple(_routine("gehrd", matrix)(matrix, lo=low, hi=high))


def _sytrd(values: Sequence[Array], options: Options) -> tuple[Any, ...]:
    (matrix,) = values
    return tuple(_routine("sytrd", matrix)(matrix, lower=options["uplo"] == "L"))


def _geqp3(values: Sequence[Array], _: Options) -> tuple[Any, ...]:
    matrix, fixed = values
    if fixed.any():
        raise ValueError("columns cannot be fixed in front")
    triangle, pivots, factors, _, _ = _routine("geqp3", matrix)(matrix)
    return triangle, pivots, factors


def _gtsv(values: Sequence[Array], _: Options) -> tuple[Any, ...]:
    lower, diagonal, upper, right = values
    if diagonal.size == 1:
        # SciPy's wrapper wants diagonals that are not empty.
        fails = not diagonal.all()
        return lower, diagonal, upper, right if fails else right / diagonal, int(fails)
    # Each diagonal is as long as the matrix: the first element of the lower and the last of the upper are not used.
    second, pivots, above, solution, info = _routine("gtsv", right)(lower[1:], diagonal, upper[:-1], right)
    return np.append(lower[:1], second), pivots, np.append(above, upper[-1:]), solution, info


def _gesvd(values: Sequence[Array], options: Options) -> tuple[Any, ...]:
    (matrix,) = values
    left, singular, right, info = _routine("gesvd", matrix)(matrix, full_matrices=options["mode"] != "S")
    return matrix, singular, left, right, info


ROUTINES: dict[str, Single] = {
    "geev": _geev,
    "gees": _gees,
    "gehrd": _gehrd,
    "sytrd": _sytrd,
    "hetrd": _sytrd,
    "geqp3": _geqp3,
    "gtsv": _gtsv,
    "gesvd": _gesvd,
}
"""By LAPACK's name without the letter of the type; each takes one matrix."""


def batched(name: str, values: Sequence[Array], options: Options) -> tuple[Array, ...]:
    """A routine on every matrix of a batch; ValueError where the batch is empty or the routine cannot do it.

    Args:
        name: the routine's, without the letter of its type.
        values: its arrays, whose leading dimensions are the batch's.
        options: its other arguments, by their names.
    """
    batch = values[-1].shape[:-2] if name == "gtsv" else values[0].shape[:-2]
    results = [ROUTINES[name]([value[index] for value in values], options) for index in np.ndindex(*batch)]
    columns = [[np.asarray(array) for array in column] for column in zip(*results, strict=True)]
    return tuple(np.stack(column).reshape((*batch, *column[0].shape)) for column in columns)
