"""Factors of complex matrices are as near to them as real ones, however small a pivot is."""

import numpy as np
import pytest

from xlabench.engines import engine

TYPES = {"c64": np.complex64, "c128": np.complex128}


def program(kind, shape, lower):
    dims = ",".join(map(str, shape))
    return f"ENTRY e {{ x = {kind}[{dims}] parameter(0) ROOT r = {kind}[{dims}] cholesky(x), lower={lower} }}"


def with_a_small_pivot(size, dtype):
    """A matrix for each column: its pivot is so small that many of its digits are lost, which no later pivot is."""
    rng = np.random.default_rng(size)
    real, imaginary = rng.uniform(-1, 1, (2, size, size, size))
    factors = np.tril(real + 1j * imaginary, -1) * size**-0.5 + np.eye(size)
    columns = np.arange(size)
    factors[columns, columns, columns] = np.finfo(dtype).eps ** 0.25
    return (factors @ factors.conj().swapaxes(-1, -2)).astype(dtype)


@pytest.mark.parametrize("lower", ["true", "false"])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 17, 64, 65, 75])
@pytest.mark.parametrize("kind", TYPES)
def test_a_product_of_factors_is_the_matrix_but_for_roundings_of_its_terms(kind, size, lower):
    matrices = with_a_small_pivot(size, TYPES[kind])
    [factors] = engine("cpu").compile(program(kind, matrices.shape, lower))(matrices)
    factors = np.tril(factors) if lower == "true" else np.triu(factors).conj().swapaxes(-1, -2)
    wide = factors.astype(np.clongdouble)
    product, terms = (left @ left.conj().swapaxes(-1, -2) for left in (wide, np.abs(wide)))
    assert (np.abs(product - matrices) <= 4 * (size + 1) * np.finfo(TYPES[kind]).eps * terms).all()
    diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
    assert (diagonal.real > 0).all()
    assert not diagonal.imag.any()


@pytest.mark.parametrize(("size", "row"), [(4, 0), (4, 1), (4, 2), (4, 3), (65, 0), (65, 32), (65, 64)])
@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan, 1.0])
@pytest.mark.parametrize("lower", ["true", "false"])
def test_where_a_pivot_is_not_positive_all_is_nan_and_the_other_triangle_is_not_read(lower, pivot, size, row):
    matrix = np.eye(size, dtype=np.complex128)
    matrix[row, row] = pivot
    matrix[np.triu_indices(size, 1) if lower == "true" else np.tril_indices(size, -1)] = np.nan
    [factor] = engine("cpu").compile(program("c128", matrix.shape, lower))(matrix)
    triangle = (np.tril if lower == "true" else np.triu)(np.ones((size, size))) > 0
    if pivot == 1:
        np.testing.assert_array_equal(factor[triangle], np.eye(size)[triangle])
    else:
        assert np.isnan(factor).all()


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (2, 1, 3, 3)])
def test_batches_of_any_shape_have_factors(shape):
    matrices = np.broadcast_to(4 * np.eye(shape[-1], dtype=np.complex128), shape).copy()
    [factors] = engine("cpu").compile(program("c128", shape, "true"))(matrices)
    np.testing.assert_array_equal(factors, matrices / 2)
