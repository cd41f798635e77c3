"""LAPACK's routines of matrices with NaN or infinity: the reference and native code, small and large.

Of a batch one matrix is clean, and it stays as if all were.  For the others spectral routines give only NaN and say so;
of the rest, elements are no finite numbers where the reference's steps make none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler
from compiler.expansion.lapack import ROUTINES
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, TYPES
from compiler.ops.custom_call import SPECTRAL, nothing_found

Array = NDArray[Any]

LETTERS = {"f32": "s", "c64": "c"}
SIZES = (4, 24)
"""In loops, and in kernels."""
SPOILS = [(np.nan, 2, 1), (np.nan, 0, 0), (np.nan, -1, 0), (np.inf, 3, 1), (-np.inf, -1, -1), (np.nan, 1, 2)]
"""What stands where in the matrices of the batch but the first; the last is above the diagonal."""
OF_REAL, OF_COMPLEX = ("orgqr", "ormqr", "syevd", "sytrd"), ("ungqr", "unmqr", "heevd", "hetrd")
OPTIONS: dict[str, dict[str, str]] = {
    "potrf": {"uplo": "L"},
    "trsm": {"side": "L", "uplo": "L", "trans_x": "N", "diag": "N"},
    "ormqr": {"left": "true", "transpose": "false"},
    "syevd": {"mode": "V", "uplo": "L"},
    "gesdd": {"mode": "S"},
    "gees": {"mode": "V", "sort": "N"},
    "geev": {"compute_left": "V", "compute_right": "V"},
    "gehrd": {"low": "1", "high": "SIZE"},
    "sytrd": {"uplo": "L"},
}
ALIKE = {"gesvd": "gesdd", "unmqr": "ormqr", "heevd": "syevd", "hetrd": "sytrd"}
HERMITIAN = ("potrf", "syevd", "heevd", "sytrd", "hetrd")
IN_PLACE = ("geqrf", "orgqr", "ungqr")
"""Routines whose loops leave alone what LAPACK's steps do, where it is multiplied by nothing."""
CASES = [
    (name, element_type, size)
    for name in ROUTINES
    for element_type in LETTERS
    for size in SIZES
    if name not in (OF_REAL if element_type == "c64" else OF_COMPLEX)
    # The longest programs, of which the last step is the same for every type.
    if not (name in ("gesdd", "gesvd", "gees", "geev") and (element_type, size) == ("c64", SIZES[0]))
    if name != "gesvd" or element_type == "f32"
]


def draw(element_type: str, *dims: int) -> Array:
    """For each matrix of the batch the same."""
    drawn = np.random.default_rng(11).standard_normal((2, *dims))
    one = (drawn[0] + (1j * drawn[1] if element_type == "c64" else 0)).astype(TYPES[element_type].dtype)
    return np.stack([one] * (1 + len(SPOILS)))


def operands(name: str, element_type: str, size: int) -> list[Array]:
    """What a routine is given; the first is to be spoilt."""
    matrix, vector = draw(element_type, size, size), draw(element_type, size)
    if name in HERMITIAN:
        matrix = matrix + np.conj(np.swapaxes(matrix, 1, 2)) + 8 * size * np.eye(size, dtype=matrix.dtype)
    beside = {
        "trsm": [draw(element_type, size, 3)],
        "orgqr": [vector],
        "ungqr": [vector],
        "ormqr": [vector, matrix],
        "unmqr": [vector, matrix],
        "geqp3": [np.zeros(vector.shape, np.int32)],
        "gtsv": [vector + 4, vector, draw(element_type, size, 3)],
    }.get(name, [])
    return [vector if name == "gtsv" else matrix, *beside]


def written(options: dict[str, str]) -> str:
    """As typed FFI has options: truth values, numbers, letters."""
    kinds = {
        key: value if value in ("true", "false") else f"{value} : i32" if value.isdigit() else f"{ord(value)} : ui8"
        for key, value in options.items()
    }
    return ", ".join(f"{key} = {value}" for key, value in kinds.items())


def program(name: str, element_type: str, size: int) -> compiler.Module:
    values = operands(name, element_type, size)
    given = OPTIONS.get(ALIKE.get(name, name), {})
    options = {key: str(size) if value == "SIZE" else value for key, value in given.items()}
    shapes = [ArrayShape(S32 if v.dtype == np.int32 else TYPES[element_type], v.shape) for v in values]
    parameters = " ".join(f"p{n} = {shape} parameter({n})" for n, shape in enumerate(shapes))
    results = [str(shape) for shape in ROUTINES[name][0](shapes, options)]
    return compiler.parse(
        f"""ENTRY e {{ {parameters} ROOT r = {f"({', '.join(results)})" if results[1:] else results[0]}
          custom-call({", ".join(f"p{n}" for n in range(len(shapes)))}),
          custom_call_target="lapack_{LETTERS[element_type]}{name}_ffi", backend_config={{{written(options)}}} }}"""
    )


def spoilt(clean: Array) -> Array:
    """All matrices but the first with something in them that is not finite."""
    result = clean.copy()
    for number, (value, row, column) in enumerate(SPOILS, 1):
        result[(number, row, column) if clean.ndim > 2 else (number, row)] = value
    return result


@pytest.mark.slow
@pytest.mark.parametrize(("name", "element_type", "size"), CASES)
def test_what_is_not_finite_shows(name: str, element_type: str, size: int) -> None:
    module = program(name, element_type, size)
    clean, *rest = operands(name, element_type, size)
    given, native = (spoilt(clean), *rest), compiler.compile(module, "cpu")
    found, unspoilt, expected = native(*given), native(clean, *rest), compiler.interpret(module, *given)
    # Only the lower triangle is given, but a routine may hand on the other.
    unread = -1 if name in HERMITIAN else len(clean)
    for here, there, before in zip(found, expected, unspoilt, strict=True):
        np.testing.assert_array_equal(here[0], before[0])
        if here.dtype.kind not in "fc":
            continue
        assert np.isfinite(here[0]).all()
        if name in SPECTRAL:
            assert np.isnan(here[1:unread]).all()
            assert np.isnan(there[1:unread]).all()
            np.testing.assert_array_equal(here[unread:], before[unread:])
        elif name == "geqp3":
            # Columns with NaN come first in the library and last here: factors of the others are their own.
            assert here.ndim == 2 or not np.isfinite(here[1:]).all(axis=(1, 2)).any()
        else:
            of_nan = [0, *(number for number, (value, *_) in enumerate(SPOILS, 1) if np.isnan(value))]
            assert not (np.isfinite(here) & ~np.isfinite(there))[of_nan].any()
            if name in IN_PLACE and size == SIZES[0]:
                np.testing.assert_array_equal(np.isfinite(here)[of_nan], np.isfinite(there)[of_nan])
    if name in SPECTRAL:
        said = [0, *[nothing_found(name, size)] * len(SPOILS)]
        said[unread:] = [0] * len(said[unread:])
        assert found[-1].tolist() == expected[-1].tolist() == said
    if size == SIZES[0]:
        for wide, here in zip(compiler.interpret(module, *given, wide=True), found, strict=True):
            assert wide.allows(here).all()
