"""Gradients of loops: the same iterations backwards, from what each of them began with."""

import numpy as np
import pytest
from graph_gradients import AT, DOUBLE, NOISY, agrees, drawing, ran, started, values
from graph_nodes import BOOL, FLOAT, INT, X, const, function, node, types

import compiler
from compiler.graph import AttributeList, FunctionReference
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F64
from compiler.tf2xla import lower
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.differentiation import gradients
from compiler.tf2xla.errors import NoGradientError

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


def _with_inner(name, *inner):
    """An iteration that takes its x from nodes within, `last:0`."""
    body = [const("zero", 0), const("two", 2), const("four", 4), *inner, node("a", "AddV2", "n", "two:output:0", T=INT)]
    arguments = {"n": INT, "x": DOUBLE, "w": DOUBLE, "m": INT}
    returned = {"n1": "a:z:0", "x1": "last:z:0", "w1": "w", "m1": "m"}
    return function(name, arguments, {f"{one}1": kind for one, kind in arguments.items()}, body, returned)


STATED = {"T": types(INT, DOUBLE, DOUBLE, INT), "output_shapes": AttributeList("shape", ())}
ROUND = ("zero:output:0", "x", "w", "four:output:0")
INNER = _with_inner(
    "inner",
    node("loop", "While", *ROUND, **STATED, cond=FunctionReference("test"), body=FunctionReference("iteration")),
    node("last", "Mul", "loop:output:1", "w", T=DOUBLE),
)
SIDES = {
    "Tcond": BOOL,
    "Tin": types(DOUBLE, DOUBLE),
    "Tout": types(DOUBLE),
    "output_shapes": AttributeList("shape", ()),
}
CHOOSING = _with_inner(
    "choosing",
    node("c", "Less", "n", "four:output:0", T=INT),
    node(
        "if",
        "If",
        "c:z:0",
        "x",
        "w",
        **SIDES,
        then_branch=FunctionReference("sin"),
        else_branch=FunctionReference("product"),
    ),
    node("last", "Mul", "if:output:0", "w", T=DOUBLE),
)
SIN = function("sin", {"x": DOUBLE, "w": DOUBLE}, {"y": DOUBLE}, [node("s", "Sin", "x", T=DOUBLE)], {"y": "s:y:0"})
PRODUCT = function(
    "product", {"x": DOUBLE, "w": DOUBLE}, {"y": DOUBLE}, [node("p", "Mul", "x", "w", T=DOUBLE)], {"y": "p:z:0"}
)


@pytest.mark.parametrize("body", ["inner", "choosing"])
def test_loops_and_branches_in_loops_are_differentiated(body):
    builder, x = started(TEST, ITERATION, INNER, CHOOSING, SIN, PRODUCT)
    state = [builder.constant(0), x.op("Exp"), x, builder.constant(7)]
    loop = builder.add("While", state, cond="test", body=body)
    assert agrees(builder, loop.outputs[1] * loop.outputs[2], x, AT)


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


COUNTERS = {
    "Less": (0, 7, 2, 4),
    "LessEqual": (0, 6, 2, 4),
    "Greater": (7, 0, -2, 4),
    "GreaterEqual": (6, 0, -2, 4),
}


@pytest.mark.parametrize("op", COUNTERS)
def test_how_often_it_iterates_follows_from_the_counter_that_it_asks_for(op):
    first, limit, step, count = COUNTERS[op]
    below = [const("m", limit), node("l", op, "n", "m:output:0", T=INT)]
    test = function("test", {"n": INT, "x": DOUBLE}, {"go": BOOL}, below, {"go": "l:z:0"})
    body = [const("s", step), node("a", "AddV2", "n", "s:output:0", T=INT), node("t", "Sin", "x", T=DOUBLE)]
    once = function("once", {"n": INT, "x": DOUBLE}, {"n1": INT, "x1": DOUBLE}, body, {"n1": "a:z:0", "x1": "t:y:0"})
    builder, x = started(test, once)
    loop = builder.add("While", [builder.constant(first), x], cond="test", body="once")
    [gradient] = gradients(builder, [loop.outputs[1]], [x])
    found, expected = values(builder, [gradient], x=AT)[0], AT
    slope = np.ones_like(AT)
    for _ in range(count):
        slope, expected = slope * np.cos(expected), np.sin(expected)
    np.testing.assert_allclose(found, slope, rtol=1e-12)


def test_what_an_iteration_would_draw_again_is_refused():
    step = function("step", {"x": FLOAT}, {"y": FLOAT}, [node("c", "noisy", "x")], {"y": "c:b:0"})
    goes = function("goes", {"x": FLOAT}, {"t": BOOL}, [const("t", value=True, dtype=bool)], {"t": "t:output:0"})
    builder, x = drawing(NOISY, step, goes)
    loop = builder.add("While", [x], cond="goes", body="step")
    with pytest.raises(NoGradientError, match=r"its node 'c' \(noisy\) runs a function that draws random numbers"):
        gradients(builder, [loop.output], [x])
