"""Kernels of LAPACK's routines for real and complex matrices: equations that results satisfy despite roundings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler
from compiler.ir.types import TYPES

Array = NDArray[Any]
LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
REAL = {"c64": "f32", "c128": "f64"}
BATCH = 2
EACH_TYPE = pytest.mark.parametrize("element_type", LETTERS)


def shape(element_type: str, *dims: int) -> str:
    return f"{element_type}[{','.join(map(str, (BATCH, *dims)))}]"


def draw(element_type: str, *dims: int) -> Array:
    drawn = np.random.default_rng(5).standard_normal((2, BATCH, *dims))
    return (drawn[0] + (1j * drawn[1] if element_type[0] == "c" else 0)).astype(TYPES[element_type].dtype)


def call(name: str, element_type: str, operands: list[str], results: list[str], options: str = "") -> Any:
    given = " ".join(f"p{n} = {operand} parameter({n})" for n, operand in enumerate(operands))
    names = ", ".join(f"p{n}" for n in range(len(operands)))
    result = f"({', '.join(results)})" if results[1:] else results[0]
    text = f"""ENTRY e {{ {given} ROOT r = {result} custom-call({names}),
      custom_call_target="lapack_{LETTERS[element_type]}{name}_ffi", backend_config={{{options}}} }}"""
    return compiler.compile(text, "cpu")


def adjoint(matrix: Array) -> Array:
    return np.conj(np.swapaxes(matrix, -1, -2))


def near(left: Array, right: Array) -> None:
    """Within what as many roundings as there are rows may do."""
    unit = float(np.finfo(left.dtype).eps) * left.shape[-2]
    np.testing.assert_allclose(left, np.broadcast_to(right, left.shape), rtol=0, atol=4 * unit * np.abs(right).max())


def orthogonal(element_type: str, vectors: Array, factors: Array) -> Array:
    """The product of reflections, by the kernel that applies them, from either side."""
    rows, steps = vectors.shape[-2], factors.shape[-1]
    whole = [shape(element_type, *vectors.shape[1:]), shape(element_type, steps), shape(element_type, rows, rows)]
    name, identity = "unmqr" if element_type[0] == "c" else "ormqr", np.broadcast_to(np.eye(rows), (BATCH, rows, rows))
    given = vectors, factors, np.ascontiguousarray(identity.astype(vectors.dtype))
    left, right = (
        call(name, element_type, whole, whole[2:], f"left = {left}, transpose = {transpose}")(*given)[0]
        for left, transpose in (("true", "false"), ("false", "true"))
    )
    near(adjoint(right), left)
    near(left @ adjoint(left), np.eye(rows, dtype=left.dtype))
    return left


@pytest.mark.slow
@EACH_TYPE
@pytest.mark.parametrize("dims", [(21, 34), (34, 19)])
def test_columns_by_length(element_type: str, dims: tuple[int, int]) -> None:
    """Two columns come first in any case, one is twice another, and one is nothing."""
    columns = dims[1]
    given, steps = draw(element_type, *dims), min(dims)
    given[..., 9], given[..., 7] = 2 * given[..., 4], 0
    fixed = np.zeros((BATCH, columns), np.int32)
    fixed[:, [3, 5]] = 1
    matrix, numbers = shape(element_type, *dims), shape("s32", columns)
    run = call("geqp3", element_type, [matrix, numbers], [matrix, numbers, shape(element_type, steps)])
    packed, pivots, factors = run(given, fixed)
    assert (pivots[:, :2] == [4, 6]).all()
    assert (np.sort(pivots) == np.arange(1, columns + 1)).all()
    triangle = np.triu(packed)
    product = orthogonal(element_type, np.ascontiguousarray(packed[..., :steps]), factors) @ triangle
    near(product, np.take_along_axis(given, pivots[:, None, :] - 1, axis=-1))
    lengths = np.abs(np.diagonal(triangle, axis1=-2, axis2=-1))[:, 2:]
    assert (np.diff(lengths) <= 1e-5).all()


@pytest.mark.slow
@EACH_TYPE
@pytest.mark.parametrize("size", [16, 37])
def test_second_diagonals(element_type: str, size: int) -> None:
    given = draw(element_type, size, size)
    matrix, factors = shape(element_type, size, size), shape(element_type, size - 1)
    run = call("gehrd", element_type, [matrix], [matrix, factors, shape("s32")], f"low = 1 : i32, high = {size} : i32")
    packed, taus, _ = run(given)
    inner = orthogonal(element_type, np.ascontiguousarray(packed[..., 1:, :-1]), taus)
    whole = np.zeros_like(given)
    whole[..., 0, 0], whole[..., 1:, 1:] = 1, inner
    near(whole @ np.triu(packed, -1) @ adjoint(whole), given)


@pytest.mark.slow
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("element_type", ["c64", "c128"])
def test_hermitian_matrices(element_type: str, uplo: str) -> None:
    size = 33
    given = draw(element_type, size, size)
    matrix, values = shape(element_type, size, size), shape(REAL[element_type], size)
    options = f"mode = 86 : ui8, uplo = {ord(uplo)} : ui8"
    run = call("heevd", element_type, [matrix], [matrix, values, shape("s32")], options)
    vectors, found, info = run(given)
    off = np.tril(given, -1) if uplo == "L" else np.triu(given, 1)
    whole = off + adjoint(off) + np.eye(size) * np.real(given)
    near(vectors * found[:, None, :], (whole @ vectors).astype(given.dtype))
    near(adjoint(vectors) @ vectors, np.eye(size, dtype=given.dtype))
    assert (np.diff(found) >= 0).all()
    assert not info.any()
    given[1, 4, 4] = np.nan
    assert [np.isnan(vectors).all() for vectors in run(given)[0]] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("size", [9, 18])
def test_schurs_form_of_a_matrix_of_rank_one(size: int) -> None:
    """What its steps leave below the diagonal rounds to nothing, beside eigenvalues that do."""
    matrix, info = shape("c64", size, size), shape("s32")
    results = [matrix, matrix, shape("c64", size), info, info]
    run = call("gees", "c64", [matrix], results, "mode = 86 : ui8, sort = 78 : ui8")
    given = np.full((BATCH, size, size), -1.25 + 0.5j, np.complex64)
    triangle, vectors, values, _, failed = run(given)
    assert not failed.any()
    near(vectors @ triangle @ adjoint(vectors), given)
    assert np.abs(values).max(axis=1) == pytest.approx(size * np.abs(given[:, 0, 0]))


@pytest.mark.slow
@EACH_TYPE
@pytest.mark.parametrize("size", [16, 45])
def test_schurs_form(element_type: str, size: int) -> None:
    """One matrix is general, one a rotation of all coordinates, whose eigenvalues lie on a circle."""
    given = draw(element_type, size, size)
    given[1] = np.roll(np.eye(size), 1, axis=0)
    matrix = shape(element_type, size, size)
    values = [shape(element_type, size)] * (1 if element_type in REAL else 2)
    info = shape("s32")
    options = "mode = 86 : ui8, sort = 78 : ui8"
    run = call("gees", element_type, [matrix], [matrix, matrix, *values, info, info], options)
    triangle, vectors, *found, _, failed = run(given)
    assert not failed.any()
    assert not np.tril(triangle, -2).any()
    near(vectors @ triangle @ adjoint(vectors), given)
    near(adjoint(vectors) @ vectors, np.eye(size, dtype=given.dtype))
    vectors_shape = shape({"f32": "c64", "f64": "c128"}.get(element_type, element_type), size, size)
    results = [*values, vectors_shape, vectors_shape, info]
    for wanted in "NV" if size < 20 else "N":
        options = f"compute_left = {ord(wanted)} : ui8, compute_right = {ord(wanted)} : ui8"
        decompose = call("geev", element_type, [matrix], results, options)
        *alone, left, right, failed = decompose(given)
        assert not failed.any()
        numbers, others = (parts[0] if element_type in REAL else parts[0] + 1j * parts[1] for parts in (alone, found))
        for one, other in zip(numbers, others, strict=True):
            unit = float(np.finfo(given.dtype).eps)
            assert np.abs(one[:, None] - other).min(axis=1).max() <= 2000 * unit * np.abs(other).max()
        if wanted == "V":
            near(right * numbers[:, None, :], given @ right)
            near(adjoint(left) * numbers[..., None], adjoint(left) @ given)
    given[0, 3, 2] = np.inf
    assert run(given)[-1].tolist() == [size, 0]
    assert np.isnan(decompose(given)[0][0]).all()
