"""PTX text becomes tokens; a word takes its dotted tail with it, and what begins no token is refused with its place."""

import pytest

from compiler.backends.nvptx.simulator.lexer import tokens_from
from compiler.diagnostics import ParseError


def kinds(text):
    return [(token.kind, token.text) for token in list(tokens_from(text, "f"))[:-1]]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("ld.global.nc.v4.b32 %r1", [("word", "ld.global.nc.v4.b32"), ("word", "%r1")]),
        ("%tid.x", [("word", "%tid.x")]),
        (".entry", [("directive", ".entry")]),
        (".shared::cta", [("directive", ".shared::cta")]),
        ("0f3F800000 0d3FF0000000000000", [("number", "0f3F800000"), ("number", "0d3FF0000000000000")]),
        ("0x1F 0b11 42U 1.5 2e3", [("number", word) for word in ("0x1F", "0b11", "42U", "1.5", "2e3")]),
        ('"a b"', [("string", '"a b"')]),
        ("[a+-4]", [("mark", "["), ("word", "a"), ("mark", "+"), ("mark", "-"), ("number", "4"), ("mark", "]")]),
        ("a // b\nc /* d\n e */ f\n# line 3\ng", [("word", c) for c in "acfg"]),
    ],
)
def test_a_text_is_cut_where_the_grammar_looks(text, tokens):
    assert kinds(text) == tokens


def test_every_token_says_where_it_is_and_the_last_one_is_the_end():
    text = "add %a, 1;"
    tokens = list(tokens_from(text, "f"))
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert (tokens[-1].kind, tokens[-1].start) == ("end", len(text))


@pytest.mark.parametrize(("text", "line"), [("?", 1), ("a\n\n?", 3), ("'", 1), ('"open', 1)])
def test_what_begins_no_token_is_refused_with_its_place(text, line):
    with pytest.raises(ParseError, match="begins no PTX token") as caught:
        list(tokens_from(text, "f"))
    assert caught.value.span.line == line
