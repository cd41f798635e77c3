"""Words are read one at a time, errors say what should stand where, and no text takes long."""

import time
from contextlib import suppress

import pytest

from compiler.diagnostics import ParseError
from compiler.text.lexer import MAX_NESTING, RESERVED, Scanner, closing_brace, quoted, spelled


def scanner(text):
    return Scanner(text, "f")


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("-5", -5), (" /* a */ // b\n 7", 7), ("9223372036854775808", -(1 << 63)), ("18446744073709551615", -1)],
)
def test_integers_of_64_bits_wrap_as_in_xla(text, value):
    assert scanner(text).integer() == value


@pytest.mark.parametrize("text", ["18446744073709551616", "-9223372036854775809", "9" * 100_000, "1.5", "1x", "", "x"])
def test_what_is_no_integer_of_64_bits_is_refused(text):
    with pytest.raises(ParseError):
        scanner(text).integer()


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), (".5", 0.5), ("1e3", 1000.0), ("-inf", -float("inf"))])
def test_numbers_are_read(text, value):
    assert scanner(text).number() == value


def test_a_number_beyond_the_range_is_refused():
    with pytest.raises(ParseError, match="out of range for 64 bits"):
        scanner("1e999").number()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"a b"', "a b"),
        ("'a'", "a"),
        (r'"\n\t\"\\"', '\n\t"\\'),
        (r'"\101\x41\u0041"', "AAA"),
        (r'"\303\251"', "é"),
        (r'"\377"', "\udcff"),
        ('""', ""),
    ],
)
def test_strings_have_the_escapes_of_c(text, value):
    assert scanner(text).string() == value
    assert scanner(quoted(value)).string() == value


@pytest.mark.parametrize("text", [r'"\q"', r'"\777"', r'"\uD800"', r'"\x"', '"open'])
def test_what_is_no_string_is_refused(text):
    with pytest.raises(ParseError):
        scanner(text).string()


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_a_name_only_behind_its_sign(word):
    with pytest.raises(ParseError, match=f"write %{word}"):
        scanner(word).name("a name")
    assert scanner(spelled(word)).name("a name") == word
    assert scanner(word).word("a word") == word


def test_lists_are_read_between_tokens():
    assert scanner("{ }").integers() == ()
    assert scanner("{1, /* two */ 2}").integers() == (1, 2)
    with pytest.raises(ParseError, match="expected ',' or '}', not '3'"):
        scanner("{1 3}").integers()


def test_what_is_missing_is_said():
    with pytest.raises(ParseError, match="expected ':' here, but the text ends here"):
        scanner("  ").expect(":", "here")
    with pytest.raises(ParseError, match="this comment does not end"):
        scanner("/* open").expect(":")
    with pytest.raises(ParseError, match="unknown thing 'ad'; did you mean add"):
        scanner("ad").unknown("thing", "ad", ["add", "xyz"], 0)


@pytest.mark.parametrize(
    ("text", "end"), [("{}", 2), ("{a{b}c}d", 7), ('{"}"}', 5), ("{", -1), ('{"}', -1), ("{}}", 2)]
)
def test_a_brace_is_closed_by_its_own(text, end):
    assert closing_brace(text, 0) == end


def test_nesting_ends():
    one = scanner("")

    def deeper():
        return one.nested(deeper, "a thing")

    with pytest.raises(ParseError, match=f"a thing is nested more than {MAX_NESTING} levels deep"):
        deeper()


def test_half_of_a_surrogate_pair_is_no_text():
    with pytest.raises(ParseError, match="half of a surrogate pair"):
        scanner("a\ud800")


@pytest.mark.parametrize("text", ["/*" * 50_000, '"' + "\\" * 100_001, " " * 100_000 + "x", "{" * 100_000])
def test_no_text_makes_patterns_go_back_for_long(text):
    before = time.process_time()
    for read in (Scanner.integer, Scanner.string, lambda one: one.braced("it"), lambda one: one.name("it")):
        with suppress(ParseError):
            read(scanner(text))
    assert time.process_time() - before < 2
