"""What inputs name is read in every form that files have, and nothing else is taken for one."""

import pytest

from compiler.graph.names import Names, argument_name, endpoint, is_name

GOOD = [("x", ("x", 0, "")), ("x:2", ("x", 2, "")), ("^x", ("x", -1, "")), ("a/b.c>d:0", ("a/b.c>d", 0, ""))]
BAD = ["", ":0", "x:", "x:01", "x:-1", "x:y", "x:1:2", "^", "^x:0", "-x", "x y", "x:9999999999", "x\n", "ä", "x:٣"]
IN_FUNCTIONS = [
    ("x:out:1", ("x", 1, "out")),
    ("x:out", ("x", 0, "out")),
    ("x:3", ("x", 3, "")),
    ("a", ("a", 0, "")),
]


@pytest.mark.parametrize(("text", "expected"), GOOD)
def test_a_name_and_a_port_are_read(text, expected):
    assert endpoint(text) == expected


@pytest.mark.parametrize("text", BAD)
def test_what_is_none_of_the_forms_names_nothing(text):
    assert endpoint(text) is None


@pytest.mark.parametrize(("text", "expected"), IN_FUNCTIONS)
def test_in_functions_outputs_have_names(text, expected):
    assert endpoint(text, in_function=True) == expected


@pytest.mark.parametrize("text", ["x:out:1:2", "x:1:2", "x:out:y"])
def test_in_functions_too_some_texts_name_nothing(text):
    assert endpoint(text, in_function=True) is None


@pytest.mark.parametrize("text", ["x", "x:2", "a/b:1"])
def test_an_endpoint_is_written_as_it_was_read(text):
    assert str(endpoint(text)) == text


@pytest.mark.parametrize("text", ["x:out:1", "x:out:0"])
def test_an_output_of_a_function_is_written_with_its_number(text):
    assert str(endpoint(text, in_function=True)) == text


@pytest.mark.parametrize(("text", "good"), [("x_1", True), (".x", True), ("_x", True), ("/x", False), ("", False)])
def test_what_nodes_may_be_called(text, good):
    assert is_name(text) is good


def test_a_name_is_free_once():
    names = Names(["a", "a_1"])
    assert [names.free(name) for name in ("a", "a", "b", "b", "a_2")] == ["a_2", "a_3", "b", "b_1", "a_2_1"]


@pytest.mark.parametrize(
    ("name", "spelled"),
    [("Scope/Op:1", "scope_op_1"), ("_9x", "x"), ("123", "unknown"), ("", "unknown"), ("Ä", "unknown"), ("a9", "a9")],
)
def test_an_argument_begins_with_a_small_letter(name, spelled):
    assert argument_name(name) == spelled
