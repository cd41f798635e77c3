"""Products are summed in a type that holds every term, and rounded once."""

import ml_dtypes
import numpy as np
import pytest

from compiler.diagnostics import ShapeError
from compiler.ir.products import ProductDimensions, contract, dot_shape, matrix_product, rounded, summable, wider_type
from compiler.ir.shape import UNBOUNDED, ArrayShape
from compiler.ir.types import BF16, F32, PRED, S8, S32, TYPES

MATRICES = ProductDimensions((), (), (1,), (0,))


@pytest.mark.parametrize("largest", [1, 1 << 30, (1 << 62) + 12345])
def test_integers_are_exact_modulo_their_words(largest):
    left = np.array([[[largest, -largest, 3]]])
    right = np.array([[[largest], [7], [largest]]])
    exact = largest * largest - 7 * largest + 3 * largest
    wrapped = (exact + (1 << 63)) % (1 << 64) - (1 << 63)
    assert matrix_product(left, right).tolist() == [[[wrapped]]]


def test_sums_of_nothing_are_zero():
    assert contract(np.zeros((2, 0)), np.zeros((0, 3)), MATRICES).tolist() == [[0] * 3] * 2
    assert contract(np.zeros((0, 2)), np.zeros((2, 3)), MATRICES).shape == (0, 3)


def test_batch_comes_first_then_what_is_left_of_either_side():
    lhs, rhs = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5), np.arange(4 * 6 * 2).reshape(4, 6, 2)
    found = contract(lhs, rhs, ProductDimensions((0,), (2,), (2,), (0,)))
    np.testing.assert_array_equal(found, np.einsum("bmkn,kjb->bmnj", lhs, rhs))


def test_narrow_floats_are_summed_wide_and_rounded_once():
    terms = np.array([[1.0, 2.0**-9, -1.0]], ml_dtypes.bfloat16)
    ones = np.ones((3, 1), ml_dtypes.bfloat16)
    sums = contract(summable(terms, BF16, BF16), summable(ones, BF16, BF16), MATRICES)
    assert rounded(sums, BF16).astype(float).tolist() == [[2.0**-9]]


def test_integers_are_summed_as_floats_where_the_result_is_one():
    most = np.array([[2**63]], np.uint64)
    for element_type, expected in ((F32, 2.0**64), (TYPES["u64"], 0)):
        factors = (summable(value, TYPES["u64"], element_type) for value in (most, np.array([[2]], np.uint64)))
        assert rounded(contract(*factors, MATRICES), element_type).tolist() == [[expected]]


@pytest.mark.parametrize(
    ("sums", "type_", "expected"),
    [
        ([300], S8, [44]),
        ([300.0, -1e9, np.nan], S8, [127, -128, 0]),
        ([0, 2, -1], PRED, [False, True, True]),
        ([3 + 4j], F32, [3.0]),
        ([7, 8, -9], TYPES["s4"], [7, -8, 7]),
    ],
)
def test_sums_go_to_the_results_type(sums, type_, expected):
    assert rounded(np.array(sums), type_).astype(float).tolist() == [float(value) for value in expected]


@pytest.mark.parametrize(
    ("lhs", "rhs", "sides", "message"),
    [
        ((2, 3), (4, 5), MATRICES, "contracting dim 1 of .* does not fit dim 0"),
        ((2, 3), (3, 5), ProductDimensions((), (), (1,), ()), "lhs and rhs name 1 and 0 contracting dims"),
        ((2, 3), (3, 5), ProductDimensions((1,), (0,), (1,), (0,)), "lhs batch and contracting dims"),
        ((2, 3), (3, 5), ProductDimensions((), (), (2,), (0,)), "lhs batch and contracting dims"),
    ],
)
def test_factors_that_do_not_fit_are_refused(lhs, rhs, sides, message):
    with pytest.raises(ShapeError, match=message):
        dot_shape(ArrayShape(F32, lhs), ArrayShape(F32, rhs), sides, F32)


def test_an_unbounded_dimension_fits_any_and_stays_dynamic():
    unbounded = ArrayShape(F32, (UNBOUNDED, UNBOUNDED), (True, True))
    assert str(dot_shape(unbounded, ArrayShape(F32, (3, 5)), MATRICES, F32)) == "f32[?,5]"


def test_the_wider_type_is_that_of_more_bits_and_complex_numbers_mix_with_no_others():
    short, long = ArrayShape(S8, ()), ArrayShape(S32, ())
    assert wider_type(short, long) is wider_type(long, short) is S32
    with pytest.raises(ShapeError, match="do not mix"):
        wider_type(short, ArrayShape(TYPES["c64"], ()))
    with pytest.raises(ShapeError, match="not both numbers"):
        wider_type(short, ArrayShape(TYPES["token"], ()))
