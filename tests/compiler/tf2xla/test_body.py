"""Nodes become instructions in the order in which they need each other, and only those that something needs."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, INT, const, function, node, placeholder

import compiler
from compiler.diagnostics import InputError, UnsupportedError
from compiler.expansion.expression import Expression
from compiler.graph import Graph, PlaceholderName
from compiler.tf2xla.body import Body, without_unused
from compiler.tf2xla.lowering import Lowering

MODULE = "ENTRY e { x = f32[2] parameter(0)  p = pred[] parameter(1)  ROOT t = (f32[2], pred[]) tuple(x, p) }"
DOUBLE = function("double", {"a": FLOAT}, {"b": FLOAT}, [node("t", "AddV2", "a", "a", T=FLOAT)], {"b": "t:z:0"})
TWO = function(
    "two", {"a": FLOAT}, {"b": FLOAT, "c": FLOAT}, [node("n", "Neg", "a", T=FLOAT)], {"b": "n:y:0", "c": "a"}
)


@pytest.fixture
def module():
    return compiler.parse(MODULE)


@pytest.fixture
def ran(module):
    """A body of nodes on the program's parameters, after its outputs have been asked for."""

    def run(wanted, *nodes, **more):
        given = {"x": [Expression(module.entry.parameters[0])], "p": [Expression(module.entry.parameters[1])]}
        lowering = Lowering(Graph([], [DOUBLE, TWO]), module)
        body = Body(lowering, [placeholder("x"), placeholder("p", BOOL), *nodes], module.entry, given, **more)
        body.run(wanted)
        return body

    return run


def opcodes(module):
    return [i.opcode for i in module.entry.instructions if i.opcode not in ("parameter", "tuple", "constant")]


def test_what_nobody_needs_is_not_looked_at(ran, module):
    ran(["n"], node("wild", "Wild", "x"), node("n", "Neg", "x", T=FLOAT), node("e", "Exp", "x", T=FLOAT))
    assert opcodes(module) == ["negate"]


def test_a_node_is_lowered_once_after_what_it_takes_however_they_are_listed(ran, module):
    ran(["z", "n"], node("z", "Mul", "n", "n", T=FLOAT), node("n", "Neg", "x", T=FLOAT))
    assert opcodes(module) == ["negate", "multiply"]


def test_instructions_say_which_node_they_are_of(ran, module):
    ran(["n"], node("n", "Neg", "x", T=FLOAT))
    assert module.entry.instructions[-1].attributes["metadata"] == (("op_type", "Neg"), ("op_name", "n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nobody", "no node gives 'nobody'"),
        ("neg", "no node gives 'neg'; did you mean Neg"),
        ("Neg:1", "node 'Neg' has 1 outputs, counted from 0"),
        ("^nobody", "no node is named 'nobody'"),
        ("a:b:c:d", "no node gives 'a:b:c:d'"),
    ],
)
def test_an_output_that_is_not_there_is_refused_by_name(ran, text, said):
    with pytest.raises(InputError, match=said):
        ran([text], node("Neg", "Neg", "x", T=FLOAT)).at(text)


def test_an_op_that_nobody_knows_is_refused_and_a_function_of_the_library_is_called(ran, module):
    with pytest.raises(UnsupportedError, match=r"op Negg \(node 'n'\).*did you mean Neg"):
        ran(["n"], node("n", "Negg", "x"))
    body = ran(["c"], node("c", "two", "x"))
    assert [len(body.at(name)) for name in ("c", "c:1")] == [1, 1]
    assert body.at("c:1")[0].instruction is module.entry.parameters[0]


def test_in_a_function_outputs_go_by_name_and_attributes_by_its_callers(ran):
    nodes = [node("n", "Neg", "x", T=PlaceholderName("T")), node("c", "two", "n:y:0")]
    body = ran(["c:c:0"], *nodes, attributes={"T": FLOAT})
    assert body.at("c:c:0") == body.at("n:y")
    with pytest.raises(InputError, match="Neg has no output 'z'"):
        body.at("n:z:0")


def test_a_side_of_a_branch_whose_merge_is_not_there_is_refused(ran):
    switch = [node("s", "Switch", "x", "p", T=FLOAT), node("yes", "Exp", "s:1", T=FLOAT)]
    with pytest.raises(UnsupportedError, match=r"op Switch \(node 's'\).*whose Merge is not in the graph"):
        ran(["yes"], *switch)


def test_a_check_that_gives_nothing_brings_nothing(ran, module):
    ran(["n"], node("a", "Assert", "p", "w", T=compiler.graph.AttributeList("type", [FLOAT])), node("w", "Wild"),
        node("n", "Neg", "x", "^a", T=FLOAT))  # fmt: skip
    assert opcodes(module) == ["negate"]


def test_what_was_computed_on_the_way_is_dropped_but_no_parameter(ran, module):
    body = ran(["r"], const("size", [1, 2]), node("r", "Reshape", "x", "size", T=FLOAT, Tshape=INT))
    module.entry.root = body.at("r")[0].instruction
    without_unused(module.entry)
    assert [i.opcode for i in module.entry.instructions] == ["parameter", "parameter", "reshape"]
    (result,) = compiler.interpret(module, np.arange(2, dtype=np.float32), np.ones((), bool))
    assert result.shape == (1, 2)
