"""Least squares, lengths and determinants as NumPy has them; other values are in `tests/session_arrays.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
RANDOM = np.random.RandomState(0)
MATRIX = RANDOM.rand(4, 3)


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("matrix", [MATRIX, MATRIX.T, np.stack([MATRIX, 2 * MATRIX])])
def test_solutions_are_the_closest(matrix):
    wanted = RANDOM.rand(*matrix.shape[:-1], 2)
    np.testing.assert_allclose(run(tf.linalg.lstsq(matrix, wanted)), np.linalg.pinv(matrix) @ wanted, atol=1e-9)


def test_what_is_large_costs():
    wanted = RANDOM.rand(4, 2)
    expected = np.linalg.solve(MATRIX.T @ MATRIX + 0.5 * np.eye(3), MATRIX.T @ wanted)
    np.testing.assert_allclose(run(tf.matrix_solve_ls(MATRIX, wanted, 0.5)), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="fast=True"):
        tf.matrix_solve_ls(MATRIX, wanted, fast=False)


@pytest.mark.parametrize("unit", [1, 1 + 1j])
def test_determinants_and_vectors(unit):
    square = MATRIX * unit
    hermitian = square.conj().T @ square + np.eye(3)
    found = run(tf.linalg.logdet(hermitian))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.linalg.slogdet(hermitian)[1], rtol=1e-9)
    np.testing.assert_allclose(run(tf.linalg.adjoint(square)), square.conj().T)
    vector = RANDOM.rand(4) * unit
    np.testing.assert_allclose(run(tf.linalg.matvec(square, vector, adjoint_a=True)), square.conj().T @ vector)


def test_lengths_become_1():
    found, length = run(tf.linalg.normalize(MATRIX, axis=1))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.ones(4))
    np.testing.assert_allclose(length, np.linalg.norm(MATRIX, axis=1, keepdims=True))
