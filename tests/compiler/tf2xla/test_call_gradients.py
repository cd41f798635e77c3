"""Gradients go through calls and branches, and take the random numbers that these have drawn."""

import numpy as np
import pytest
from graph_gradients import AT, FIRST, MULTIPLY, NOISY, agrees, drawing, ran, started
from graph_nodes import FLOAT, X, function, node, types

import compiler
from compiler.graph import BY_NAME, FunctionReference
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED
from compiler.tf2xla import lower
from compiler.tf2xla.differentiation import gradients
from compiler.tf2xla.errors import NoGradientError

DOUBLE = BY_NAME["float64"]
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


def test_calls_are_differentiated():
    builder, x = started(MULTIPLY)
    direct = builder.add("multiply", x, x).output
    called = builder.add("PartitionedCall", [direct, x], Tout=types(DOUBLE), f=FunctionReference("multiply")).output
    assert agrees(builder, called, x, AT)


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


def test_a_call_that_would_draw_again_is_refused():
    builder, x = drawing(NOISY)
    with pytest.raises(NoGradientError, match=r"'noisy', which draws random numbers: call it by PartitionedCall"):
        gradients(builder, [builder.add("noisy", x).output], [x])
