"""Messages in both forms: what is wrong is placed, and what nobody knows here is kept."""

import pytest

from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph.messages import CLASSES, from_bytes, from_text, rest_of, started_from, to_bytes, to_text

UNKNOWN = bytes([0xF8, 0x7F, 7])
"""Field 2047, the number 7."""


def test_both_forms_say_the_same():
    text = 'name: "a" op: "Const" attr { key: "n" value { i: -3 } }'
    read = from_text("NodeDef", text, "f")
    assert from_bytes("NodeDef", to_bytes(read), "f") == read == from_text("NodeDef", to_text(read), "f")


def test_maps_are_written_in_the_order_of_their_keys():
    one, other = CLASSES["NodeDef"](), CLASSES["NodeDef"]()
    for made, keys in ((one, "abc"), (other, "cba")):
        for key in keys:
            made.attr[key].i = ord(key)
    assert to_bytes(one) == to_bytes(other)


def test_what_is_no_message_is_placed():
    with pytest.raises(InputError, match="f:2:1: no NodeDef in text form"):
        from_text("NodeDef", 'name: "a"\nnome: "b"', "f")
    with pytest.raises(InputError, match="f: no NodeDef in binary form"):
        from_bytes("NodeDef", b"\x0a\x05ab", "f")


def test_an_empty_text_is_an_empty_message():
    assert from_text("GraphDef", "", "f") == from_bytes("GraphDef", b"", "f") == CLASSES["GraphDef"]()


def test_braces_in_strings_and_comments_are_not_deep():
    read = from_text("NodeDef", 'name: "' + "{" * 500 + '"  # ' + "<" * 500, "f")
    assert read.name == "{" * 500
    with pytest.raises(InputError, match="f:1: no NodeDef: messages stand more than"):
        from_text("NodeDef", "attr { " * 500, "f")


def test_the_rest_is_what_is_not_known_and_goes_back():
    read = from_bytes("VersionDef", b"\x08\x05\x10\x02" + UNKNOWN, "f")
    rest = rest_of(read, "producer", "min_consumer")
    assert rest == UNKNOWN
    assert to_bytes(started_from("VersionDef", rest, producer=5, min_consumer=2)) == to_bytes(read)
    assert rest_of(started_from("VersionDef", b"", producer=5), "producer") == b""


def test_text_has_no_names_for_what_is_not_known():
    with pytest.raises(UnsupportedError, match="binary form"):
        to_text(from_bytes("VersionDef", UNKNOWN, "f"))
