"""Keys of sorts: integers that order as the values do, out of which the values come back."""

import itertools

import numpy as np
import pytest
from native_functions import native

import compiler
from compiler.codegen.sort_key import has_order, ordered, restored, sort_key
from compiler.ir.types import TYPES

FLOATS = {"f32": (32, np.float32, np.uint32), "f16": (16, np.float16, np.uint16), "f64": (64, np.float64, np.uint64)}
INTEGERS = {"s8": range(-128, 128, 5), "u8": range(0, 256, 5), "s32": (-(1 << 31), -1, 0, 1, (1 << 31) - 1)}


def unsigned(name, value):
    """The bits of a value."""
    if name in FLOATS:
        _, kind, bits = FLOATS[name]
        return int(np.array(value, kind).view(bits))
    return value & ((1 << TYPES[name].bits) - 1)


def values(name):
    """Values in order: floats in total order."""
    if name in INTEGERS:
        return list(INTEGERS[name])
    tiny = {"f16": 6e-8, "f32": 1e-45, "f64": 5e-324}[name]
    return [-np.inf, -1.5, -1, -tiny, -0.0, 0.0, tiny, 1, 1.5, np.inf]


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_bits_in_order_are_values_in_order_and_come_back(name):
    width = TYPES[name].bits
    there = native(width, lambda builder, bits: ordered(builder, TYPES[name], bits))
    back = native(width, lambda builder, bits: restored(builder, TYPES[name], bits))
    given = [unsigned(name, value) for value in values(name)]
    keys = [there(bits) for bits in given]
    assert all(one < other for one, other in itertools.pairwise(keys))
    assert [back(key) for key in keys] == given


def comparator(text, type_="f32"):
    text = f"""less {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1) {text} }}
      ENTRY e {{ x = {type_}[8] parameter(0)  ROOT y = {type_}[8] sort(x), dimensions={{0}}, to_apply=less }}"""
    return compiler.parse(text).entry.root.attributes["to_apply"]


@pytest.mark.parametrize(
    ("text", "type_", "descending", "partial"),
    [
        ("ROOT r = pred[] compare(a, b), direction=LT", "f32", False, True),
        ("ROOT r = pred[] compare(a, b), direction=GT", "f32", True, True),
        ("ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER", "f32", False, False),
        ("ROOT r = pred[] compare(b, a), direction=LT", "s32", True, False),
        ("ROOT r = pred[] compare(a, b), direction=GT", "u8", True, False),
    ],
)
def test_a_comparator_of_elements_has_a_key(text, type_, descending, partial):
    key = sort_key(comparator(text, type_))
    assert (key.descending, key.partial, key.canonical) == (descending, partial, True)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("ROOT r = pred[] compare(a, b), direction=LE", "f32"),
        ("ROOT r = pred[] constant(false)", "f32"),
        ("ROOT r = pred[] compare(a, a), direction=LT", "f32"),
        ("x = s32[] negate(a)  ROOT r = pred[] compare(x, b), direction=LT", "s32"),
        ("ROOT r = pred[] compare(a, b), direction=LT", "f8e5m2"),
    ],
)
def test_any_other_comparator_has_none(text, type_):
    assert sort_key(comparator(text, type_)) is None


def test_a_key_that_is_computed_is_not_the_element():
    key = sort_key(comparator("x = f32[] negate(a)  y = f32[] negate(b)  ROOT r = pred[] compare(x, y), direction=LT"))
    assert (key.canonical, key.expression.opcode) == (False, "negate")


def test_numbers_on_a_line_have_an_order():
    assert {name for name, one in TYPES.items() if one.is_integer and not has_order(one)} == set()
    assert [has_order(TYPES[name]) for name in ("pred", "bf16", "c64", "token")] == [True, True, False, False]
