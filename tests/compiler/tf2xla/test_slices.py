"""`x[...]` of a graph is that of NumPy, whatever stands between the brackets; its gradient puts the part back.

In a loop only where a part begins may be known no sooner than at run time.
"""

import random

import numpy as np
import pytest
from graph_nodes import FLOAT, INT, const, function, node, placeholder, run, types

import compiler
from compiler.diagnostics import CompilerError
from compiler.graph import FunctionReference, Graph
from compiler.tf2xla import lower
from compiler.tf2xla.builder import Builder

X = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)


def spelled(index):
    """An index of Python's as inputs and attributes of the node."""
    rows, masks = [], dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    for number, one in enumerate(index):
        bit = 1 << number
        if one is Ellipsis or one is None:
            masks["new_axis" if one is None else "ellipsis"] |= bit
            rows.append((0, 0, 1))
        elif isinstance(one, slice):
            masks["begin"] |= bit if one.start is None else 0
            masks["end"] |= bit if one.stop is None else 0
            rows.append((one.start or 0, one.stop or 0, 1 if one.step is None else one.step))
        else:
            masks["shrink_axis"] |= bit
            rows.append((one, one + 1, 1))
    columns = [np.array([row[n] for row in rows], np.int32) for n in range(3)]
    return columns, {f"{name}_mask": mask for name, mask in masks.items()}


def result_of(builder, output):
    (found,) = compiler.interpret(lower(builder.graph, {}, [output.name]).module)
    return found


def taken(index):
    builder = Builder()
    columns, masks = spelled(index)
    return result_of(builder, builder.constant(X).op("StridedSlice", *columns, **masks))


def drawn(seed):
    """An index that NumPy takes of X."""
    draw = random.Random(seed)
    found = []
    for size in X.shape[: draw.randint(0, 3)]:
        ends = [None, *range(-size - 2, size + 3)]
        found.append(
            draw.randrange(-size, size)
            if draw.random() < 0.3
            else slice(draw.choice(ends), draw.choice(ends), draw.choice([None, 1, 2, 7, -1, -2]))
        )
    for extra in draw.sample([Ellipsis, None], draw.randint(0, 2)):
        found.insert(len(found) if extra is Ellipsis else draw.randint(0, len(found)), extra)
    return tuple(found)


@pytest.mark.parametrize("seed", range(40))
def test_an_index_is_numpys(seed):
    index = drawn(seed)
    np.testing.assert_array_equal(taken(index), X[index])


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ((Ellipsis, Ellipsis), "more than one ellipsis"),
        ((0, 0, 0, 0), "4 indices are more than"),
        ((slice(0, 1, 0),), "the step of index 0 is 0"),
        ((0, 3), "index 3 is none of 3 elements"),
        ((-5,), "index -5 is none of 4 elements"),
    ],
)
def test_what_numpy_refuses_is_refused(index, said):
    with pytest.raises(CompilerError, match=said):
        taken(index)


@pytest.mark.parametrize(
    "index", [(slice(None, None, 2),), (slice(3, 0, -2), 1), (Ellipsis, slice(4, 4)), (None, 2)], ids=str
)
def test_the_gradient_is_zeros_with_the_part_where_it_was(index):
    builder = Builder()
    columns, masks = spelled(index)
    part, expected = X[index] + 1, np.zeros_like(X)
    expected[tuple(one for one in index if one is not None)] = part.reshape(
        X[tuple(i for i in index if i is not None)].shape
    )
    sizes = builder.constant(np.array(X.shape, np.int32))
    found = result_of(builder, sizes.op("StridedSliceGrad", *columns, part, **masks))
    np.testing.assert_array_equal(found, expected)


ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
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


def last(graph, start, x=ROWS):
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
