"""Literals are written with the shortest decimals that read back as the same bits."""

import numpy as np
import pytest

import compiler
from compiler.ir.literal import Literal, array_literal, scalar_literal, tuple_literal
from compiler.ir.types import TYPES
from compiler.text.constants import write_literal, write_typed_literal


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (True, "pred", "true"),
        ([True, False], "pred", "{1, 0}"),
        (-0.0, "f32", "-0.0"),
        (0.0, "f32", "0"),
        (0.1, "f32", "0.1"),
        (np.inf, "f16", "inf"),
        (-np.inf, "f64", "-inf"),
        (np.nan, "f32", "nan"),
        (1 << 63, "u64", "9223372036854775808"),
        (1 + 2j, "c64", "(1, 2)"),
        ([], "s32", "{}"),
        ([[1, 2], [3, 4]], "s32", "{ {1, 2}, {3, 4} }"),
        (np.zeros((2, 0)), "s32", "{ {}, {} }"),
    ],
)
def test_a_value_is_written_shortly(value, type_, text):
    assert write_literal(array_literal(value, TYPES[type_])) == text


def test_what_is_not_known_is_said():
    shape = scalar_literal(1, TYPES["f32"]).shape
    assert write_literal(tuple_literal((scalar_literal(1, TYPES["f32"]), Literal(shape)))) == "(1, {...})"


def test_shapes_are_written_beside_values():
    pair = tuple_literal((scalar_literal(1, TYPES["s8"]), array_literal([2], TYPES["f32"])))
    assert write_typed_literal(pair) == "(s8[] 1, f32[1] {2})"


BITS = [0, 1, 0x00800000, 0x007FFFFF, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FC00001, 0x7F800001, 0x3DCCCCCD]


@pytest.mark.parametrize("bits", [*BITS, *(b | 1 << 31 for b in BITS)], ids=hex)
def test_every_bit_of_a_float_comes_back(bits):
    literal = Literal(scalar_literal(0, TYPES["f32"]).shape, np.array(bits, np.uint32).view(np.float32))
    read = compiler.parse(f"ENTRY e {{ ROOT c = f32[] constant({write_literal(literal)}) }}").entry.root
    assert read.attributes["literal"].array.view(np.uint32).item() == bits


@pytest.mark.parametrize(("count", "first"), [(1024, 1), (1025, 1), (1025, 0)])
def test_a_long_array_of_zeros_behind_its_first_element_comes_back(count, first):
    values = np.zeros(count, np.float32)
    values[0] = first
    text = write_literal(array_literal(values, TYPES["f32"]))
    assert len(text) < 10 or count == 1024
    read = compiler.parse(f"ENTRY e {{ ROOT c = f32[{count}] constant({text}) }}").entry.root
    np.testing.assert_array_equal(read.attributes["literal"].array, values)
