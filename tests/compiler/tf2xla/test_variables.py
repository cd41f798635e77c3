"""Variables: what a program reads and writes, in order, in branches and loops."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, INT, TRUE, X, const, function, node, placeholder, types

import compiler
from compiler.graph import BY_NAME, FunctionReference, Graph, PartialShape
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32
from compiler.tf2xla import Resource, lower, lower_function
from compiler.tf2xla.variables import UninitializedError

RESOURCE = BY_NAME["resource"]
SHAPE = PartialShape((2, 3))


def handle(name="v", shape=SHAPE):
    return node(name, "VarHandleOp", dtype=FLOAT, shape=shape, shared_name=name.encode())


def run(lowered, **held):
    """Results, and what variables hold afterwards."""
    compiler.verify(lowered.module)
    given = [*(lowered.values[name] for name in lowered.inputs), *(held[name] for name in lowered.reads)]
    results = compiler.interpret(lowered.module, *given)
    count = len(lowered.outputs)
    return results[:count], dict(zip(lowered.writes, results[count:], strict=True))


ORDERED = [
    handle(),
    placeholder("x"),
    node("before", "ReadVariableOp", "v", dtype=FLOAT),
    node("add", "AssignAddVariableOp", "v", "x", "^before", dtype=FLOAT),
    node("after", "ReadVariableOp", "v", "^add", dtype=FLOAT),
    node("set", "AssignVariableOp", "v", "x", "^after", dtype=FLOAT),
]


def test_control_edges_order_reads_and_writes():
    lowered = lower(Graph(ORDERED), {"x": X}, ["after", "before", "^set"])
    assert (lowered.reads, lowered.writes) == (("v",), ("v",))
    (after, before), held = run(lowered, v=10 * X)
    np.testing.assert_array_equal(before, 10 * X)
    np.testing.assert_array_equal(after, 11 * X)
    np.testing.assert_array_equal(held["v"], X)


def test_a_variable_that_is_written_first_is_not_read():
    nodes = [handle(), placeholder("x"), node("set", "AssignVariableOp", "v", "x", dtype=FLOAT)]
    nodes.append(node("read", "ReadVariableOp", "v", "^set", dtype=FLOAT))
    lowered = lower(Graph(nodes), {"x": X}, ["read"], variables={})
    assert lowered.reads == ()
    np.testing.assert_array_equal(run(lowered)[0][0], X)


def test_a_variable_without_a_value_cannot_be_read():
    asked = node("is", "VarIsInitializedOp", "v")
    graph = Graph([*ORDERED, asked])
    with pytest.raises(UninitializedError, match="variable 'v' is read, and is not initialised"):
        lower(graph, {"x": X}, ["after"], variables={})
    assert not run(lower(graph, {"x": X}, ["is"], variables={}))[0][0]
    assert run(lower(graph, {"x": X}, ["is"]))[0][0]


def test_sizes_of_a_variable_stay():
    nodes = [handle(), placeholder("x"), node("set", "AssignVariableOp", "v", "x", dtype=FLOAT)]
    with pytest.raises(compiler.InputError, match="Shape of resource v cannot be changed after initialization"):
        lower(Graph(nodes), {"x": X[0]}, ["^set"], variables={"v": ArrayShape(F32, (2, 3))})
    lowered = lower(Graph(nodes), {"x": X[0]}, ["^set"], variables={})
    np.testing.assert_array_equal(run(lowered)[1]["v"], X[0])


def test_references_stand_for_values_when_they_are_used():
    nodes = [
        node("v", "VariableV2", dtype=FLOAT, shape=SHAPE),
        placeholder("x"),
        node("add", "AssignAdd", "v", "x", T=FLOAT),
        node("twice", "AddV2", "add", "add", T=FLOAT),
        node("descend", "ApplyGradientDescent", "v", "rate", "x", "^twice", T=FLOAT),
        const("rate", 3, np.float32),
    ]
    (twice, last), held = run(lower(Graph(nodes), {"x": X}, ["twice", "descend"]), v=X)
    np.testing.assert_array_equal(twice, 4 * X)
    np.testing.assert_array_equal(last, -X)
    np.testing.assert_array_equal(held["v"], -X)


GROW = function(
    "grow",
    {"h": RESOURCE, "x": FLOAT},
    {"y": FLOAT},
    [
        node("add", "AssignAddVariableOp", "h", "x", dtype=FLOAT),
        node("read", "ReadVariableOp", "h", "^add", dtype=FLOAT),
    ],
    {"y": "read:value:0"},
    control_returns={"add": "add"},
)
STAY = function(
    "stay", {"h": RESOURCE, "x": FLOAT}, {"y": FLOAT}, [node("i", "Identity", "x", T=FLOAT)], {"y": "i:output:0"}
)


@pytest.mark.parametrize("is_true", [True, False])
def test_branches_change_variables(is_true):
    chosen = {"then_branch": FunctionReference("grow"), "else_branch": FunctionReference("stay")}
    nodes = [
        handle(),
        placeholder("x"),
        node("c", "Placeholder", dtype=BOOL),
        node("y", "If", "c", "v", "x", Tcond=BOOL, Tin=types(RESOURCE, FLOAT), Tout=types(FLOAT), **chosen),
        node("after", "ReadVariableOp", "v", "^y", dtype=FLOAT),
    ]
    (y, after), held = run(lower(Graph(nodes, [GROW, STAY]), {"x": X, "c": np.array(is_true)}, ["y", "after"]), v=2 * X)
    right = 3 * X if is_true else 2 * X
    np.testing.assert_array_equal(after, right)
    np.testing.assert_array_equal(held["v"], right)
    np.testing.assert_array_equal(y, right if is_true else X)


def test_loops_change_variables():
    state = {"n": INT, "h": RESOURCE, "x": FLOAT}
    test = function(
        "test", state, {"go": BOOL}, [node("l", "Less", "n", "f:output:0", T=INT), const("f", 4)], {"go": "l:z:0"}
    )
    body = function(
        "body",
        state,
        {"n1": INT, "h1": RESOURCE, "x1": FLOAT},
        [const("one", 1), node("m", "AddV2", "n", "one:output:0", T=INT), node("g", "grow", "h", "x")],
        {"n1": "m:z:0", "h1": "h", "x1": "x"},
        control_returns={"g": "g"},
    )
    loop = {"cond": FunctionReference("test"), "body": FunctionReference("body"), "T": types(INT, RESOURCE, FLOAT)}
    nodes = [const("n", 0), handle(), placeholder("x"), node("y", "While", "n", "v", "x", **loop)]
    nodes.append(node("after", "ReadVariableOp", "v", "^y", dtype=FLOAT))
    (after,), held = run(lower(Graph(nodes, [test, body, GROW]), {"x": X}, ["after"]), v=X)
    np.testing.assert_array_equal(after, 5 * X)
    np.testing.assert_array_equal(held["v"], 5 * X)


def test_functions_are_given_variables():
    lowered = lower_function(Graph([], [GROW]), "grow", [Resource("w", ArrayShape(F32, (2, 3))), X])
    assert (lowered.inputs, lowered.reads, lowered.writes) == (("x",), ("w",), ("w",))
    (y,), held = run(lowered, w=X)
    np.testing.assert_array_equal(y, 2 * X)
    np.testing.assert_array_equal(held["w"], 2 * X)


SIDES = [
    placeholder("x"),
    node("p", "Placeholder", dtype=BOOL),
    node("s", "Switch", "x", "p", T=FLOAT),
    node("f", "Neg", "s", T=FLOAT),
    node("m", "Merge", "f", "s:1", T=FLOAT, N=2),
    handle(),
    node("a", "AssignVariableOp", "v", "f", dtype=FLOAT),
    node("o", "AddV2", "f", "s:1", T=FLOAT),
]
SIDE_ERRORS = {
    "f": "output 'f' is not supported .*it is there on one side of a Switch only",
    "o": "node 'o' .*needs both sides of a Switch",
}


@pytest.mark.parametrize("fetch", SIDE_ERRORS)
def test_what_is_on_one_side_stays_there(fetch):
    feeds = {"x": X, "p": TRUE}
    np.testing.assert_array_equal(run(lower(Graph(SIDES), feeds, ["m"]))[0][0], X)
    with pytest.raises(compiler.CompilerError, match=SIDE_ERRORS[fetch]):
        lower(Graph(SIDES), feeds, [fetch])


@pytest.mark.parametrize(("p", "sign"), [(True, 1), (False, -1)])
def test_a_variable_is_written_on_the_side_that_is_taken(p, sign):
    lowered = lower(Graph(SIDES), {"x": X, "p": np.bool_(p)}, ["^a"])
    assert (lowered.reads, lowered.writes) == (("v",), ("v",))
    np.testing.assert_array_equal(run(lowered, v=X)[1]["v"], sign * X)
    with pytest.raises(compiler.UnsupportedError, match=r"variable 'v' .*a branch or loop gives it its first value"):
        lower(Graph(SIDES), {"x": X, "p": np.bool_(p)}, ["^a"], variables={})


def test_generators_go_on():
    draw = node("r", "RandomUniform", "n", seed=1, seed2=2, dtype=FLOAT, T=INT)
    lowered = lower(Graph([const("n", [3]), draw]), {}, ["r"], variables={})
    assert lowered.reads == lowered.writes == ("r/generator",)
    (first,), held = run(lowered, **lowered.initial)
    (second,), _ = run(lowered, **held)
    assert not (first == second).any()
    np.testing.assert_array_equal(run(lowered, **lowered.initial)[0][0], first)
