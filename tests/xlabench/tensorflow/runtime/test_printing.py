"""Tensors in a line of a log, as TensorFlow 2.21 writes them."""

import numpy as np
import pytest

from xlabench.tensorflow.runtime.printing import ends, summary

F = np.float32
SEEN = [
    (np.array([[1.5, 2.5649493], [3, 1e-10]], F), -1, "[1.5 2.56494927][3 1e-10]"),
    (np.array([[1.5, 2.5649493], [3, 1e-10]], F), 3, "[1.5 2.56494927][3...]..."),
    (np.arange(24, dtype=np.int32).reshape(2, 3, 4), 5, "[[0 1 2 3][4...]]..."),
    (np.array(3.0, F), -1, "3"),
    (np.array([True, False]), 1, "1..."),
    (np.array([[1 / 3, 1e20, -0.0, np.nan, np.inf]]), -1, "[0.33333333333333331 1e+20 -0 nan inf]"),
    (np.zeros((0, 3), F), 3, ""),
    (np.array([1 + 2j, 0.1j], np.complex64), 1, "?..."),
    (np.array([16777216, 123456789], F), -1, "16777216 123456792"),
    (np.array([0.1, 2.71828], np.float16), -1, "0.0999755859 2.71875"),
]


@pytest.mark.parametrize(("array", "most", "text"), SEEN, ids=range(len(SEEN)))
def test_a_tensor_is_written_as_tensorflow_does(array, most, text):
    assert summary(array, most) == text


_DOUBLES = np.array([[[1.0]], [[0.5]]])
BY_ENDS = [
    (np.array([1, 2.5, 1e9], F), 1, "[1 ... 1e+09]"),
    (np.arange(9), 3, "[0 1 2 ... 6 7 8]"),
    (np.arange(12).reshape(3, 4), -1, "[[0 1 2 3]\n [4 5 6 7]\n [8 9 10 11]]"),
    (np.arange(12).reshape(3, 4), 1, "[[0 ... 3]\n ...\n [8 ... 11]]"),
    (_DOUBLES, 3, "[[[1]]\n\n [[0.5]]]"),
    (np.array(1 / 7), 3, "0.14285714285714285"),
    (np.zeros(0, F), 3, "[]"),
    (np.zeros((2, 0)), 3, "[\n ...]"),
    (np.array([b"a", b"b"], object), 3, '["a" "b"]'),
    (np.array(b"a", object), 3, '"a"'),
    (np.array([1 + 2j], np.complex64), 3, "[?]"),
]


@pytest.mark.parametrize(("array", "most", "text"), BY_ENDS, ids=range(len(BY_ENDS)))
def test_a_tensor_is_shown_by_its_ends_as_tensorflow_does(array, most, text):
    assert ends(array, most) == text
