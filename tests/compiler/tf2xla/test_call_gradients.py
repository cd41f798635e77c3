"""Gradients of whole graphs: how they add up, and go through calls, branches and loops."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, INT, X, const, function, node, types

import compiler
from compiler.graph import BY_NAME, FunctionReference
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F64, PRED
from compiler.tf2xla import lower
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.differentiation import gradients
from compiler.tf2xla.errors import NoGradientError
from compiler.tf2xla.terms import IndexedSlices

DOUBLE = BY_NAME["float64"]


def started(*functions):
    builder = Builder()
    builder.graph.functions = list(functions)
    return builder, builder.add("Placeholder", name="x", dtype="float64", shape=[2, 3]).output


def values(builder, fetches, **feeds):
    lowered = lower(
        builder.graph, {name: np.asarray(value) for name, value in feeds.items()}, [f.name for f in fetches]
    )
    compiler.verify(lowered.module)
    return compiler.interpret(lowered.module, *(lowered.values[name] for name in lowered.inputs))


def agrees(builder, y, x, at, **feeds):
    """Whether the gradient of the sum of y is that of differences."""
    [gradient] = gradients(builder, [y], [x])
    found = values(builder, [gradient], x=at, **feeds)[0]
    step = np.random.default_rng(0).normal(size=at.shape)
    ends = [values(builder, [y], x=at + sign * 1e-6 * step, **feeds)[0].sum() for sign in (1, -1)]
    return (found * step).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


def test_gradients_add_up():
    builder, x = started()
    y = x.op("Square") + x.op("Exp") + x
    assert agrees(builder, y, x, X.astype(float) / 8)
    assert [one.node.name for one in builder.built.values() if one.node.op == "AddN"] == ["gradients/AddN"]


def test_what_nothing_leads_to_has_no_gradient():
    builder, x = started()
    other = builder.add("Placeholder", name="i", dtype="int32", shape=[2]).output
    y = x.op("StopGradient") * x
    assert gradients(builder, [y], [other]) == [None]
    held = x.op("Identity")
    [stopped] = gradients(builder, [held * x], [x], stop_gradients=[held])
    assert values(builder, [stopped], x=AT)[0].tolist() == AT.tolist()
    inner = x.op("Square")
    assert gradients(builder, [inner.op("Neg")], [x], stop_gradients=[inner]) == [None]


def test_an_op_without_a_gradient_is_named():
    builder, x = started()
    y = builder.add("TruncateMod", x, x, name="here").output.op("TruncateMod", x)
    said = r"No gradient defined for operation 'TruncateMod' \(op type: TruncateMod\)"
    with pytest.raises(NoGradientError, match=said):
        gradients(builder, [y], [x])
    with pytest.raises(compiler.InputError, match="only floats have gradients"):
        gradients(builder, [x.op("Shape")], [x])


def test_a_formula_that_needs_a_rank_says_so():
    builder = Builder()
    x = builder.add("Placeholder", name="x", dtype="float32").output
    with pytest.raises(
        compiler.UnsupportedError, match=r"the gradient of 'Prod' \(Prod\) .*number of dimensions of x:0"
    ):
        gradients(builder, [x.op("Prod", [0])], [x])


def test_rows_of_a_variable_have_gradients_of_rows():
    builder = Builder()
    v = builder.add("VarHandleOp", dtype="float64", shape=[4, 2], shared_name="v").output
    rows = v.op("ResourceGather", np.array([3, 1, 3]), dtype="float64")
    [found] = gradients(builder, [rows * 2.0], [v])
    assert isinstance(found, IndexedSlices)
    lowered = lower(builder.graph, {}, [found.dense().name])
    given = {"v": np.zeros((4, 2))}
    (dense,) = compiler.interpret(lowered.module, *(given[name] for name in lowered.reads))
    assert dense.tolist() == [[0, 0], [2, 2], [0, 0], [4, 4]]


def test_what_is_to_be_compiled_passes_to_gradients():
    builder, x = started()
    with builder.within(attributes={"_XlaCompile": True, "_XlaScope": b"s"}):
        y = x.op("Square")
    [gradient] = gradients(builder, [y], [x])
    assert gradient.built.node.attributes["_XlaScope"] == b"s"


MULTIPLY = function(
    "multiply",
    {"a": DOUBLE, "b": DOUBLE},
    {"c": DOUBLE},
    [node("m", "Mul", "a", "b", T=DOUBLE), node("s", "Sin", "m:z:0", T=DOUBLE)],
    {"c": "s:y:0"},
)
FIRST = function("first", {"a": DOUBLE, "b": DOUBLE}, {"c": DOUBLE}, [node("e", "Exp", "a", T=DOUBLE)], {"c": "e:y:0"})
AT = X.astype(float) / 4


def test_calls_are_differentiated():
    builder, x = started(MULTIPLY)
    direct = builder.add("multiply", x, x).output
    called = builder.add("PartitionedCall", [direct, x], Tout=types(DOUBLE), f=FunctionReference("multiply")).output
    assert agrees(builder, called, x, AT)


@pytest.mark.parametrize("is_true", [True, False])
def test_sides_of_a_switch_are_differentiated(is_true):
    builder, x = started()
    predicate = builder.add("Placeholder", name="p", dtype="bool", shape=[]).output
    false, true = builder.add("Switch", x.op("Exp"), predicate).outputs
    y = builder.add("Merge", [false.op("Square"), true.op("Sin")]).output
    assert agrees(builder, y, x, AT, p=np.array(is_true))


@pytest.mark.parametrize("op", ["If", "Case"])
@pytest.mark.parametrize("chosen", [0, 1])
def test_branches_are_differentiated(op, chosen):
    builder, x = started(MULTIPLY, FIRST)
    kind = "bool" if op == "If" else "int32"
    selector = builder.add("Placeholder", name="c", dtype=kind, shape=[]).output
    branches = (
        {"then_branch": "multiply", "else_branch": "first"} if op == "If" else {"branches": ["multiply", "first"]}
    )
    y = builder.add(op, selector, [x, x.op("Square")], Tout=types(DOUBLE), **branches).output
    assert agrees(builder, y, x, AT, c=np.array(chosen, kind))


TEST = function(
    "test",
    {"n": INT, "x": DOUBLE, "w": DOUBLE, "m": INT},
    {"go": BOOL},
    [node("l", "Less", "n", "m", T=INT)],
    {"go": "l:z:0"},
)
ITERATION = function(
    "iteration",
    {"n": INT, "x": DOUBLE, "w": DOUBLE, "m": INT},
    {"n1": INT, "x1": DOUBLE, "w1": DOUBLE, "m1": INT},
    [
        const("two", 2),
        node("a", "AddV2", "n", "two:output:0", T=INT),
        node("p", "Mul", "x", "w", T=DOUBLE),
        node("t", "Sin", "p:z:0", T=DOUBLE),
    ],
    {"n1": "a:z:0", "x1": "t:y:0", "w1": "w", "m1": "m"},
)


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_loops_are_differentiated(limit):
    builder, x = started(TEST, ITERATION)
    state = [builder.constant(0), x.op("Exp"), x, builder.constant(limit)]
    loop = builder.add("While", state, cond="test", body="iteration")
    y = loop.outputs[1] * loop.outputs[2]
    assert agrees(builder, y, x, AT)
    assert len(loop.outputs) == 6, "the loop keeps the counter and x"
    again = gradients(builder, [y.op("Neg")], [x])[0]
    assert len(loop.outputs) == 6
    assert np.isfinite(values(builder, [again], x=AT)[0]).all()


def test_a_loop_that_nothing_bounds_has_a_gradient_that_only_a_host_can_run():
    test = function(
        "test",
        {"x": DOUBLE},
        {"go": BOOL},
        [node("l", "Less", "x", "c:output:0", T=DOUBLE), const("c", 9, float)],
        {"go": "l:z:0"},
    )
    iteration = function(
        "iteration", {"x": DOUBLE}, {"y": DOUBLE}, [node("a", "AddV2", "x", "x", T=DOUBLE)], {"y": "a:z:0"}
    )
    builder = Builder()
    builder.graph.functions = [test, iteration]
    x = builder.add("Placeholder", name="x", dtype="float64", shape=[]).output
    loop = builder.add("While", [x], cond="test", body="iteration")
    [gradient] = gradients(builder, [loop.output], [x])
    with pytest.raises(compiler.UnsupportedError, match="nothing says how often it runs at most"):
        lower(builder.graph, {"x": ArrayShape(F64, ())}, [gradient.name])


NOISY = function(
    "noisy",
    {"a": FLOAT},
    {"b": FLOAT},
    [
        const("s", [2, 3]),
        node("r", "RandomUniform", "s:output:0", dtype=FLOAT, T=INT, seed=1, seed2=2),
        node("m", "Mul", "a", "r:output:0", T=FLOAT),
    ],
    {"b": "m:z:0"},
)
OUTER = function(
    "outer",
    {"a": FLOAT},
    {"b": FLOAT},
    [
        node("c", "PartitionedCall", "a", f=FunctionReference("noisy"), Tin=types(FLOAT), Tout=types(FLOAT)),
        node("m", "Mul", "a", "c:output:0", T=FLOAT),
    ],
    {"b": "m:z:0"},
)
PLAIN = function("plain", {"a": FLOAT}, {"b": FLOAT}, [node("n", "Neg", "a", T=FLOAT)], {"b": "n:y:0"})


def drawing(*functions):
    builder = Builder()
    builder.graph.functions = list(functions)
    return builder, builder.add("Placeholder", name="x", dtype="float32", shape=[2, 3]).output


def ran(builder, fetches):
    """What is fetched of one run on X."""
    lowered = lower(builder.graph, {"x": X}, [one.name for one in fetches])
    held = [lowered.initial[name] for name in lowered.reads]
    return compiler.interpret(lowered.module, *(lowered.values[name] for name in lowered.inputs), *held)


@pytest.mark.parametrize(("name", "power"), [("noisy", 1), ("outer", 2)])
def test_gradients_take_the_random_numbers_that_calls_have_drawn(name, power):
    builder, x = drawing(NOISY, OUTER)
    call = builder.add("StatefulPartitionedCall", [x], f=FunctionReference(name), Tout=types(FLOAT))
    for _ in range(2):
        [gradient] = gradients(builder, [call.outputs[0]], [x])
        result, found = ran(builder, [call.outputs[0], gradient])[:2]
        np.testing.assert_allclose(found, power * result / X, rtol=1e-5)


def test_gradients_take_the_random_numbers_of_the_branch_that_ran():
    builder, x = drawing(NOISY, PLAIN)
    taken = builder.add("Placeholder", name="p", dtype="bool", shape=[]).output
    branches = {"then_branch": FunctionReference("noisy"), "else_branch": FunctionReference("plain")}
    branch = builder.add("If", taken, [x], Tout=types(FLOAT), **branches)
    [gradient] = gradients(builder, [branch.outputs[0]], [x])
    lowered = lower(builder.graph, {"x": X, "p": ArrayShape(PRED, ())}, [branch.outputs[0].name, gradient.name])
    held = [lowered.initial[name] for name in lowered.reads]
    for choice in (True, False):
        result, found = compiler.interpret(lowered.module, X, np.array(choice), *held)[:2]
        np.testing.assert_allclose(found, result / X, rtol=1e-6)


def test_gradients_of_loops_take_the_random_numbers_of_each_iteration():
    state = {"i": INT, "x": FLOAT}
    body = [
        *(const("one", 1), const("s", [2, 3]), node("n", "AddV2", "i", "one:output:0", T=INT)),
        node("r", "RandomUniform", "s:output:0", dtype=FLOAT, T=INT, seed=1, seed2=2),
        node("m", "Mul", "x", "r:output:0", T=FLOAT),
    ]
    step = function("step", state, {"i2": INT, "x2": FLOAT}, body, {"i2": "n:z:0", "x2": "m:z:0"})
    below = [const("three", 3), node("below", "Less", "i", "three:output:0", T=INT)]
    builder, x = drawing(step, function("goes", state, {"t": BOOL}, below, {"t": "below:z:0"}))
    loop = builder.add("While", [builder.constant(0), x], cond="goes", body="step")
    [gradient] = gradients(builder, [loop.outputs[1]], [x])
    result, found = ran(builder, [loop.outputs[1], gradient])[:2]
    np.testing.assert_allclose(found, result / X, rtol=1e-5)


def test_what_would_draw_again_is_refused():
    builder, x = drawing(NOISY)
    with pytest.raises(NoGradientError, match=r"'noisy', which draws random numbers: call it by PartitionedCall"):
        gradients(builder, [builder.add("noisy", x).output], [x])
    step = function("step", {"x": FLOAT}, {"y": FLOAT}, [node("c", "noisy", "x")], {"y": "c:b:0"})
    goes = function("goes", {"x": FLOAT}, {"t": BOOL}, [const("t", value=True, dtype=bool)], {"t": "t:output:0"})
    builder, x = drawing(NOISY, step, goes)
    loop = builder.add("While", [x], cond="goes", body="step")
    with pytest.raises(NoGradientError, match=r"its node 'c' \(noisy\) runs a function that draws random numbers"):
        gradients(builder, [loop.output], [x])
