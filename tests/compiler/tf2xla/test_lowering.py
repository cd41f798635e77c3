"""Graphs and functions to modules: feeds, fetches, control edges, sizes, and what is refused."""

import numpy as np
import pytest
from graph_nodes import BOOL, DOUBLE, FLOAT, INT, STRING, X, const, function, node, placeholder, run, types

import compiler
from compiler.graph import FunctionReference, Graph
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32, S32
from compiler.tf2xla import lower, lower_function, lowering, must_be_known

ADD = [placeholder("x"), placeholder("y"), node("z", "AddV2", "x", "y", T=FLOAT), node("n", "Neg", "z", T=FLOAT)]


def test_feeds_become_parameters_and_fetches_results():
    lowered = lower(Graph(ADD), {"y": ArrayShape(F32, (3,)), "x:0": ArrayShape(F32, (2, 3))}, ["n:0", "z"])
    assert (lowered.inputs, lowered.outputs) == (("y", "x:0"), ("n:0", "z"))
    negative, total = compiler.interpret(lowered.module, X[0], X)
    np.testing.assert_array_equal(total, X + X[0])
    np.testing.assert_array_equal(negative, -total)


def test_any_output_can_be_fed_and_what_is_behind_it_is_not_looked_at():
    lowered = lower(Graph([*ADD, node("w", "Wild"), node("u", "Wild", "w")]), {"z": X}, ["n"])
    (result,) = run(lowered)
    np.testing.assert_array_equal(result, -X)
    assert lower(Graph(ADD), {"z": X}, ["z"]).module.entry.root.operands[0].opcode == "parameter"


def test_instructions_say_which_node_they_are_of():
    text = str(lower(Graph(ADD), {"x": X, "y": X}, ["n"]).module)
    assert 'op_type="AddV2" op_name="z"' in text
    assert compiler.parse(text) == lower(Graph(ADD), {"x": X, "y": X}, ["n"]).module


def test_control_edges_bring_nodes_and_give_nothing():
    ran = Graph([placeholder("x"), node("w", "NoOp", "^s"), node("s", "Wild"), node("n", "Neg", "x", "^w", T=FLOAT)])
    with pytest.raises(compiler.UnsupportedError, match=r"op Wild \(node 's'\) is not supported .*no record has it"):
        lower(ran, {"x": X}, ["n"])
    quiet = Graph([placeholder("x"), node("w", "NoOp", "^x"), node("n", "Neg", "x", "^w", T=FLOAT)])
    assert len(run(lower(quiet, {"x": X}, ["n", "^w"]))) == 1


def test_a_deep_graph_does_not_take_the_stack():
    nodes = [placeholder("x"), *(node(f"n{i}", "Neg", f"n{i - 1}" if i else "x", T=FLOAT) for i in range(5_000))]
    assert len(lower(Graph(nodes), {"x": X}, ["n4999"]).module.entry.instructions) > 5_000


SIZED = [
    placeholder("x"),
    node("s", "Shape", "x", T=FLOAT),
    const("one", [1]),
    node("m", "Mul", "s", "two", T=INT),
    const("two", 2),
    placeholder("value"),
    node("f", "Fill", "m", "value", T=FLOAT, index_type=INT),
]


def test_sizes_follow_from_shapes_and_constants():
    lowered = lower(Graph(SIZED), {"x": ArrayShape(F32, (2, 3)), "value": ArrayShape(F32, ())}, ["f"])
    (result,) = compiler.interpret(lowered.module, X, np.float32(7))
    np.testing.assert_array_equal(result, np.full((4, 6), 7, np.float32))
    assert must_be_known(Graph(SIZED), ["f"]) == {"m", "s", "two"}
    assert not must_be_known(Graph(SIZED), ["m"])


RESHAPE = [placeholder("x"), placeholder("dims", INT), node("same", "Identity", "dims", T=INT)]
RESHAPE += [node("r", "Reshape", "x", "same", T=FLOAT, Tshape=INT)]


def test_a_value_that_must_be_known_is_written_into_the_program():
    lowered = lower(Graph(RESHAPE), {"x": X, "dims": np.array([3, 2], np.int32)}, ["r"])
    assert lowered.inputs == ("x",)
    np.testing.assert_array_equal(run(lowered)[0], X.reshape(3, 2))
    with pytest.raises(compiler.InputError, match=r"feed 'dims': .*must be a compile-time constant: give the value"):
        lower(Graph(RESHAPE), {"x": X, "dims": ArrayShape(S32, (2,))}, ["r"])


def test_a_size_that_depends_on_data_is_refused_with_input_and_node():
    counted = [placeholder("x"), node("c", "Cast", "x", SrcT=FLOAT, DstT=INT), node("zeros", "Fill", "c", "v", T=FLOAT)]
    graph = Graph([*counted, const("v", 0, np.float32)])
    with pytest.raises(compiler.InputError, match=r"'x'.*must be a compile-time constant"):
        lower(graph, {"x": ArrayShape(F32, (2,))}, ["zeros"])
    assert lower(graph, {"x": np.array([2, 3], np.float32)}, ["zeros"]).module.entry.root.operands[0].array.dims == (
        2,
        3,
    )


LIMITED = [placeholder("n", INT), const("low", 4), const("high", 4), const("v", 0, np.float32)]
LIMITED += [node("at_least", "Maximum", "low", "n", T=INT), node("dims", "Minimum", "high", "at_least", T=INT)]
LIMITED += [node("zeros", "Fill", "dims", "v", T=FLOAT, index_type=INT)]


