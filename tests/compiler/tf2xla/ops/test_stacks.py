"""Stacks in programs: a loop pushes, another pops, and what makes no sense is refused."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, INT, X, const, function, node, placeholder, run, types

from compiler.diagnostics import CompilerError
from compiler.graph import BY_NAME, AttributeList, FunctionReference, Graph
from compiler.tf2xla import lower

STATE = {"i": INT, "x": FLOAT, "stack": BY_NAME["resource"]}
AFTER = {f"{name}2": kind for name, kind in STATE.items()}
COUNT = [const("one", 1), node("next", "AddV2", "i", "one:output:0", T=INT)]
PUSH = [
    node("sum", "AddV2", "x", "x", T=FLOAT),
    node("push", "StackPushV2", "stack", "x", T=FLOAT),
    node("after", "Identity", "sum:z:0", "^push", T=FLOAT),
]
POP = [node("item", "StackPopV2", "stack", elem_type=FLOAT), node("after", "Sub", "item:elem:0", "x", T=FLOAT)]


def loop(name, *inputs):
    kinds = types(*STATE.values())
    functions = {"body": FunctionReference(name), "cond": FunctionReference("goes")}
    return node(name, "While", *inputs, T=kinds, output_shapes=AttributeList("shape", ()), **functions)


def graph(most=3):
    below = [const("three", 3), node("below", "Less", "i", "three:output:0", T=INT)]
    functions = [function("goes", STATE, {"t": BOOL}, below, {"t": "below:z:0"})]
    for name, nodes in (("push", PUSH), ("pop", POP)):
        result = "after:output:0" if name == "push" else "after:z:0"
        returns = {"i2": "next:z:0", "x2": result, "stack2": "stack"}
        functions.append(function(name, STATE, AFTER, [*COUNT, *nodes], returns))
    nodes = [
        *(const("zero", 0), const("most", most), placeholder("x")),
        node("stack", "StackV2", "most", elem_type=FLOAT),
        loop("push", "zero", "x", "stack"),
        loop("pop", "zero", "push:1", "push:2"),
        node("wrong", "StackPushV2", "stack", "zero", T=INT),
        node("array", "TensorArrayV3", "most", dtype=FLOAT),
        node("none", "StackPopV2", "stack", elem_type=FLOAT),
        node("other", "StackPopV2", "array", elem_type=FLOAT),
    ]
    return Graph(nodes, functions)


@pytest.mark.parametrize("most", [3, -1])
def test_what_was_pushed_last_is_popped_first(most):
    lowered = lower(graph(most), {"x": X}, ["push:1", "pop:1"])
    assert (lowered.reads, lowered.writes) == ((), ())
    pushed, popped = run(lowered)
    np.testing.assert_array_equal(pushed, 8 * X)
    np.testing.assert_array_equal(popped, X - (2 * X - (4 * X - 8 * X)))


@pytest.mark.parametrize(
    ("fetch", "most", "said"),
    [
        ("push:1", 1 << 30, "is more than"),
        ("wrong", 3, "its stack is of f32, not s32"),
        ("none", 3, "nothing was pushed"),
        ("other", 3, "must be a stack"),
    ],
)
def test_what_makes_no_sense_is_refused(fetch, most, said):
    with pytest.raises(CompilerError, match=said):
        lower(graph(most), {"x": X}, [fetch])
