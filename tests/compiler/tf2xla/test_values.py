"""Values are taken apart into arrays where they pass through loops, and put together again."""

import numpy as np
import pytest

from compiler.diagnostics import InputError
from compiler.expansion.expression import Expression
from compiler.ir.module import Computation
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32, S32
from compiler.ops.build import parameter
from compiler.tf2xla.values import Handle, TensorList, arrays_in, arrays_of, checked_same, no_handle, rebuilt, same_each


@pytest.fixture
def arrays():
    computation = Computation("c")
    shapes = [ArrayShape(F32, (2,)), ArrayShape(F32, (4, 2)), ArrayShape(S32, ())]
    return [Expression(parameter(computation, number, shape)) for number, shape in enumerate(shapes)]


def test_a_value_is_what_its_parts_make(arrays):
    one, rows, count = arrays
    full, empty = TensorList(F32, 4, rows, count), TensorList(F32, 4, None, count)
    for value, its in ((one, [one]), (full, [rows, count]), (empty, [count]), (Handle("v", F32), [])):
        assert arrays_in(value) == its
        again = rebuilt(value, iter(its))
        assert arrays_in(again) == its
        assert type(again) is type(value)
    assert arrays_of([one, Handle("v", F32), full]) == [one, rows, count]


def test_values_are_the_same_by_kinds_types_and_sizes(arrays):
    one, rows, count = arrays
    assert checked_same([one], [one])
    assert not checked_same([one], [rows])
    assert not checked_same([one], [one, one])
    assert not checked_same([Handle("v", F32)], [Handle("w", F32)])
    assert not checked_same([TensorList(F32, 4, None, count)], [TensorList(F32, 4, rows, count)])


X, Y = (np.array([1.0]),), (np.array([2.0]),)


@pytest.mark.parametrize(
    ("left", "right", "expected"), [((), X, X), (X, (), X), (X, X, X), (X, Y, None), (None, (), None), ((), (), ())]
)
def test_two_lists_have_one_element_where_either_is_empty_or_both_have_it(left, right, expected):
    assert same_each(left, right) == expected


def test_what_must_be_an_array_is_refused_by_its_kind(arrays):
    one, _, count = arrays
    assert no_handle(one, "x") is one
    with pytest.raises(InputError, match="x: it is a variable, not an array"):
        no_handle(Handle("v", None), "x")
    with pytest.raises(InputError, match="x: it is a list of tensors, not an array"):
        no_handle(TensorList(F32, 1, None, count), "x")
