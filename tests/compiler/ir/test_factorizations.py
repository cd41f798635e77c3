"""Factors multiply back to what was factored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.ir.factorizations import cholesky, householder, householder_product, lu, solve_triangular

_KINDS = ["real", "complex"]


def _random(*dims: int, kind: str = "complex") -> NDArray[Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal(dims) + (1j * rng.standard_normal(dims) if kind == "complex" else 0)


@pytest.mark.parametrize("kind", _KINDS)
def test_cholesky_gives_a_triangular_root(kind: str) -> None:
    half = _random(2, 4, 4, kind=kind)
    matrix = half @ np.conj(np.swapaxes(half, -1, -2)) + np.eye(4)
    factor, failed = cholesky(matrix)
    assert not failed.any()
    np.testing.assert_allclose(factor @ np.conj(np.swapaxes(factor, -1, -2)), matrix, atol=1e-12)


def test_cholesky_says_where_it_failed() -> None:
    with np.errstate(all="ignore"):
        assert cholesky(np.diag([1.0, 0.0, 1.0]))[1] == 2


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (5, 3), (3, 5)])
def test_lu_multiplies_back_after_its_swaps(kind: str, rows: int, columns: int) -> None:
    matrix = _random(2, rows, columns, kind=kind)
    work, pivots, failed = lu(matrix)
    size = min(rows, columns)
    lower, upper = np.tril(work[..., :size], -1) + np.eye(rows, size), np.triu(work[..., :size, :])
    for index in range(2):
        swapped = matrix[index].copy()
        for step, pivot in enumerate(pivots[index]):
            swapped[[step, pivot - 1]] = swapped[[pivot - 1, step]]
        np.testing.assert_allclose(lower[index] @ upper[index], swapped, atol=1e-12)
    assert not failed.any()


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (5, 3)])
def test_householder_vectors_multiply_to_an_orthogonal_matrix(kind: str, rows: int, columns: int) -> None:
    matrix = _random(2, rows, columns, kind=kind)
    work, factors = householder(matrix)
    product = householder_product(work, factors)
    upper = np.triu(work)[..., :columns, :]
    np.testing.assert_allclose(product @ upper, matrix, atol=1e-12)
    identity = np.broadcast_to(np.eye(columns), (2, columns, columns))
    np.testing.assert_allclose(np.conj(np.swapaxes(product, -1, -2)) @ product, identity, atol=1e-12)


def _scales(dtype: type[Any]) -> list[float]:
    """Sizes of matrices up to both ends of a type's range."""
    limits = np.finfo(dtype)
    tiny, most = float(limits.tiny), float(limits.max)
    return [tiny * float(limits.eps) * 8, tiny, tiny**0.5, most**0.5, most / 64]


@pytest.mark.parametrize("of", ["one direction", "all directions"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float64, np.complex128])
@pytest.mark.parametrize("step", range(5))
def test_householder_reflections_of_columns_of_any_size_keep_lengths(dtype: type[Any], step: int, of: str) -> None:
    """What is left of columns of one direction is roundings of roundings, down to 0."""
    kind = "complex" if np.dtype(dtype).kind == "c" else "real"
    size, scale = 41, _scales(dtype)[step]
    every = _random(1, size, size, kind=kind)[0] / 8
    matrix = np.full_like(every, 0.25 + 0.125j if kind == "complex" else 0.25) if of == "one direction" else every
    given = (matrix * scale).astype(dtype)
    work, factors = householder(given)
    product = householder_product(work.astype(np.complex128), factors.astype(np.complex128))
    eps = float(np.finfo(dtype).eps)
    assert np.abs(product.conj().T @ product - np.eye(size)).max() <= 8 * size * eps
    largest = float(np.abs(given.astype(np.complex128)).max())
    smallest = float(np.finfo(dtype).smallest_subnormal)
    off = product @ np.triu(work) - given
    assert np.abs(off).max() <= 8 * size * (eps * largest + smallest)


@pytest.mark.parametrize("side", ["L", "R"])
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("transpose", ["N", "T", "C"])
def test_a_triangular_solution_satisfies_its_equation(side: str, uplo: str, transpose: str) -> None:
    full = _random(3, 3) + 3 * np.eye(3)
    triangle = np.tril(full) if uplo == "L" else np.triu(full)
    applied = {"N": triangle, "T": triangle.T, "C": triangle.conj().T}[transpose]
    right = _random(3, 3)
    found = solve_triangular(full, right, left_side=side == "L", lower=uplo == "L", unit=False, transpose=transpose)
    np.testing.assert_allclose(applied @ found if side == "L" else found @ applied, right, atol=1e-12)
