"""Every shape is read as it is written, once for all places where it stands."""

import pytest

from compiler.diagnostics import ParseError
from compiler.text.lexer import Scanner
from compiler.text.shapes import agree, at_shape, read_shape

TEXTS = [
    "f32[]",
    "f32[0,3]",
    "s4[<=5,?,7]",
    "()",
    "(f32[2], (s32[], token[]))",
    "b(f32[2])",
    "f32[2,3]{0,1}",
    "f32[2,3]{1,0:T(8,128)(2,1)S(5)}",
    "f32[2,3]{1,0:D(D,C)T(*)L(4)#(u32)*(u32)E(4)SC(0:3,5)P(f32[2])M(8)}",
]


def read(text):
    return read_shape(Scanner(text, "f"))


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_read_is_written_alike(text):
    assert str(read(text)) == text
    assert at_shape(Scanner(f" /* here */ {text}", "f"))


def test_spaces_mean_nothing_and_one_spelling_is_read_once():
    scanner = Scanner("f32[2,3]{0,1} f32[2,3]{0,1} f32[ 2 , 3 ] {0,1}", "f")
    first, second, third = (read_shape(scanner) for _ in range(3))
    assert first is second
    assert first == third


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f33[2]", "unknown element type 'f33'; did you mean f32"),
        ("f32[-1]", "must lie between 0 and 2"),
        ("f32[9223372036854775808]", "must lie between 0 and 2"),
        ("f32[2]{1,0}", "the layout orders 2 dimensions, but the shape has 1"),
        ("f32[2]{0:T(2)T(3)}", "'T' is written twice in this layout"),
        ("f32[2]{0:X(2)}", "one of the layout properties"),
        ("f32[2]{0:#(f32)}", "unknown integer type 'f32'"),
        ("b((f32[2]))", "a buffer holds an array"),
        ("(f32[2]", "expected ',' or '.'"),
        ("f32", "expected a shape such as"),
        ("(" * 200 + ")" * 200, "nested more than 100 levels deep"),
    ],
)
def test_what_is_no_shape_is_refused(text, message):
    with pytest.raises(ParseError, match=message):
        read(text)


def test_shapes_agree_but_for_layouts_and_bounds():
    assert agree(read("f32[<=5]"), read("f32[5]{0}"))
    assert agree(read("(f32[2,3]{0,1})"), read("(f32[2,3])"))
    assert not agree(read("f32[5]"), read("f32[4]"))
    assert not agree(read("f32[5]"), read("s32[5]"))
