"""Elements that are not stated are the last one that is, or zero, and nothing is expanded unasked."""

import ml_dtypes
import numpy as np
import pytest

from compiler.diagnostics import UnsupportedError
from compiler.graph.tensors import Tensor, tensor_of
from compiler.graph.types import BY_NAME

FLOAT = BY_NAME["float32"]


@pytest.mark.parametrize(
    ("stated", "dims", "expected"),
    [
        ([], (2, 2), [[0, 0], [0, 0]]),
        ([3], (3,), [3, 3, 3]),
        ([1, 2], (2, 2), [[1, 2], [2, 2]]),
        ([1, 2], (2,), [1, 2]),
        ([5], (), 5),
        ([], (0, 7), []),
    ],
)
def test_the_last_stated_element_stands_for_all_that_follow(stated, dims, expected):
    assert Tensor(FLOAT, dims, np.array(stated, np.float32)).array().tolist() == expected


def test_a_tensor_that_no_memory_holds_is_refused_only_when_its_elements_are_asked_for():
    huge = Tensor(FLOAT, (1 << 40,), np.zeros(1, np.float32))
    assert (huge.size, str(huge)) == (1 << 40, "float32[1099511627776]")
    with pytest.raises(UnsupportedError, match="more than 2 GiB"):
        huge.array()


def test_strings_are_no_numbers():
    with pytest.raises(UnsupportedError, match="its elements are no numbers"):
        Tensor(BY_NAME["string"], (1,), strings=(b"x",)).array()


def test_tensors_are_equal_to_the_bit():
    zeros = [Tensor(FLOAT, (), np.array([value], np.float32)) for value in (0.0, -0.0, np.nan, np.nan)]
    assert zeros[0] != zeros[1]
    assert zeros[2] == zeros[3]
    assert hash(zeros[2]) == hash(zeros[3])


@pytest.mark.parametrize("dtype", [np.float64, np.bool_, ml_dtypes.bfloat16, np.complex64, np.uint64])
def test_an_array_is_a_tensor_and_back(dtype):
    array = np.ones((2, 3), dtype)[:, ::-1]
    np.testing.assert_array_equal(tensor_of(array).array(), array)


def test_a_type_that_tensorflow_lacks_is_refused():
    with pytest.raises(UnsupportedError, match="they have no such type"):
        tensor_of(np.zeros(1, "datetime64[s]"))
