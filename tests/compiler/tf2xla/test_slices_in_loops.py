"""Python's indexing where it is known at run time only where a part begins; the rest is golden (`test_ops.py`)."""

import numpy as np
import pytest
from graph_nodes import FLOAT, INT, const, function, node, placeholder, run, types

import compiler
from compiler.graph import FunctionReference, Graph
from compiler.tf2xla import lower

X = np.arange(12, dtype=np.float32).reshape(4, 3)
STATE = {"n": INT, "x": FLOAT, "a": FLOAT}


def looping(*nodes, result):
    """A loop over n = -4, ..., 3 with a state `a`."""
    test = function(
        "test", STATE, {"go": INT}, [const("end", 4), node("l", "Sub", "end:output:0", "n", T=INT)], {"go": "l:z:0"}
    )
    body = [*nodes, const("one", 1), node("m", "AddV2", "n", "one:output:0", T=INT)]
    step = function(
        "step", STATE, {"n1": INT, "x1": FLOAT, "a1": FLOAT}, body, {"n1": "m:z:0", "x1": "x", "a1": result}
    )
    loop = {"cond": FunctionReference("test"), "body": FunctionReference("step"), "T": types(INT, FLOAT, FLOAT)}
    given = [const("n", -4), placeholder("x"), placeholder("a"), node("y", "While", "n", "x", "a", **loop)]
    return Graph(given, [test, step])


def column(op, inputs, **masks):
    """The op on [:, n]; `at` stands for where that is."""
    flat = [
        name for one in inputs for name in (("b:output:0", "b:output:0", "steps:output:0") if one == "at" else (one,))
    ]
    index = [node("b", "Pack", "zero:output:0", "n", T=INT, N=2), const("zero", 0), const("steps", [1, 1])]
    whole = {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2, "T": FLOAT, "Index": INT, **masks}
    return [*index, node("s", op, *flat, **whole)]


def last(graph, start, x=X):
    return run(lower(graph, {"x": x, "a": start}, ["y:2"]))[0]


def test_an_index_that_a_loop_changes_takes_a_column():
    graph = looping(
        *column("StridedSlice", ("x", "at")), node("t", "AddV2", "a", "s:output:0", T=FLOAT), result="t:z:0"
    )
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(last(graph, np.zeros(4, np.float32), x), 2 * x.sum(1))


def test_an_index_that_a_loop_changes_says_where_a_part_goes():
    back = [const("sizes", [4, 4]), const("v", [1, 2, 3, 4], np.float32)]
    graph = looping(
        *back,
        *column("StridedSliceGrad", ("sizes:output:0", "at", "v:output:0")),
        node("t", "AddV2", "a", "s:output:0", T=FLOAT),
        result="t:z:0",
    )
    found = last(graph, np.zeros((4, 4), np.float32))
    np.testing.assert_array_equal(found, 2 * np.array([[1], [2], [3], [4]]) * np.ones(4))
    replaced = looping(
        const("v", 7, np.float32), *column("TensorStridedSliceUpdate", ("a", "at", "v:output:0")), result="s:output:0"
    )
    np.testing.assert_array_equal(last(replaced, np.zeros((3, 4), np.float32)), np.full((3, 4), 7))


def test_a_size_that_depends_on_a_loop_is_refused():
    graph = looping(*column("StridedSlice", ("x", "at"), shrink_axis_mask=0), result="s:output:0")
    with pytest.raises(
        compiler.InputError, match=r"node 's' \(StridedSlice\): input 1, 'begin', must be a compile-time"
    ):
        last(graph, np.zeros((4, 4), np.float32))
