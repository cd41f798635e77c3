"""Literals keep every bit through text."""

import numpy as np
import pytest

from compiler.diagnostics import ParseError
from compiler.ir.literal import Literal
from compiler.ir.shape import ArrayShape
from compiler.ir.types import TYPES, ElementType, Kind
from compiler.text.constants import write_literal
from compiler.text.parser import parse_literal, parse_shape

ARRAYS = [row for row in TYPES.values() if row.kind is not Kind.OPAQUE]


def every_value(element_type: ElementType) -> np.ndarray:
    """All values of a type of up to 16 bits, else many patterns of bits."""
    bits = element_type.bits
    if element_type.kind is Kind.PRED:
        return np.array([False, True])
    if element_type.is_integer:
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if element_type.is_signed else (0, (1 << bits) - 1)
        values = range(low, high + 1) if bits <= 8 else [low, low + 1, 0, 1, high - 1, high]
        return np.array(list(values), np.uint64 if low == 0 else np.int64).astype(element_type.dtype)
    if bits <= 16:
        return np.arange(1 << bits, dtype=f"uint{8 * element_type.dtype.itemsize}").view(element_type.dtype)
    words = np.random.default_rng(0).integers(0, 1 << 32, 4096, dtype=np.uint32)
    words[:6] = [0, 0x80000000, 0x7F800000, 0xFF800000, 1, 0x7FFFFF]
    return words.view(element_type.dtype)


@pytest.mark.parametrize("element_type", ARRAYS, ids=str)
def test_every_bit_pattern_survives_text(element_type: ElementType) -> None:
    values = every_value(element_type)
    literal = Literal(ArrayShape(element_type, values.shape), values)
    text = write_literal(literal)
    read = parse_literal(text, literal.shape)
    assert read.array is not None
    assert read.array.dtype == values.dtype
    same = read.array.view(np.uint8) == values.view(np.uint8)
    assert same.all(), text.split(", ")[int(np.flatnonzero(~same)[0]) // values.itemsize]


@pytest.mark.parametrize(
    ("shape", "text", "value"),
    [
        ("f32[2,2]", "{{1 2} {3,,4,}}", [[1, 2], [3, 4]]),
        ("f32[3]", "7", [7, 0, 0]),
        ("pred[4]", "{1, false, 5, true}", [True, False, True, True]),
        ("s32[2,0]", "{{}, {}}", np.zeros((2, 0))),
        ("s32[0,2]", "{ }", np.zeros((0, 2))),
        ("u64[1]", "{-1}", [2**64 - 1]),
        ("s32[2]", "{ /* one */ 1, // two\n 2}", [1, 2]),
        ("f8e4m3fn[2]", "{448, -0.001}", [448, -0.001953125]),
        ("f8e8m0fnu[3]", "{5.9e-39, 3, 1e-50}", [2.0**-127, 4, 2.0**-127]),
        ("f4e2m1fn[2]", "{nan, 1}", [-0.0, 1]),
        ("f6e2m3fn[]", "-nan", 0.0),
        ("c64[2]", "{(1, -2), (0.5, inf)}", [1 - 2j, complex(0.5, np.inf)]),
        ("f32[]", ".5", 0.5),
        ("f32[]", "1.", 1.0),
    ],
)
def test_literals_are_read_as_xla_reads_them(shape: str, text: str, value: object) -> None:
    read = parse_literal(text, parse_shape(shape))
    assert read.array is not None
    expected = np.asarray(value, read.array.dtype)
    np.testing.assert_array_equal(read.array, expected)
    if expected.dtype.kind != "c":
        np.testing.assert_array_equal(*[np.signbit(array.astype(np.float64)) for array in (read.array, expected)])


@pytest.mark.parametrize(
    ("shape", "text", "message"),
    [
        ("f32[2]", "{1}", "too few elements: dimension 0 has size 2"),
        ("f32[2]", "{1, 2, 3}", "too many elements: dimension 0 has size 2"),
        ("f32[2,2]", "{{1, 2}}", "too few elements"),
        ("f32[2,2]", "{1, 2}", "1 braces deep, but the shape has rank 2"),
        ("s8[1]", "{128}", "128 is out of range for s8: -128 to 127"),
        ("u4[1]", "{-1}", "out of range for u4"),
        ("s32[]", "1.5", "expected an integer"),
        ("f32[]", "1e39", "1e39 is out of range for f32"),
        ("f64[]", "1e999", "out of range"),
        ("f8e4m3fn[]", "nan(0x1)", "has no payload"),
        ("f4e2m1fn[]", "nan(0x1)", "a NaN of f4e2m1fn has no payload"),
        ("f16[]", "nan(0x400)", "lies between 0x1 and 0x3ff"),
        ("f32[]", "0x10", "expected a value of type f32"),
        ("f32[99999999999]", "{1}", "too few elements"),
        ("f32[99999999999]", "1", "more than"),
        ("f32[2]", "{1, 2", "has no '}'"),
        ("(f32[], f32[])", "(1)", "expected ','"),
        ("token[]", "1", "there are no literals of shape token[]"),
    ],
)
def test_a_wrong_literal_says_what_is_wrong(shape: str, text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_literal(text, parse_shape(shape))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "text"),
    [("c64[]", "(3.4028234663852886e+38, -3.4028234663852886e+38)"), ("f8e8m0fnu[]", "5.877471754111438e-39")],
)
def test_what_xla_reads_as_f64_is_written_exactly(shape: str, text: str) -> None:
    assert write_literal(parse_literal(text, parse_shape(shape))) == text


@pytest.mark.parametrize("text", ["{1,-}", "{1,--2}", "{1,+2}", "{1,1_0}", "{1,0x10}", "{1,true0}"])
@pytest.mark.parametrize("shape", ["s32[2]", "f32[2]", "pred[2]"])
def test_what_is_nearly_a_number_is_none(shape: str, text: str) -> None:
    with pytest.raises(ParseError, match=r"expected"):
        parse_literal(text, parse_shape(shape))


@pytest.mark.parametrize("text", ["{1, \u0663}", "{1,\u00a02}", "{1,\u20032}", "{1,\x1f2}", "{1,\x852}"])
@pytest.mark.parametrize("shape", ["s32[2]", "f32[2]", "pred[2]"])
def test_digits_and_blanks_of_other_scripts_are_none(shape: str, text: str) -> None:
    with pytest.raises(ParseError):
        parse_literal(text, parse_shape(shape))


def test_an_elided_literal_stays_elided() -> None:
    literal = parse_literal("{...}", parse_shape("f32[100,100]"))
    assert literal.elided
    assert write_literal(literal) == "{...}"
