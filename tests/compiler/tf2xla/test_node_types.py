"""The types of what nodes take and give, as far as attributes, records and functions say them."""

import pytest
from graph_nodes import DOUBLE, FLOAT, INT, function, node, types

from compiler.graph import AttributeList, FunctionReference
from compiler.tf2xla.node_types import (
    attribute_problem,
    called_functions,
    input_types,
    is_reference,
    output_names,
    output_types,
    type_at,
)

LIBRARY = {"double": DOUBLE}


@pytest.mark.parametrize(
    ("made", "takes", "gives"),
    [
        (node("a", "AddV2", "x", "y", T=FLOAT), (FLOAT, FLOAT), (FLOAT,)),
        (node("a", "AddV2", "x", "y"), (None, None), (None,)),
        (node("a", "ConcatV2", "x", "y", "z", N=2, T=FLOAT, Tidx=INT), (FLOAT, FLOAT, INT), (FLOAT,)),
        (node("a", "IdentityN", "x", "y", T=types(FLOAT, INT)), (FLOAT, INT), (FLOAT, INT)),
        (node("a", "double", "x"), (FLOAT,), (FLOAT,)),
        (node("a", "_Arg", T=FLOAT), (), (FLOAT,)),
        (node("a", "_Retval", "x", T=FLOAT), (FLOAT,), ()),
        (node("a", "Nobody", "x", "y", "^z"), (None, None), None),
    ],
    ids=str,
)
def test_types_are_those_that_are_said(made, takes, gives):
    assert input_types(made, LIBRARY) == takes
    assert output_types(made, LIBRARY) == gives


def test_outputs_have_names_in_functions():
    assert output_names(node("a", "IdentityN", "x", "y", T=types(FLOAT, INT)), {}) == ["output:0", "output:1"]
    assert output_names(node("a", "double", "x"), LIBRARY) == ["b:0"]
    assert output_names(node("a", "Nobody"), {}) == []


def test_functions_are_found_wherever_they_are_named():
    f, g = FunctionReference("f"), FunctionReference("g")
    assert called_functions(node("a", "double", "x"), LIBRARY) == ["double"]
    assert called_functions(node("a", "Case", "x", branches=AttributeList("func", (g, f)), other=f), {}) == [
        "g",
        "f",
        "f",
    ]
    assert called_functions(node("a", "AddV2", T=FLOAT), {}) == []


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"T": FLOAT}, ""),
        ({}, "its attribute 'T' is missing"),
        ({"T": 3}, "its attribute 'T' must be of the kind type"),
    ],
)
def test_what_is_wrong_about_attributes_is_said(attributes, said):
    assert attribute_problem(node("a", "AddV2", "x", "y", **attributes)) == said


def test_true_is_no_number():
    assert "axis" in attribute_problem(node("a", "Pack", "x", N=1, T=FLOAT, axis=True))


def test_places_that_are_not_there_have_no_type():
    assert [type_at((FLOAT, None), place) for place in (-1, 0, 1, 2)] == [None, FLOAT, None, None]
    assert type_at(None, 0) is None


def test_references_are_told_from_values():
    (found,) = output_types(node("a", "TemporaryVariable", dtype=FLOAT), {})
    assert is_reference(found)
    assert not is_reference(FLOAT)
    assert not is_reference(None)
    assert len(output_types(node("a", "RefSwitch", T=found), {})) == 2


def test_a_call_gives_types_to_a_function_that_has_none():
    generic = function("g", {}, {}, [], {})
    assert (input_types(node("a", "g"), {"g": generic}), output_types(node("a", "g"), {"g": generic})) == ((), ())
