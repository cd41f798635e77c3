"""TensorArrays in branches and loops, where the first write may say what their elements are, and their refusals."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, INT, X, const, function, node, placeholder, run, types

from compiler.diagnostics import CompilerError
from compiler.graph import BY_NAME, AttributeList, FunctionReference, Graph, PartialShape
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED, S32
from compiler.tf2xla import lower

HANDLE = BY_NAME["resource"]
STATE = {"i": INT, "x": FLOAT, "array": HANDLE, "flow": FLOAT}
AFTER = {"i2": INT, "x2": FLOAT, "array2": HANDLE, "flow2": FLOAT}
RETURNS = {"i2": "next:z:0", "x2": "x", "array2": "array", "flow2": "put:flow_out:0"}
WRITE = [
    const("one", 1),
    node("next", "AddV2", "i", "one:output:0", T=INT),
    node("factor", "Cast", "next:z:0", SrcT=INT, DstT=FLOAT),
    node("value", "Mul", "x", "factor:y:0", T=FLOAT),
    node("put", "TensorArrayWriteV3", "array", "i", "value:z:0", "flow", T=FLOAT),
]
LOOP = {"T": types(*STATE.values()), "output_shapes": AttributeList("shape", ())}


def loops(*, inner=False):
    """Functions of a loop that writes x times 1, 2 and 3; with `inner`, that as the body of another one."""
    goes = [const("three", 3), node("below", "Less", "i", "three:output:0", T=INT)]
    found = [
        function("step", STATE, AFTER, WRITE, RETURNS),
        function("goes", STATE, {"t": BOOL}, goes, {"t": "below:z:0"}),
    ]
    if not inner:
        return found
    attributes = {**LOOP, "body": FunctionReference("step"), "cond": FunctionReference("goes")}
    nodes = [node("w", "While", *STATE, **attributes)]
    returns = {name: f"w:output:{number}" for number, name in enumerate(AFTER)}
    return [*found, function("whole", STATE, AFTER, nodes, returns)]


def graph(body, functions, source=b"gradients", **made):
    """A loop on a TensorArray of three elements, which are then gathered."""
    attributes = {**LOOP, "body": FunctionReference(body), "cond": FunctionReference("goes")}
    nodes = [
        *(const("zero", 0), const("size", 3), const("order", [2, 0, 1]), placeholder("x"), placeholder("i", INT)),
        node("array", "TensorArrayV3", "size", dtype=FLOAT, **made),
        node("gradient", "TensorArrayGradV3", "array", "array:1", source=source),
        node("w", "While", "zero", "x", "array", "array:1", **attributes),
        node("again", "While", "zero", "x", "gradient", "gradient:1", **attributes),
        node("twice", "While", "zero", "x", "gradient", "again:3", **attributes),
        node("y", "TensorArrayGatherV3", "array", "order", "w:3", dtype=FLOAT),
        node("g", "TensorArrayGatherV3", "gradient", "order", "twice:3", dtype=FLOAT),
        node("one", "TensorArrayReadV3", "array", "i", "w:3", dtype=FLOAT),
    ]
    return Graph(nodes, functions)


RIGHT = np.stack([X * 3, X, X * 2])


@pytest.mark.parametrize("made", [{}, {"element_shape": PartialShape((2, 3))}])
@pytest.mark.parametrize("inner", [False, True])
def test_loops_write_elements(made, inner):
    lowered = lower(graph("whole" if inner else "step", loops(inner=inner), **made), {"x": X}, ["y", "g"])
    assert (lowered.reads, lowered.writes) == ((), ())
    rows, gradients = run(lowered)
    np.testing.assert_array_equal(rows, RIGHT)
    np.testing.assert_array_equal(gradients, 2 * RIGHT)


def test_one_side_of_a_branch_may_write():
    left = function("left", STATE, {"f": FLOAT}, WRITE, {"f": "put:flow_out:0"})
    right = function("right", STATE, {"f": FLOAT}, [], {"f": "flow"})
    branches = {"then_branch": FunctionReference("left"), "else_branch": FunctionReference("right")}
    kinds = {"Tcond": BOOL, "Tin": types(*STATE.values()), "Tout": types(FLOAT)}
    nodes = [
        *(placeholder("p", BOOL), placeholder("x"), const("zero", 0), const("size", 2)),
        node("array", "TensorArrayV3", "size", dtype=FLOAT),
        node(
            "b",
            "If",
            "p",
            "zero",
            "x",
            "array",
            "array:1",
            output_shapes=AttributeList("shape", ()),
            **branches,
            **kinds,
        ),
        node("y", "TensorArrayReadV3", "array", "zero", "b", dtype=FLOAT),
    ]
    lowered = lower(Graph(nodes, [left, right]), {"x": X, "p": ArrayShape(PRED, ())}, ["y"])
    for choice in (True, False):
        [row] = run(lowered, np.array(choice))
        np.testing.assert_array_equal(row, X * choice)


@pytest.mark.parametrize(
    ("fetch", "feeds", "made", "said"),
    [
        ("y", {"x": X}, {"dynamic_size": True}, "dynamic_size"),
        ("y", {"x": X}, {"element_shape": PartialShape((2,))}, r"elements of \[2\], not \[2, 3\]"),
        ("one", {"x": X, "i": np.zeros(2, np.int32)}, {}, "index must be a scalar"),
        ("unread", {}, {}, "nothing was written to its TensorArray"),
        ("whole", {"x": X}, {}, "has 3 elements, not 2"),
        ("counted", {}, {}, "must be a TensorArray"),
    ],
)
def test_what_makes_no_sense_is_refused(fetch, feeds, made, said):
    found = graph("step", loops(), **made)
    found.nodes += [
        node("unread", "TensorArrayReadV3", "array", "zero", "array:1", dtype=FLOAT),
        node("whole", "TensorArraySplitV3", "array", "x", "pieces", "array:1", T=FLOAT),
        const("pieces", [1, 1], np.int64),
        node("stack", "StackV2", "size", elem_type=FLOAT),
        node("counted", "TensorArraySizeV3", "stack", "array:1"),
    ]
    with pytest.raises(CompilerError, match=said):
        lower(found, feeds, [fetch])


def test_a_size_must_be_known():
    nodes = [
        placeholder("n", INT),
        node("a", "TensorArrayV3", "n", dtype=FLOAT),
        node("s", "TensorArraySizeV3", "a", "a:1"),
    ]
    with pytest.raises(CompilerError, match="compile-time constant"):
        lower(Graph(nodes), {"n": ArrayShape(S32, ())}, ["s"])
    assert run(lower(Graph(nodes), {"n": np.int32(4)}, ["s"])) == [4]
