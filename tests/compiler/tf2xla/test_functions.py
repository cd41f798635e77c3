"""Calls, branches and loops: what functions are given, and what is known inside them."""

import numpy as np
import pytest
from graph_nodes import BOOL, DOUBLE, FLOAT, INT, OUTER, TRUE, X, const, function, node, placeholder, run, types

import compiler
from compiler.graph import Argument, AttributeList, Function, FunctionReference, Graph, PlaceholderName
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32
from compiler.tf2xla import lower, lower_function, must_be_known


def test_calls_are_written_where_they_stand():
    graph = Graph([placeholder("x"), node("y", "outer", "x"), node("z", "Neg", "y:1", T=FLOAT)], [DOUBLE, OUTER])
    first, second = run(lower(graph, {"x": X}, ["y", "z"]))
    np.testing.assert_array_equal(first, 4 * X)
    np.testing.assert_array_equal(second, -X)
    lowered = lower_function(graph, "outer", [ArrayShape(F32, (2, 3))])
    assert (lowered.inputs, lowered.outputs) == (("a",), ("b", "c"))
    np.testing.assert_array_equal(compiler.interpret(lowered.module, X)[0], 4 * X)


def test_functions_take_types_and_lists_of_their_callers():
    body = [
        node("s", "AddN", "xs", T=PlaceholderName("T"), N=PlaceholderName("N")),
        node("p", "Split", "axis:output:0", "s:sum:0", T=PlaceholderName("T"), num_split=2),
        const("axis", 0),
    ]
    several = Function(
        "several",
        (Argument("xs", type_attribute="T", number_attribute="N"),),
        (Argument("halves", type_attribute="T", number_attribute="N"),),
        body,
        {"halves": "p:output"},
    )
    graph = Graph([placeholder("x"), node("y", "several", "x", "x", T=FLOAT, N=2)], [several])
    first, second = run(lower(graph, {"x": X}, ["y:0", "y:1"]))
    np.testing.assert_array_equal(np.concatenate([first, second]), 2 * X)


def test_constants_reach_into_functions():
    fill = function(
        "fill",
        {"n": INT},
        {"z": FLOAT},
        [const("v", 1, np.float32), node("f", "Fill", "n", "v:output:0", T=FLOAT)],
        {"z": "f:output:0"},
    )
    graph = Graph([const("n", [2, 2]), node("y", "fill", "n")], [fill])
    assert run(lower(graph, {}, ["y"]))[0].shape == (2, 2)
    assert must_be_known(Graph([placeholder("n", INT), node("y", "fill", "n")], [fill]), ["y"]) == {"n"}
    assert lower_function(graph, "fill", [np.array([3], np.int32)]).inputs == ()


SAME = function(
    "same", {"a": FLOAT, "k": INT}, {"b": FLOAT}, [node("i", "Identity", "a", T=FLOAT)], {"b": "i:output:0"}
)
TWICE = function("twice", {"a": FLOAT, "k": INT}, {"b": FLOAT}, [node("t", "AddV2", "a", "a", T=FLOAT)], {"b": "t:z:0"})
FLAT = function(
    "flat",
    {"a": FLOAT, "k": INT},
    {"b": FLOAT},
    [node("r", "Reshape", "a", "k", T=FLOAT), node("s", "Neg", "r:output:0", T=FLOAT)],
    {"b": "s:y:0"},
)
BRANCHES = {"Tin": types(FLOAT, INT), "Tout": types(FLOAT)}


def branching(op, *functions, kind=BOOL, sizes=(2, 3)):
    """A branch of TensorFlow's, or XLA's."""
    condition = node("c", "Placeholder", dtype=kind)
    if op.endswith("If"):
        chosen = {"then_branch": functions[0], "else_branch": functions[1], "Tcond": kind}
    else:
        chosen = {"branches": AttributeList("func", functions)}
    nodes = [condition, placeholder("x"), const("k", sizes), node("y", op, "c", "x", "k", **chosen, **BRANCHES)]
    return Graph(nodes, [SAME, TWICE, FLAT])


SAME_, TWICE_, FLAT_ = (FunctionReference(one.name) for one in (SAME, TWICE, FLAT))


@pytest.mark.parametrize("op", ["If", "StatelessIf", "XlaIf"])
@pytest.mark.parametrize(
    ("kind", "true", "false"), [(BOOL, True, False), (FLOAT, 0.5, 0), (INT, 2, 0)], ids=["bool", "float", "int"]
)
def test_branches_are_chosen_by_a_condition(op, kind, true, false):
    graph = branching(op, TWICE_, FLAT_, kind=kind)
    for value, right in ((true, 2 * X), (false, -X)):
        condition = np.array(value, kind.element_type.dtype)
        lowered = lower(graph, {"c": condition, "x": X}, ["y"])
        assert any(one.opcode == "conditional" for one in lowered.module.entry.instructions)
        np.testing.assert_array_equal(run(lowered)[0], right)
        known = Graph(
            [tf for tf in graph.nodes if tf.name != "c"] + [const("c", value, kind.element_type.dtype)], graph.functions
        )
        lowered = lower(known, {"x": X}, ["y"])
        assert not any(one.opcode == "conditional" for one in lowered.module.entry.instructions)
        np.testing.assert_array_equal(run(lowered)[0], right)