def test_a_value_that_limits_decide_is_known():
    feeds = {"n": ArrayShape(S32, (1,))}
    lowered = lower(Graph(LIMITED), feeds, ["zeros"])
    assert lowered.module.entry.root.operands[0].array.dims == (4,)
    with pytest.raises(compiler.InputError, match=r"feed 'n': .*must be a compile-time constant"):
        lower(Graph([*LIMITED[:2], const("high", 5), *LIMITED[3:]]), feeds, ["zeros"])


def nested(levels, calls=1):
    """Functions that call each other so deep, each the next so often."""
    made = []
    for level in range(levels):
        names = [f"c{i}" for i in range(calls)]
        inner = "Neg" if level + 1 == levels else f"f{level + 1}"
        port = "y" if inner == "Neg" else "b"
        body = [
            node(name, inner, "a" if not at else f"{names[at - 1]}:{port}:0", T=FLOAT) for at, name in enumerate(names)
        ]
        made.append(function(f"f{level}", {"a": FLOAT}, {"b": FLOAT}, body, {"b": f"{names[-1]}:{port}:0"}))
    return Graph([placeholder("x"), node("y", "f0", "x")], made)


SELF = function("f0", {"a": FLOAT}, {"b": FLOAT}, [node("c", "f0", "a")], {"b": "c:b:0"})
REFUSED = [
    (Graph([placeholder("x"), node("y", "f0", "x")], [SELF]), "functions that call themselves: f0 -> f0"),
    (nested(200), "functions stand more than 64 deep in each other"),
    (Graph([placeholder("x"), node("y", "Negg", "x", T=FLOAT)]), "did you mean Neg"),
    (
        Graph([placeholder("x"), node("y", "Identity", "s", T=STRING), node("s", "Const", dtype=STRING)]),
        "attribute 'value' is missing",
    ),
    (Graph([placeholder("q"), node("y", "Neg", "q", T=FLOAT)]), r"node 'q' \(Placeholder\): it is not fed"),
    (Graph([placeholder("x"), node("y", "Neg", T=FLOAT)]), "it takes 'x', which is not given"),
    (Graph([placeholder("x"), node("y", "Neg", "x", "x", T=FLOAT)]), "1 more inputs than it takes"),
    (Graph([placeholder("x"), node("y", "Neg", "x", T=INT)]), "its input 'x' must be int32, and is f32"),
    (Graph([placeholder("x"), node("y", "Neg", "x", T=BOOL)]), "its attribute 'T' is bool, which is none of"),
    (Graph([placeholder("x"), node("y", "Neg", "x")]), "its attribute 'T' is missing"),
    (Graph([placeholder("x"), node("y", "Neg", "x", T=3)]), "'T' must be of the kind type"),
    (Graph([placeholder("x"), node("y", "Neg", "x:1", T=FLOAT)]), "output 1 of 'x', but Placeholder has one output"),
    (
        Graph([placeholder("x"), node("y", "AddV2", "x", "k", T=FLOAT), const("k", [1, 2], np.float32)]),
        "do not go together",
    ),
    (Graph([placeholder("x"), node("y", "MatMul", "x", "x", T=FLOAT)]), "do not go together"),
    (
        Graph([placeholder("x"), node("y", "Sum", "x", "k", T=FLOAT, Tidx=INT), const("k", [2])]),
        "axis 2 is none of an array with 2",
    ),
    (
        Graph(
            [
                placeholder("x"),
                node("y", "PartitionedCall", "x", Tin=types(FLOAT), Tout=types(FLOAT), f=FunctionReference("g")),
            ]
        ),
        "no function 'g'",
    ),
    (Graph([placeholder("x"), node("y", "f0", "x", "x")], nested(1).functions), "takes other inputs than the 2 given"),
]


@pytest.mark.parametrize(("graph", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_is_refused_with_node_and_reason(graph, said):
    with pytest.raises(compiler.CompilerError, match=said):
        lower(graph, {"x": X} if any(one.name == "x" for one in graph.nodes) else {}, ["y"])


def test_what_is_not_there_is_said():
    with pytest.raises(compiler.InputError, match="no node gives 'q'"):
        lower(Graph(ADD), {}, ["q"])
    with pytest.raises(compiler.InputError, match="no node 'q' in the graph"):
        lower(Graph(ADD), {"q": X}, ["z"])
    with pytest.raises(compiler.InputError, match="names no output of a node"):
        lower(Graph(ADD), {"^x": X}, ["z"])
    with pytest.raises(compiler.InputError, match="function 'double' takes 1 inputs, 2 are given: a"):
        lower_function(Graph([], [DOUBLE]), "double", [X, X])
    with pytest.raises(compiler.InputError, match="node 'z' has 1 outputs"):
        lower(Graph(ADD), {"x": X, "y": X}, ["z:1"])


def test_the_deepest_call_is_lowered():
    (result,) = run(lower(nested(lowering.DEEPEST), {"x": X}, ["y"]))
    np.testing.assert_array_equal(result, -X)


def test_functions_that_are_too_many_written_out_are_refused(monkeypatch):
    monkeypatch.setattr(lowering, "MOST_NODES", 1000)
    with pytest.raises(compiler.UnsupportedError, match="its functions, written out, have more than 1,000 nodes"):
        lower(nested(40, 2), {"x": X}, ["y"])


@pytest.mark.parametrize(
    ("op", "port", "said"),
    [("Cumsum", "axis", "its axis must be a scalar"), ("ExpandDims", "dim", "'dim' must be one number, not 2")],
)
def test_one_number_is_taken_where_one_is_meant(op, port, said):
    called = node("n", op, "x", port, T=FLOAT)
    with pytest.raises(compiler.InputError, match=said):
        lower(Graph([placeholder("x"), const(port, [0, 1]), called]), {"x": X}, ["n"])
