"""Convolutions over sizes known at run time mean what the same ones over arrays of just these sizes do."""

import numpy as np
import pytest

import compiler
from compiler.expansion import dynamic_convolutions
from tests.compiler.expansion.test_dynamic_convolutions import BOUND, FEATURES, OUTPUTS, Setting
from xlabench.judging import library_calls
from xlabench.judging.sized_convolutions import TARGETS, placed

RNG = np.random.default_rng(0)
WINDOWS = ((3, 1), (3, 2), (4, 3), (2, 1), (1, 2), (5, 1))


def programs(size, stride, padding, length, batch=2):
    """A program of each call, with inputs of a length."""
    setting = Setting(size, stride, padding)
    x, w, g = (
        RNG.integers(-4, 5, shape).astype(np.float64)
        for shape in (
            (batch, length, FEATURES),
            (size, FEATURES, OUTPUTS),
            (batch, setting.places(length), OUTPUTS),
        )
    )
    sizes = np.array([batch, length, FEATURES], np.int32)
    yield setting.forward(), [x, w]
    yield setting.input_gradient(), [sizes, g, w]
    yield setting.kernel_gradient(), [x, g]


def told(size, stride, padding, length):
    """What is said of programs, and how many calls were looked at."""
    said, count = [], 0
    for text, inputs in programs(size, stride, padding, length):
        try:
            count += library_calls.check(compiler.parse(text), inputs)
        except library_calls.LibraryError as error:
            said.append(str(error))
    return said, count


@pytest.mark.parametrize("padding", ["PADDING_SAME", "PADDING_VALID"])
@pytest.mark.parametrize(("size", "stride"), WINDOWS)
def test_the_reference_does_what_calls_mean(size, stride, padding):
    for length in (BOUND, 7, 5, 1, 0):
        assert told(size, stride, padding, length) == ([], len(TARGETS))


def test_windows_stand_where_tensorflow_puts_them():
    assert placed(7, 3, 2, is_same=True) == (4, 1)
    assert placed(6, 3, 2, is_same=True) == (3, 0)
    assert placed(6, 4, 1, is_same=True) == (6, 1)
    assert placed(1, 4, 2, is_same=True) == (1, 1)
    assert placed(0, 4, 2, is_same=True).windows == 0
    assert placed(7, 3, 2, is_same=False) == (3, 0)
    assert placed(2, 3, 1, is_same=False) == (0, 0)


WRONG = {
    "one more before the first": lambda made: (made[0], made[1] + 1),
    "nothing before the first": lambda made: (made[0], made[1] * 0),
    "one output less": lambda made: (made[0] - 1, made[1]),
}
"""What may be wrong of where windows stand."""


@pytest.mark.parametrize("name", WRONG)
def test_windows_that_stand_elsewhere_are_told(name, monkeypatch):
    right = dynamic_convolutions._output_count
    monkeypatch.setattr(dynamic_convolutions, "_output_count", lambda *given: WRONG[name](right(*given)))
    assert any(told(size, stride, "PADDING_SAME", 7)[0] for size, stride in WINDOWS)
