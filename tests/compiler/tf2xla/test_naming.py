"""Names are TensorFlow's: a number behind what is taken, within scopes, without regard to case."""

import pytest

from compiler.tf2xla.naming import Names


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["a", "A"], ["a", "A_1"]),
        (["a_1", "a", "a"], ["a_1", "a", "a_2"]),
        (["a/", "a"], ["a", "a_1"]),
        (["a", "a/"], ["a", "a"]),
    ],
)
def test_a_name_that_is_taken_gets_a_number(asked, given):
    names = Names()
    assert [names.unique(one) for one in asked] == given


def test_scopes_are_named_like_nodes_and_left_again():
    names = Names(["s"])
    with names.within("s") as scope:
        assert scope == "s_1/"
        assert names.unique("a") == "s_1/a"
        with names.within(""):
            assert names.unique("a") == "a"
        with names.within("s_1/"):
            assert names.unique("a") == "s_1/a_1"
    assert names.unique("a") == "a_1"


def test_a_scope_is_left_when_something_goes_wrong_in_it():
    names = Names()
    with pytest.raises(ZeroDivisionError), names.within("s"):
        raise ZeroDivisionError
    assert names.scope == ""
