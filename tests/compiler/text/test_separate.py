"""Long arrays travel beside the text, to the bit, and what was left out of a text before stays so."""

import numpy as np
import pytest

from compiler.diagnostics import InputError
from compiler.ir.types import TYPES, Kind
from compiler.text.parser import parse
from compiler.text.printer import to_text
from compiler.text.separate import parse_separated, separate_constants

ELEMENTS = 1025
SOURCE = """HloModule m
body {{
  inner = {type}[2,{size}] constant({{...}})
  ROOT left = {type}[{size}] constant({{...}})
}}
ENTRY e {{
  short = s32[2] constant({{0, 1}})
  both = ({type}[{size}], s32[]) constant(({{...}}, 3))
  ROOT r = {type}[{size}] call(), to_apply=body
}}
"""
ARRAYS = [name for name, row in TYPES.items() if row.kind not in (Kind.OPAQUE, Kind.PRED)]


def bits(name: str, size: int) -> np.ndarray:
    """Any bits: NaNs of every payload, zeros of either sign."""
    row = TYPES[name]
    return np.random.default_rng(0).integers(0, 1 << min(row.bits, 8), size * row.dtype.itemsize, np.uint8)


@pytest.mark.parametrize("name", ARRAYS)
def test_long_arrays_of_any_type_come_back_to_the_bit(name: str) -> None:
    source = SOURCE.format(type=name, size=ELEMENTS)
    arrays = {0: bits(name, 2 * ELEMENTS), 3: bits(name, ELEMENTS)}  # 1 is left out, 2 is short, 4 is a number
    module = parse_separated(source, arrays)
    text, separated = separate_constants(module)
    assert text == to_text(parse(source))
    assert list(separated) == [0, 3]
    assert all(separated[number].tobytes() == array.tobytes() for number, array in arrays.items())
    again = parse_separated(text, separated)
    assert again == module
    assert [i.literal.elided for i in again.instructions() if i.opcode == "constant"] == [False, True, False, False]


def test_a_program_without_long_arrays_is_all_text() -> None:
    module = parse("ENTRY e { ROOT c = f32[2] constant({1, 2}) }")
    assert separate_constants(module) == (to_text(module), {})


@pytest.mark.parametrize(
    ("number", "count", "message"),
    [(0, 12, "not what 12 bytes stand for"), (1, 8, r"array 1 of the program, f32\[2\]"), (2, 8, "no array 2")],
)
def test_bytes_that_do_not_belong_to_a_text_are_refused(number: int, count: int, message: str) -> None:
    text = "ENTRY e { a = f32[2] constant({...}) b = f32[2] constant({1, 2}) ROOT r = f32[2] add(a, b) }"
    with pytest.raises(InputError, match=message):
        parse_separated(text, {number: np.zeros(count, np.uint8)})
