"""Integers between limits: what is known of them, and when that is all."""

import numpy as np
import pytest

import compiler
from compiler.tf2xla.limits import decided, limits_of

TEXT = "ENTRY main {{ x = s8[2] parameter(0)  y = s8[2] parameter(1)  ROOT z = s8[2] {}(x, y) }}"
SOME = (np.array([1, 5], np.int8), np.array([3, 5], np.int8))
OTHER = (np.array([2, 7], np.int8), np.array([2, 9], np.int8))


@pytest.mark.parametrize(
    ("opcode", "operands", "low", "high"),
    [
        ("maximum", (SOME, OTHER), [2, 7], [3, 9]),
        ("minimum", (SOME, OTHER), [1, 5], [2, 5]),
        ("maximum", (SOME, None), -128, 127),
        ("add", (SOME, OTHER), -128, 127),
    ],
)
def test_limits_follow_from_those_of_operands(opcode, operands, low, high):
    root = compiler.parse(TEXT.format(opcode)).entry.root
    found = limits_of(root, operands)
    assert [one.tolist() for one in found] == [low, high]
    assert decided(found, (2,)) is None


def test_equal_limits_decide():
    assert decided((np.int8(3), np.int8(3)), (2,)).tolist() == [3, 3]
