"""Distances are shares of what is allowed: none is 0, and what is no number is infinitely far off."""

import numpy as np
import pytest

from xlabench.judging.lapack_call import THRESHOLD, Call, adjoint, flag, lengths, norm, ratio

EPS = 2.0**-23


def call(rows=3, columns=3, least=0.0):
    return Call([np.ones((rows, columns))], [np.zeros((rows, columns))], [], {"uplo": "L"}, EPS, least)


@pytest.mark.parametrize(
    ("distance", "allowed", "share"),
    [
        ([0.0], [0.0], 0.0),
        ([1.0], [0.0], np.inf),
        ([1.0, 3.0], [2.0, 2.0], 1.5),
        ([np.nan], [1.0], np.inf),
        ([1.0], [np.nan], np.inf),
        ([], [], 0.0),
    ],
)
def test_the_greatest_share_counts(distance, allowed, share):
    assert ratio(np.array(distance), np.array(allowed)) == share


def test_what_is_allowed_grows_with_the_greatest_dimension():
    assert call(7, 3).order == 7
    assert call(7, 3).allowed(2.0) == THRESHOLD * 7 * EPS * 2.0
    assert call(7, 3).allowed(2.0, 1) == THRESHOLD * EPS * 2.0


def test_where_there_are_no_digits_the_least_number_is_allowed():
    assert call(1, 1).allowed(0.0) == 0
    assert call(1, 1, least=2.0**-126).allowed(0.0) == THRESHOLD * 2.0**-126


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 2])
def test_rotations_have_orthonormal_columns_and_scaled_ones_none(angle):
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert call(2, 2).unitary(turned) <= 1
    assert call(2, 2).unitary(1.01 * turned) > 1
    assert call(2, 2).unitary(turned * [1, 1j]) <= 1


def test_a_column_is_held_to_its_own_length():
    columns = np.array([[1.0, 1e6], [1.0, 1e6]])
    off = np.array([[1e-4, 1e-4], [0.0, 0.0]])
    assert call(2, 2).off(off, norm(columns)) <= 1 < call(2, 2).columns_off(off, columns, np.zeros((2, 2)))


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_lengths_are_those_of_numbers_whose_squares_are_none(size):
    columns = size * np.array([[3.0, 0.0], [4.0j, 0.0]])
    np.testing.assert_allclose(lengths(columns), [5 * size, 0], rtol=1e-15)
    np.testing.assert_allclose(norm(columns), 5 * size, rtol=1e-15)
    assert norm(np.array([np.inf, 1.0])) == np.inf
    assert np.isnan(lengths(np.array([[np.nan], [1.0]]))).all()


def test_the_rest():
    assert adjoint(np.array([[1j, 2]])).tolist() == [[-1j], [2]]
    assert (flag(holds=True), flag(holds=False)) == (0.0, np.inf)
    assert call().is_set("uplo", "L")
    assert not call().is_set("side", "L")
