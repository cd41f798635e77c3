"""Liberties are taken with all instructions once, and with some that are drawn after that."""

import numpy as np
import pytest

import compiler
from xlabench.judging.liberties import LIBERTIES, runs, without_denormals

TINY = np.finfo(np.float32).tiny


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_denormal_numbers_become_zeros_of_their_sign(dtype):
    small = np.finfo(dtype).tiny / 2
    found = without_denormals(np.array([small, -small, 1, np.inf, 0], dtype))
    assert found.dtype == dtype
    assert found.real.tolist() == [0, 0, 1, np.inf, 0]
    assert np.signbit(found.real).tolist() == [False, True, False, False, False]


def test_narrow_types_and_integers_are_left_alone():
    for array in (np.array([1e-7], np.float16), np.array([1])):
        assert without_denormals(array) is array
    pair = without_denormals((np.float32([TINY / 2]), np.array([1])))
    assert pair[0].tolist() == [0]


def results(text, *inputs, liberties=LIBERTIES, count=1):
    return [run[0].tolist() for run in runs(compiler.parse(text), inputs, liberties, count)]


def test_runs_differ_but_are_the_same_again():
    text = "ENTRY e { x = f32[] parameter(0)  two = f32[] constant(0.5)  ROOT y = f32[] multiply(x, two) }"
    first, *others = results(text, np.float32(TINY), count=12)
    assert first == 0
    assert set(others) == {0, TINY / 2}
    assert results(text, np.float32(TINY), count=12) == [first, *others]
