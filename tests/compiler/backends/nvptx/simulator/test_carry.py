"""Sums, differences and products of two words, joined by the carry flag, are those of long integers."""

import itertools

import numpy as np
import pytest

WORDS = [0, 1, 2**31, 2**32 - 1, 0x12345678]
PAIRS = list(itertools.product(WORDS, repeat=2))


@pytest.mark.parametrize(
    ("low", "high", "truth"),
    [
        ("add.cc.u32 %x, %a, %c;", "addc.u32 %y, %b, %d;", lambda left, right: left + right),
        ("sub.cc.u32 %x, %a, %c;", "subc.u32 %y, %b, %d;", lambda left, right: left - right),
        (
            "mul.lo.u32 %y, %b, %c; mad.lo.u32 %y, %a, %d, %y; mul.lo.u32 %x, %a, %c;",
            "mad.hi.u32 %y, %a, %c, %y;",
            lambda left, right: left * right,
        ),
    ],
    ids=["add", "sub", "mul"],
)
def test_two_words_are_one_long_integer(run_instruction, low, high, truth):
    rows = list(itertools.product(PAIRS[::3], PAIRS[::4]))
    columns = [np.array(column, np.uint32) for column in zip(*((*left, *right) for left, right in rows), strict=True)]
    x, y = run_instruction(f"{low} {high}", ["b32"] * 4, ["b32"] * 2, columns)
    for row, found_low, found_high in zip(zip(*columns, strict=True), x, y, strict=True):
        a, b, c, d = map(int, row)
        assert int(found_low) | int(found_high) << 32 == truth(a | b << 32, c | d << 32) % (1 << 64)


def test_the_carry_goes_on_through_three_words(run_instruction):
    ones = np.array([2**32 - 1], np.uint32)
    text = "add.cc.u32 %x, %a, 1; addc.cc.u32 %x, %a, 0; addc.u32 %y, %b, 0;"
    x, y = run_instruction(text, ["b32"] * 2, ["b32"] * 2, [ones, np.array([7], np.uint32)])
    assert (x[0], y[0]) == (0, 8)
