"""Names that are free are given once, and arguments are spelled as functions take them."""

import pytest

from compiler.jit.naming import Names, argument_name


def test_a_name_is_free_once():
    names = Names(["a", "a_1"])
    assert [names.free(name) for name in ("a", "a", "b", "b", "a_2")] == ["a_2", "a_3", "b", "b_1", "a_2_1"]


@pytest.mark.parametrize(
    ("name", "spelled"),
    [("Scope/Op:1", "scope_op_1"), ("_9x", "x"), ("123", "unknown"), ("", "unknown"), ("Ä", "unknown"), ("a9", "a9")],
)
def test_an_argument_begins_with_a_small_letter(name, spelled):
    assert argument_name(name) == spelled
