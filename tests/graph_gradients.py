"""Graphs whose gradients are held against differences, and functions that they call."""

import numpy as np
import pytest
from graph_nodes import FLOAT, INT, X, const, function, node

import compiler
from compiler.graph import BY_NAME
from compiler.tf2xla import lower
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.differentiation import gradients

DOUBLE = BY_NAME["float64"]
AT = X.astype(float) / 4
MULTIPLY = function(
    "multiply",
    {"a": DOUBLE, "b": DOUBLE},
    {"c": DOUBLE},
    [node("m", "Mul", "a", "b", T=DOUBLE), node("s", "Sin", "m:z:0", T=DOUBLE)],
    {"c": "s:y:0"},
)
FIRST = function("first", {"a": DOUBLE, "b": DOUBLE}, {"c": DOUBLE}, [node("e", "Exp", "a", T=DOUBLE)], {"c": "e:y:0"})
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


def drawing(*functions):
    builder = Builder()
    builder.graph.functions = list(functions)
    return builder, builder.add("Placeholder", name="x", dtype="float32", shape=[2, 3]).output


def ran(builder, fetches):
    """What is fetched of one run on X."""
    lowered = lower(builder.graph, {"x": X}, [one.name for one in fetches])
    held = [lowered.initial[name] for name in lowered.reads]
    return compiler.interpret(lowered.module, *(lowered.values[name] for name in lowered.inputs), *held)
