"""Damage is found where it is: the field, by its path, and the byte."""

import pytest

from compiler.graph.damage import DEEPEST, damage_location


def field(number, content, wire=2):
    return bytes([number << 3 | wire]) + (bytes([len(content)]) if wire == 2 else b"") + content


NODE = field(1, field(1, b"name") + field(2, b"Op"))


@pytest.mark.parametrize("data", [b"", NODE, NODE * 3, field(15, b"unknown")])
def test_nothing_is_found_in_what_makes_sense(data):
    assert damage_location("GraphDef", data) == ""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (NODE + b"\x0a", "at byte 13, the bytes end in the middle of a number"),
        (field(1, field(1, b"name")[:-1]), "at byte 3, in node[0], name says that it ends at byte 8, but"),
        (NODE + field(1, field(1, b"\xff")), "at byte 16, in node[1], name is no UTF-8"),
        (b"\x00\x00", "at byte 0, a field has the number 0"),
        (b"\x0b", "at byte 0, node is written in a way (wire type 3) that graphs have not"),
        (b"\xff" * 11, "at byte 0, a number takes more than 10 bytes"),
    ],
)
def test_the_first_byte_that_makes_no_sense_is_named(data, said):
    assert damage_location("GraphDef", data).startswith(said)


def test_messages_stand_only_so_deep_in_each_other():
    assert DEEPEST == 100
