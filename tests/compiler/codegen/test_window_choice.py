"""A window of select-and-scatter picks the first of its elements that the choice keeps; padding is never picked."""

import numpy as np
import pytest
from emitted_kernels import for_each, kernel, run

from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import Value
from compiler.codegen.nest import coordinates
from compiler.codegen.signature import arguments, store
from compiler.codegen.window_choice import pick

NOTHING = -1


def picked(values, *, size, stride=1, pad="0_0", direction="GE"):
    """For each window the number of the element that it picks."""
    count = (len(values) + sum(map(int, pad.split("_"))) - size) // stride + 1
    text = f"""
    choice {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction={direction} }}
    add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
    ENTRY e {{ x = f32[{len(values)}] parameter(0)  s = f32[{count}] parameter(1)  z = f32[] parameter(2)
      ROOT r = f32[{len(values)}] select-and-scatter(x, s, z), window={{size={size} stride={stride} pad={pad}}},
        select=choice, scatter=add }}"""
    found = kernel(text)
    (root,) = found.roots

    def body(emission: Emission, number):
        at = coordinates(emission, number, (count,))
        inside, offset = pick(found, root, emission, tuple(at))
        builder = emission.builder
        chosen = builder.select(inside, offset, Value("i64", str(NOTHING)))
        store(emission, root.array, builder.cast("sitofp", chosen, "float"), arguments(found).outputs[0], number)

    inputs = (np.array(values, np.float32), np.zeros(count, np.float32), np.zeros((), np.float32))
    return run(found, for_each(count, body), inputs).astype(int).tolist()[:count]


def test_the_greatest_or_the_least_as_the_choice_says():
    assert picked([3, 7, 5, 1], size=2) == [1, 1, 2]
    assert picked([3, 7, 5, 1], size=2, direction="LE") == [0, 2, 3]
    assert picked([3, 7, 5, 1], size=2, stride=2) == [1, 2]


def test_of_equal_ones_the_first_where_the_choice_keeps_it_and_the_last_where_not():
    assert picked([4, 4, 4], size=3) == [0]
    assert picked([4, 4, 4], size=3, direction="GT") == [2]


def test_what_is_picked_gives_way_to_a_nan_and_a_nan_to_what_follows():
    # Neither is greater or equal: the one that was kept so far is not kept.
    assert picked([1, np.nan, 2], size=2) == [1, 2]


@pytest.mark.parametrize(
    ("pad", "stride", "expected"), [("1_0", 1, [0, 1, 1, 2]), ("0_1", 1, [1, 1, 2, 3]), ("2_0", 2, [NOTHING, 1, 2])]
)
def test_padding_is_never_picked_not_even_where_it_is_all_of_the_window(pad, stride, expected):
    assert picked([-5, -1, -2, -7], size=2, pad=pad, stride=stride) == expected
