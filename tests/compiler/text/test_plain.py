"""Values of numbers, words and booleans are read as they are written."""

import pytest

from compiler.diagnostics import ParseError
from compiler.text import plain
from compiler.text.lexer import Scanner


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("integers", "{}"),
        ("integers", "{1,-2}"),
        ("integers", "{{1,2},{},{3}}"),
        ("booleans", "{true,false}"),
        ("boolean_or_booleans", "true"),
        ("boolean_or_booleans", "{}"),
        ("words", "{highest,default}"),
        ("slices", "{[0:4], [1:9:2]}"),
        ("padding", "0_1_0x2_3_1x-1_0_0"),
        ("padding", ""),
        ("shapes", "{f32[2], (s32[], s32[])}"),
        ("window", "{size=3x3 stride=2x1 pad=1_1x0_2 lhs_dilate=2x1 rhs_dilate=1x3 rhs_reversal=1x0}"),
        ("convolution", "b01f_01io->b01f"),
    ],
)
def test_what_is_read_is_written_alike(name, text):
    value = getattr(plain, f"read_{name}")(Scanner(text, "f"))
    assert getattr(plain, f"write_{name}")(value) == text


def test_pairs_are_pairs():
    assert plain.read_pairs(Scanner("{{0,1},{1,0}}", "f")) == ((0, 1), (1, 0))
    with pytest.raises(ParseError, match="expected a pair of integers, not 3 of them"):
        plain.read_pairs(Scanner("{{0,1,2}}", "f"))


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, float("inf")])
def test_a_float_is_written_shortly_and_comes_back(value):
    text = plain.write_float(value)
    read = Scanner(text, "f").number()
    assert (read, str(read)) == (value, str(value))
    assert len(text) <= len(repr(value))


@pytest.mark.parametrize(("name", "text"), [("slices", "{[0]}"), ("slices", "{[0:1:2:3]}"), ("padding", "5")])
def test_what_is_no_value_is_refused(name, text):
    with pytest.raises(ParseError, match="expected"):
        getattr(plain, f"read_{name}")(Scanner(text, "f"))
