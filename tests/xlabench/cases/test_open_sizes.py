"""Sizes that a program leaves open: what the option says, and what is taken where nothing is said."""

from __future__ import annotations

import pytest

from compiler import InputError
from xlabench.cases.open_sizes import BATCH, SIZE, OpenSizes

X, Y = (None, 10), (None, 3)


@pytest.mark.parametrize(
    ("text", "stated", "taken"),
    [
        (None, [X, (4,)], [(BATCH, 10), (4,)]),
        (None, [X, Y], [(BATCH, 10), (BATCH, 3)]),
        (None, [(None, None, 3), X], [(SIZE, SIZE, 3), (SIZE, 10)]),
        ("5", [X, Y], [(5, 10), (5, 3)]),
        ("0", [X, Y], [(0, 10), (0, 3)]),
        ("x:7x10", [X, Y], [(7, 10), (BATCH, 3)]),
        ("1:7x3,x:6x10", [X, Y], [(6, 10), (7, 3)]),
        ("x:7x10", [None, Y], [(7, 10), (SIZE, 3)]),
        (None, [(), ()], [(), ()]),
    ],
)
def test_sizes_are_those_that_are_said_and_small_ones_for_the_rest(text, stated, taken):
    shapes = OpenSizes.parse(text)
    assert shapes(["x", "y"], stated) == taken
    is_open = [one is None or None in one for one in stated]
    assert [name in "".join(shapes.notes) for name in ("x [", "y [")] == [
        is_one and stated[number] is not None for number, is_one in enumerate(is_open)
    ]
    assert bool(shapes.notes) == any(is_open)
    if any(is_open):
        shapes.require_use("f")


@pytest.mark.parametrize("text", ["x", "x:", "x:2x", "2x3", "x:2,", ",", "-1", "1.5", "٢", "x:ax2"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InputError, match=r"cannot be read; give --shapes N, or --shapes NAME:NxN"):
        OpenSizes.parse(text)


@pytest.mark.parametrize(
    ("text", "stated", "said"),
    [
        ("x:7x11", [X, Y], r"input 'x' has sizes \[\?,10\], not \[7, 11\]"),
        ("x:7", [X, Y], r"input 'x' has sizes \[\?,10\], not \[7\]"),
        ("z:7x10", [X, Y], "there is no input 'z'; inputs are x, y"),
        ("5", [None, Y], "the sizes of input 'x' are open, unknown: give them"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_is_taken(text, stated, said):
    with pytest.raises(InputError, match=said):
        OpenSizes.parse(text)(["x", "y"], stated)


def test_who_writes_code_for_others_must_be_told():
    shapes = OpenSizes.parse(None, is_required=True)
    with pytest.raises(InputError, match=r"the sizes of input 'x' are open, \[\?,10\]: give them, --shapes N"):
        shapes(["x"], [X])


@pytest.mark.parametrize("text", ["5", "x:2x3"])
def test_sizes_that_nothing_asks_for_are_refused(text):
    with pytest.raises(InputError, match="none of its sizes is open to --shapes: leave it out"):
        OpenSizes.parse(text).require_use("model")
    OpenSizes.parse(None).require_use("model")
