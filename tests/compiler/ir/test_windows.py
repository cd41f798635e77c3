"""Padding and windows at their edges, against what they mean element by element."""

import itertools

import numpy as np
import pytest

from compiler.diagnostics import ShapeError, UnsupportedError
from compiler.ir.attributes import PaddingDimension, WindowDimension
from compiler.ir.shape import UNBOUNDED, ArrayShape
from compiler.ir.types import F32
from compiler.ir.windows import check_window, output_size, pad, padded_size, window_view


def padded(values, low, high, interior):
    """What padding means: fillers between, at both ends, or cut off."""
    found = []
    for number, value in enumerate(values):
        found += [value] if number == 0 else [-1] * interior + [value]
    found = [-1] * max(low, 0) + found + [-1] * max(high, 0)
    return found[max(-low, 0) : max(len(found) + min(high, 0), 0)]


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("interior", [0, 1, 3])
@pytest.mark.parametrize("low", [-3, 0, 2])
@pytest.mark.parametrize("high", [-2, 0, 1])
def test_padding_is_what_it_means(size, interior, low, high):
    part = PaddingDimension(low, high, interior)
    values = np.arange(size)
    expected = padded(values.tolist(), low, high, interior)
    if padded_size(size, part) >= 0:
        assert len(expected) == padded_size(size, part)
    assert pad(values, -1, [part]).tolist() == expected


def test_padding_beyond_the_machine_is_refused_with_its_bytes():
    with pytest.raises(UnsupportedError, match="bytes of memory"):
        pad(np.zeros(1), 0, [PaddingDimension(0, 1 << 60)])


WINDOWS = [
    WindowDimension(size=size, stride=stride, pad_low=low, pad_high=1, lhs_dilate=inner, rhs_dilate=outer)
    for size, stride, low, inner, outer in itertools.product((1, 2, 4), (1, 3), (0, 2), (1, 2), (1, 2))
]


@pytest.mark.parametrize("size", [0, 1, 3, 7])
def test_a_window_has_as_many_places_as_are_seen_through_it(size):
    for window in WINDOWS:
        part = PaddingDimension(window.pad_low, window.pad_high, window.lhs_dilate - 1)
        values = pad(np.arange(size) + 1, 0, [part])
        places = range(0, len(values) - (window.size - 1) * window.rhs_dilate, window.stride)
        expected = [[int(values[at + i * window.rhs_dilate]) for i in range(window.size)] for at in places]
        assert window_view(values, (window,)).tolist() == expected
        assert output_size(size, window) == len(expected)


def test_a_reversed_window_is_read_backwards():
    window = (WindowDimension(size=2, reversal=True),)
    assert window_view(np.arange(3), window).tolist() == [[1, 0], [2, 1]]


def test_of_an_unbounded_dimension_the_places_are_not_known():
    assert output_size(UNBOUNDED, WindowDimension(size=3)) == UNBOUNDED


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ((WindowDimension(),), "the window has 1 dimensions"),
        ((WindowDimension(), WindowDimension(stride=0)), "window stride 0 of dimension 1 must be at least 1"),
    ],
)
def test_a_window_that_does_not_fit_is_refused(window, message):
    with pytest.raises(ShapeError, match=message):
        check_window(ArrayShape(F32, (2, 3)), window)
