"""Functions are opened to nodes as graphs spell them, and closed again to the same."""

import pytest
from graph_nodes import DOUBLE, FLOAT, INT, OUTER, function, node

from compiler.diagnostics import UnsupportedError
from compiler.graph import Argument, Function, FunctionReference, Node
from compiler.tf2xla.flat_functions import ARGUMENT, RESULT, FunctionLibrary, argument, argument_type, result

INSIDE = [
    node("s", "Split", "axis", "a", T=FLOAT, num_split=2),
    node("t", "double", "s:output:1", "^n"),
    node("n", "NoOp", "^a"),
]
SECOND = function(
    "second",
    {"axis": INT, "a": FLOAT},
    {"b": FLOAT, "c": FLOAT},
    INSIDE,
    {"b": "t:b:0", "c": "a"},
    control_returns={"r": "n"},
)


@pytest.fixture
def library():
    return FunctionLibrary([DOUBLE, OUTER, SECOND])


def test_an_opened_function_has_arguments_and_results_as_nodes(library):
    nodes = {one.name: one for one in library.opened(SECOND)}
    assert [(one.op, one.inputs) for one in nodes.values()] == [
        (ARGUMENT, ()),
        (ARGUMENT, ()),
        ("Split", ("axis", "a")),
        ("double", ("s:1", "^n")),
        ("NoOp", ("^a",)),
        (RESULT, ("t",)),
        (RESULT, ("a",)),
        (RESULT, ("^n",)),
    ]
    assert argument_type(nodes["axis"]) == INT


def test_it_is_closed_to_what_it_was(library):
    closed = library.rewritten(SECOND, library.opened(SECOND))
    assert closed.returns == SECOND.returns
    assert closed.control_returns == {"n": "n"}
    assert [one.inputs for one in closed.nodes] == [("axis", "a"), ("s:output:1", "^n"), ()]
    assert library.rewritten(OUTER, library.opened(OUTER)) == OUTER


def test_nodes_become_a_function_of_a_free_name_in_the_order_of_numbers(library):
    nodes = [
        result("r1", ["X/y"], FLOAT, 1),
        argument("X/y", FLOAT, 1),
        argument("x_y", INT, 0),
        node("n", "Neg", "X/y", "^X/y", T=FLOAT),
        result("r0", ["n", "^k"], FLOAT, 0),
        node("k", "NoOp", "^n"),
    ]
    assert [library.add(name, nodes) for name in ("a/b", "double")] == [
        FunctionReference("a_b"), FunctionReference("double_1")
    ]  # fmt: skip
    made = library.functions["a_b"]
    assert made.inputs == (Argument("x_y_1", INT), Argument("x_y_2", FLOAT))
    assert [(one.name, one.inputs) for one in made.nodes] == [("n", ("x_y_2",)), ("k", ("^n",))]
    assert made.returns == {"output_0": "n:y:0", "output_1": "x_y_2"}
    assert made.control_returns == {"k": "k"}


def test_types_are_those_of_nodes_and_functions(library):
    nodes = {one.name: one for one in library.opened(SECOND)}
    nodes["w"] = Node("w", "Wild")
    assert [library.type_of(text, nodes) for text in ("axis", "s:1", "t")] == [INT, FLOAT, FLOAT]
    assert not library.type_of("w", nodes).number


def test_a_function_of_several_tensors_is_not_opened(library):
    with pytest.raises(UnsupportedError, match=r"function 'many' .*'xs' is several tensors"):
        library.opened(Function("many", (Argument("xs", FLOAT, number_attribute="N"),)))