@pytest.mark.parametrize("op", ["Case", "StatelessCase"])
def test_a_case_out_of_range_is_the_last(op):
    graph = branching(op, SAME_, TWICE_, FLAT_, kind=INT)
    for index, right in ((0, X), (1, 2 * X), (2, -X), (3, -X), (-1, -X)):
        np.testing.assert_array_equal(run(lower(graph, {"c": np.int32(index), "x": X}, ["y"]))[0], right)


def test_branches_of_different_sizes_are_refused():
    said = "its branches 'same' and 'flat' give different types or sizes: which one runs must be a constant"
    with pytest.raises(compiler.UnsupportedError, match=said):
        lower(branching("If", SAME_, FLAT_, sizes=(6,)), {"c": TRUE, "x": X}, ["y"])


def looping(body_nodes, returns, stays="i:output:0", op="While"):
    state = {"n": INT, "a": FLOAT, "k": INT}
    test = function(
        "test",
        state,
        {"go": BOOL},
        [const("three", 3), node("l", "Less", "n", "three:output:0", T=INT)],
        {"go": "l:z:0"},
    )
    body = function("body", state, {"n1": INT, "a1": FLOAT, "k1": INT}, body_nodes, {**returns, "k1": stays})
    loop = {"cond": FunctionReference("test"), "body": FunctionReference("body"), "T": types(INT, FLOAT, INT)}
    nodes = [placeholder("n", INT), placeholder("x"), const("k", [2, 3]), node("y", op, "n", "x", "k", **loop)]
    return Graph(nodes, [test, body])


STEP = [
    const("one", 1),
    node("m", "AddV2", "n", "one:output:0", T=INT),
    node("r", "Reshape", "a", "k", T=FLOAT, Tshape=INT),
    node("d", "AddV2", "r:output:0", "r:output:0", T=FLOAT),
    node("i", "Identity", "k", T=INT),
]


@pytest.mark.parametrize("start", [0, 1, 3, 9])
@pytest.mark.parametrize("op", ["While", "XlaWhile"])
def test_loops_go_on_as_long_as_their_condition_holds(start, op):
    graph = looping(STEP, {"n1": "m:z:0", "a1": "d:z:0"}, op=op)
    number, value, kept = run(lower(graph, {"n": np.int32(start), "x": X}, ["y:0", "y:1", "y:2"]))
    times = max(0, 3 - start)
    assert number == max(start, 3)
    np.testing.assert_array_equal(value, X * 2**times)
    np.testing.assert_array_equal(kept, [2, 3])


def test_a_loop_whose_state_changes_its_sizes_is_refused():
    grow = [*STEP[:2], node("d", "ConcatV2", "a", "a", "axis:output:0", N=2, T=FLOAT), const("axis", 0), STEP[4]]
    with pytest.raises(compiler.InputError, match=r"its body makes f32\[4,3\] of input 1, which is f32\[2,3\]"):
        lower(looping(grow, {"n1": "m:z:0", "a1": "d:output:0"}), {"n": np.int32(0), "x": X}, ["y"])


def test_a_size_that_a_loop_changes_is_not_known_in_it():
    changed = [*STEP, node("j", "AddV2", "k", "k", T=INT)]
    with pytest.raises(compiler.InputError, match=r"node 'r' \(Reshape\): input 1, 'shape', must be a compile-time"):
        lower(looping(changed, {"n1": "m:z:0", "a1": "d:z:0"}, stays="j:z:0"), {"n": np.int32(0), "x": X}, ["y"])


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
def test_control_flow_runs_compiled(backend):
    options = compiler.CompileOptions(device="sim") if backend == "nvptx" else compiler.CompileOptions()
    graph = looping(STEP, {"n1": "m:z:0", "a1": "d:z:0"})
    for chosen, feeds, fetch in (
        (graph, {"n": np.int32(1), "x": X}, "y:1"),
        (branching("If", TWICE_, FLAT_), {"c": TRUE, "x": X}, "y"),
    ):
        lowered = lower(chosen, feeds, [fetch])
        (result,) = compiler.compile(lowered.module, backend, options)(
            *(lowered.values[name] for name in lowered.inputs)
        )
        np.testing.assert_array_equal(result, run(lowered)[0])
