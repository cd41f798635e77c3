"""A cursor takes the tokens of PTX one by one, and says at which it wanted another."""

import pytest

from compiler.backends.nvptx.simulator.cursor import Cursor
from compiler.backends.nvptx.simulator.syntax import Immediate
from compiler.diagnostics import ParseError


def cursor(text):
    return Cursor(text, "k.ptx")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("42", 42),
        ("-42", -42),
        ("7U", 7),
        ("0x1F", 31),
        ("0b101", 5),
        ("017", 15),
        ("1.5", 1.5),
        ("-2e3", -2000.0),
        ("0f3F800000", Immediate(0x3F800000, 32)),
        ("0d3FF0000000000000", Immediate(0x3FF0000000000000, 64)),
    ],
)
def test_a_number_is_what_it_says(text, number):
    read = cursor(text).number()
    assert (read, type(read)) == (number, type(number))


@pytest.mark.parametrize(
    ("text", "ask", "said"),
    [
        ("019", lambda c: c.number(), "octal"),
        ("-0f3F800000", lambda c: c.number(), "a sign in front of a hexadecimal float"),
        ("x", lambda c: c.number(), "expected a number, found 'x'"),
        ("1.5", lambda c: c.integer("a size"), "expected a size, an integer, found '1.5'"),
        (".f33", lambda c: c.type(), "expected a type such as .b32, found '.f33'"),
        ("7", lambda c: c.name("a label"), "expected a label, found '7'"),
        (";", lambda c: c.expect("{"), "expected '{', found ';'"),
        ("", lambda c: c.expect("{"), "found the end of the text"),
        ("", lambda c: c.take(), "the text ends in the middle"),
        ("{ a { b }", lambda c: c.skip_braces(), "the text ends in the middle"),
    ],
)
def test_what_is_not_there_is_said(text, ask, said):
    with pytest.raises(ParseError) as error:
        ask(cursor(text))
    assert said in str(error.value)
    assert str(error.value).startswith("k.ptx:1:")


def test_tokens_are_taken_in_order_and_seen_before():
    at = cursor("add . u32 ;".replace(". ", "."))
    assert (at.token.text, at.following.text) == ("add", ".u32")
    assert at.name("an opcode").text == at.last.text == "add"
    assert at.type() == "u32"
    assert not at.accept(",")
    assert at.at(",", ";")
    assert at.accept(";")
    assert at.token.kind == at.following.kind == "end"


def test_a_string_is_no_mark():
    at = cursor('";"')
    assert not at.at('";"')
    assert not at.accept('";"')


@pytest.mark.parametrize(
    ("text", "skip", "left"),
    [
        (".loc 1 2 3\nret", lambda c: c.skip_line(), "ret"),
        (".loc 1 2 3", lambda c: c.skip_line(), ""),
        (".section { a { b } c } ret", lambda c: c.skip_braces(), "ret"),
        ("first; second; ret", lambda c: c.pass_over(14), "ret"),
    ],
)
def test_what_is_passed_over_ends_where_it_should(text, skip, left):
    at = cursor(text)
    at.take()
    skip(at)
    assert at.token.text == left
