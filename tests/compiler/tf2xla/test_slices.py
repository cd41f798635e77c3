"""`x[...]` of a graph is that of NumPy, whatever stands between the brackets; its gradient puts the part back."""

import random

import numpy as np
import pytest

import compiler
from compiler.diagnostics import CompilerError
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


def run(builder, output):
    (found,) = compiler.interpret(lower(builder.graph, {}, [output.name]).module)
    return found


def taken(index):
    builder = Builder()
    columns, masks = spelled(index)
    return run(builder, builder.constant(X).op("StridedSlice", *columns, **masks))


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
    found = run(builder, sizes.op("StridedSliceGrad", *columns, part, **masks))
    np.testing.assert_array_equal(found, expected)
