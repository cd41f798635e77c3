"""Lists of tensors in loops, as TensorFlow 2 writes them: without sizes of elements, and without a greatest length."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, INT, X, const, function, node, placeholder, run, types

import compiler
from compiler.graph import BY_NAME, AttributeList, FunctionReference, Graph
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32
from compiler.tf2xla import lower, must_be_known

VARIANT = BY_NAME["variant"]
KIND = {"element_dtype": FLOAT}
SHAPED = {**KIND, "shape_type": INT}


def loop(pushes, limit="n", *, made="EmptyTensorList", also=None, count=3):
    """A graph whose loop counts to a limit and puts `x` times 2, 4, 8, ... into a list, which is stacked."""
    body = [
        const("one", 1),
        node("next", "AddV2", "i", "one:output:0", T=INT),
        node("twice", "AddV2", "x", "x", T=FLOAT),
        *pushes,
    ]
    step = function(
        "step",
        {"i": INT, "n": INT, "x": FLOAT, "list": VARIANT},
        {"i2": INT, "n2": INT, "x2": FLOAT, "list2": VARIANT},
        body,
        {"i2": "next:z:0", "n2": "n", "x2": "twice:z:0", "list2": "put:output_handle:0"},
    )
    goes = function(
        "goes",
        {"i": INT, "n": INT, "x": FLOAT, "list": VARIANT},
        {"t": BOOL},
        [const("five", 5), node("below", "Less", "i", "n" if limit == "n" else "five:output:0", T=INT), *(also or [])],
        {"t": "both:z:0" if also else "below:z:0"},
    )
    nodes = [
        const("zero", 0),
        const("any", -1),
        placeholder("n", INT) if count is None else const("n", count),
        placeholder("x"),
        node("list", made, "any", "any" if made == "EmptyTensorList" else "n", **SHAPED),
        node(
            "w",
            "While",
            *("zero", "n", "x", "list"),
            T=types(INT, INT, FLOAT, VARIANT),
            body=FunctionReference("step"),
            cond=FunctionReference("goes"),
            output_shapes=AttributeList("shape", ()),
        ),
        node("y", "TensorListStack", "w:3", "any", **KIND),
        node("count", "TensorListLength", "w:3"),
    ]
    return Graph(nodes, [step, goes])


PUSH = [node("put", "TensorListPushBack", "list", "twice:z:0", **KIND)]
SET = [node("put", "TensorListSetItem", "list", "i", "twice:z:0", **KIND)]
POWERS = np.array([2, 4, 8], np.float32)[:, None, None]


def test_a_loop_makes_room_for_all_that_it_adds():
    """How often it runs is counted, since its counter and limit are known."""
    stacked, count = run(lower(loop(PUSH), {"x": X}, ["y", "count"]))
    np.testing.assert_array_equal(stacked, POWERS * X)
    assert count == 3


def test_a_part_of_the_condition_is_a_bound():
    small = [
        const("hundred", 100, np.float32),
        node("first", "Max", "x", "axes:output:0", T=FLOAT, Tidx=INT),
        const("axes", [0, 1]),
        node("low", "Less", "first:output:0", "hundred:output:0", T=FLOAT),
        node("both", "LogicalAnd", "below:z:0", "low:z:0"),
    ]
    stacked, count = run(lower(loop(PUSH, "five", also=small), {"x": X}, ["y", "count"]))
    largest = X.max()
    wanted = next(number for number in range(6) if number == 5 or largest * 2**number >= 100)
    assert (stacked.shape, count) == ((5, *X.shape), wanted)


def test_the_first_element_says_the_sizes():
    [stacked] = run(lower(loop(SET, made="TensorListReserve"), {"x": X}, ["y"]))
    np.testing.assert_array_equal(stacked, POWERS * X)


def test_a_list_without_a_bound_is_refused():
    """The limit is an input of the program."""
    with pytest.raises(compiler.UnsupportedError, match="nothing says how often it runs at most"):
        lower(loop(PUSH, count=None), {"n": ArrayShape(S32, ()), "x": X}, ["y"])


def test_what_must_be_known_follows_single_results_of_loops():
    """The length of a list that a loop makes is asked for; what it puts in is not."""
    graph = loop(PUSH)
    graph.nodes.append(node("z", "Fill", "size", "v", T=FLOAT))
    graph.nodes += [node("size", "Pack", "w:0", N=1, T=INT), const("v", 1, np.float32)]
    assert must_be_known(graph, ["z"]) >= {"n"}
    assert "x" not in must_be_known(graph, ["z"])


def test_lists_are_passed_on_added_and_zeros():
    nodes = [
        placeholder("x"),
        const("any", -1),
        node("list", "TensorListFromTensor", "x", "any", **SHAPED),
        node("same", "Identity", "list", T=VARIANT),
        node("zeros", "ZerosLike", "same", T=VARIANT),
        node("sum", "AddN", "same", "list", "zeros", T=VARIANT, N=3),
        node("y", "TensorListStack", "sum", "any", **KIND),
        node("count", "TensorListLength", "sum"),
        node("filled", "Fill", "packed", "v", T=FLOAT),
        node("packed", "Pack", "count", N=1, T=INT),
        const("v", 1, np.float32),
    ]
    stacked, filled = run(lower(Graph(nodes), {"x": X}, ["y", "filled"]))
    np.testing.assert_array_equal(stacked, 2 * X)
    assert filled.shape == (len(X),)


def test_a_full_list_has_room_for_more():
    """As many as it was made with are no limit; what was taken leaves no row behind."""
    nodes = [
        *(placeholder("x"), placeholder("row"), const("any", -1)),
        node("list", "TensorListFromTensor", "x", "any", **SHAPED),
        node("more", "TensorListPushBack", "list", "row", **KIND),
        node("less", "TensorListPopBack", "list", "any", **KIND),
        node("other", "TensorListPushBack", "less", "row", **KIND),
        node("longer", "TensorListStack", "more", "any", num_elements=3, **KIND),
        node("shorter", "TensorListStack", "less", "any", num_elements=1, **KIND),
        node("same", "TensorListStack", "other", "any", num_elements=2, **KIND),
    ]
    row = np.array([7, 8, 9], np.float32)
    longer, shorter, same, last = run(
        lower(Graph(nodes), {"x": X, "row": row}, ["longer", "shorter", "same", "less:1"])
    )
    np.testing.assert_array_equal(longer, [*X, row])
    np.testing.assert_array_equal(shorter, X[:1])
    np.testing.assert_array_equal(same, [X[0], row])
    np.testing.assert_array_equal(last, X[1])


def test_a_loop_adds_to_a_full_list():
    stacked, count = run(lower(loop(PUSH, made="TensorListReserve"), {"x": X}, ["y", "count"]))
    np.testing.assert_array_equal(stacked, [*np.zeros((3, *X.shape)), *(POWERS * X)])
    assert count == 6


def test_a_loop_takes_from_a_full_list():
    """How many it takes is not known, so that no row goes away."""
    pop = [
        node("taken", "TensorListPopBack", "list", "all:output:0", **KIND),
        const("all", -1),
        node("put", "Identity", "taken:output_handle:0", T=VARIANT),
    ]
    graph = loop(pop, made="TensorListReserve")
    step = graph.functions[0]
    step.returns["list2"] = "put:output:0"
    graph.nodes.append(node("again", "TensorListPushBack", "w:3", "x", **KIND))
    graph.nodes[4] = node("list", "TensorListFromTensor", "rows", "any", **SHAPED)
    graph.nodes.append(const("rows", np.ones((5, *X.shape)), np.float32))
    graph.nodes.append(node("left", "TensorListLength", "again"))
    assert run(lower(graph, {"x": X}, ["count", "left"])) == [2, 3]


LISTS = {"element_dtype": VARIANT}


@pytest.mark.parametrize("most", [-1, 3])
def test_lists_in_a_list_come_back_as_they_were_put_in(most):
    nodes = [
        placeholder("x"),
        const("any", -1),
        const("most", most),
        node("one", "TensorListFromTensor", "x", "any", **SHAPED),
        node("twice", "AddN", "one", "one", T=VARIANT, N=2),
        node("outer", "EmptyTensorList", "any", "most", **LISTS, shape_type=INT),
        node("first", "TensorListPushBack", "outer", "one", **LISTS),
        node("second", "TensorListPushBack", "first", "twice", **LISTS),
        node("lists", "EmptyTensorList", "any", "most", **LISTS, shape_type=INT),
        node("deep", "TensorListPushBack", "lists", "second", **LISTS),
        node("out", "TensorListPopBack", "deep", "any", **LISTS),
        node("last", "TensorListPopBack", "out:1", "any", **LISTS),
        node("before", "TensorListPopBack", "last", "any", **LISTS),
        node("y", "TensorListStack", "last:1", "any", **KIND),
        node("z", "TensorListStack", "before:1", "any", **KIND),
        node("left", "TensorListLength", "last"),
        node("count", "TensorListLength", "last:1"),
        node("packed", "Pack", "count", N=1, T=INT),
        const("v", 1, np.float32),
        node("filled", "Fill", "packed", "v", T=FLOAT),
    ]
    twice, one, left, filled = run(lower(Graph(nodes), {"x": X}, ["y", "z", "left", "filled"]))
    np.testing.assert_array_equal(twice, 2 * X)
    np.testing.assert_array_equal(one, X)
    assert (left, filled.shape) == (1, (len(X),)), "how long a list is that was full is known"


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("TensorListStack", ("any",), LISTS),
        ("TensorListSetItem", ("most", "x"), KIND),
        ("ZerosLike", (), {"T": VARIANT}),
        ("AddN", ("first",), {"T": VARIANT, "N": 2}),
    ],
)
def test_what_only_arrays_in_a_list_can_do_is_refused(op, inputs, attributes):
    nodes = [
        placeholder("x"),
        const("any", -1),
        const("most", 3),
        node("one", "TensorListFromTensor", "x", "any", **SHAPED),
        node("outer", "EmptyTensorList", "any", "most", **LISTS, shape_type=INT),
        node("first", "TensorListPushBack", "outer", "one", **LISTS),
        node("y", op, "first", *inputs, **attributes),
    ]
    with pytest.raises(compiler.UnsupportedError, match=op):
        lower(Graph(nodes), {"x": X}, ["y"])


def test_a_list_becomes_as_long_as_a_known_number_asks_for():
    resize = {"resize_if_index_out_of_bounds": True, **KIND}
    nodes = [
        placeholder("x"),
        const("any", -1),
        const("zero", 0),
        const("two", 2),
        node("none", "TensorListReserve", "any", "zero", **SHAPED),
        node("first", "TensorListSetItem", "none", "two", "x", **resize),
        node("second", "TensorListSetItem", "first", "zero", "x", **resize),
        node("y", "TensorListStack", "second", "any", **KIND),
        node("count", "TensorListLength", "second"),
    ]
    stacked, count = run(lower(Graph(nodes), {"x": X}, ["y", "count"]))
    np.testing.assert_array_equal(stacked, np.stack([X, 0 * X, X]))
    assert count == 3
    nodes[3] = placeholder("two", INT)
    with pytest.raises(compiler.UnsupportedError, match="begin with a size"):
        lower(Graph(nodes), {"x": X, "two": ArrayShape(S32, ())}, ["y"])
