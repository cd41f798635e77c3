import ml_dtypes
import numpy as np
import pytest

from xlabench.judging.differ import Agreement, compare, tolerated
from xlabench.judging.tolerance import TolerancePolicy

NAN, INF = float("nan"), float("inf")


def _one(expected, actual, dtype="f4", **options):
    return compare([np.array(expected, dtype)], [np.array(actual, dtype)], **options).results[0]


@pytest.mark.parametrize(
    ("expected", "actual", "dtype", "agreement"),
    [
        (1.0, 1.0, "f4", "bitwise"),
        (1.0, 1.000001, "f4", "within"),
        (1.0, 1.001, "f4", "wrong"),
        (1.0, 1.001, "f2", "within"),
        (0.0, -0.0, "f4", "within"),
        (NAN, NAN, "f4", "bitwise"),
        (NAN, 1.0, "f4", "wrong"),
        (1.0, NAN, "f4", "wrong"),
        (INF, INF, "f4", "bitwise"),
        (INF, -INF, "f4", "wrong"),
        (INF, 3e38, "f4", "wrong"),
        (3e38, INF, "f4", "wrong"),
        (1e-45, 3e-45, "f4", "within"),
        (1e-40, 0.0, "f4", "wrong"),
        (3, 3, "i4", "bitwise"),
        (3, 4, "i4", "wrong"),
        (2**63 - 1, 2**63 - 2, "i8", "wrong"),
        (True, False, "?", "wrong"),
        (1 + 1j, 1 + 1.000001j, "c8", "within"),
        (1 + 1j, 1 + 1.1j, "c8", "wrong"),
        (1e-9 + 1j, 2e-9 + 1j, "c8", "within"),
        (complex(NAN, 1), complex(NAN, 1), "c8", "bitwise"),
        (complex(NAN, 1), complex(NAN, 2), "c8", "wrong"),
        (complex(INF, 0.0), complex(INF, -0.0), "c8", "within"),
        (complex(INF, 0.0), complex(INF, NAN), "c8", "wrong"),
        (1 + 1j, 1 + 2j, "c16", "wrong"),
    ],
)
def test_one_element(expected, actual, dtype, agreement):
    assert _one([expected], [actual], dtype).agreement == agreement
    if np.isnan(expected) and np.isnan(actual):  # parts of numbers that are no numbers are not bounded
        agreement = "within"
    allowed = tolerated(np.array([expected], dtype), TolerancePolicy()).allows(np.array([actual], dtype))
    assert allowed.all() == (agreement != "wrong")


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn])
def test_a_narrow_float_may_be_one_rounding_off_and_not_twice_as_large(dtype):
    assert _one([1.0, 1.0], [1.0, 1.0 + float(ml_dtypes.finfo(dtype).eps)], dtype).agreement == "within"
    assert _one([1.0, 1.0], [1.0, 4.0], dtype).agreement == "wrong"


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2])
def test_narrow_integers_are_exact(dtype):
    assert _one([1, 1], [1, 0], dtype).mismatches == 1


def test_what_cancels_is_judged_by_the_size_of_the_array():
    assert _one([1000.0, 1e-5], [1000.0, 9e-5]).agreement == "within"
    assert _one([1.0, 1e-5], [1.0, 9e-5]).agreement == "wrong"


def test_an_infinity_does_not_widen_the_bound():
    assert _one([INF, 1.0], [INF, 1.1]).agreement == "wrong"


def test_mismatches_are_counted_and_the_worst_come_first():
    expected = np.zeros((3, 4), np.float32)
    actual = expected.copy()
    actual[0, 1], actual[2, 3], actual[1, 0] = 1.0, 3.0, 2.0
    result = compare([expected], [actual], worst=2).results[0]
    assert (result.mismatches, result.share, result.max_abs) == (3, 0.25, 3.0)
    assert [element.index for element in result.worst] == [(2, 3), (1, 0)]
    assert (result.worst[0].expected, result.worst[0].actual) == ("0.0", "3.0")


def test_each_kind_of_error_is_counted():
    result = _one([1.0, 1.0, 1.0, 1.0, 1.0], [NAN, INF, -1.0, 2.0, 1.0])
    assert result.kinds == {"nan": 1, "inf": 1, "sign": 1, "value": 1}
    assert result.worst[0].kind == "nan"
    assert _one([1.0], [NAN]).max_ulps is None, "a NaN is at no distance"


def test_ulps_of_a_wrong_element_are_shown():
    result = _one([1.0], [1.5])
    assert result.worst[0].ulps == result.max_ulps == 1 << 22


def test_a_wrong_64_bit_integer_shows_every_digit():
    element = _one([2**63 - 1], [2**63 - 2], "i8").worst[0]
    assert (element.expected, element.actual) == (str(2**63 - 1), str(2**63 - 2))
    assert (element.error, element.ulps) == (1.0, None)


@pytest.mark.parametrize(
    ("actual", "problem"),
    [
        (np.zeros(3, np.float64), "float64[3], expected float32[3]"),
        (np.zeros((3, 1), np.float32), "float32[3,1], expected float32[3]"),
    ],
)
def test_another_type_or_shape_is_wrong_as_a_whole(actual, problem):
    comparison = compare([np.zeros(3, np.float32)], [actual])
    assert comparison.agreement is Agreement.WRONG
    assert comparison.results[0].problem == problem
    assert comparison.mismatches == 3


def test_a_missing_result_is_wrong():
    comparison = compare([np.zeros(1), np.zeros(1)], [np.zeros(1)])
    assert comparison.agreement is Agreement.WRONG
    assert comparison.describe() == "1 results, expected 2"


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)])
def test_scalars_and_empty_arrays_compare(shape):
    assert _one(np.ones(shape), np.ones(shape)).agreement == "bitwise"


def test_numpy_scalars_are_results():
    assert compare([np.float32(1)], [np.float32(1)]).agreement is Agreement.BITWISE


def test_a_transposed_view_is_compared_by_its_elements():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert compare([array.T], [np.ascontiguousarray(array.T)]).agreement is Agreement.BITWISE


def test_the_bounds_can_be_given():
    assert _one([1.0], [1.05], policy=TolerancePolicy(rtol=0.1)).agreement == "within"
    assert _one([1.0], [1.000001], policy=TolerancePolicy(rtol=0.0, atol=0.0)).agreement == "wrong"


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, np.float16, np.float32])
def test_a_signalling_nan_is_compared_in_silence(dtype):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    infinity = np.array([np.inf], dtype).view(bits)
    signalling = (infinity + bits.type(1)).view(dtype)
    assert compare([signalling], [signalling]).agreement is Agreement.BITWISE
    assert compare([signalling], [np.array([1], dtype)]).agreement is Agreement.WRONG


def test_no_results_at_all_agree():
    assert compare([], []).agreement is Agreement.BITWISE


def _integers(mismatches):
    expected = np.zeros(100, np.int32)
    actual = expected.copy()
    actual[:mismatches] = 1
    return expected, actual


@pytest.mark.parametrize(("mismatches", "agreement"), [(0, "bitwise"), (2, "undecided"), (3, "wrong")])
def test_a_granted_share_of_integers_is_undecided(mismatches, agreement):
    expected, actual = _integers(mismatches)
    comparison = compare([expected], [actual], policy=TolerancePolicy(discrete_share=0.02))
    assert comparison.agreement == agreement


def test_no_share_is_granted_to_floats():
    assert _one(np.zeros(100), np.eye(1, 100)[0], policy=TolerancePolicy(discrete_share=0.5)).agreement == "wrong"
