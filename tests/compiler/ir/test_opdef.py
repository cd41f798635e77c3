"""A record counts operands, and values of a shape are made of zeros."""

import numpy as np
import pytest

from compiler.ir.opdef import Op, zeros, zeros_like
from compiler.ir.shape import ArrayShape, BufferShape, TupleShape
from compiler.ir.types import TYPES


def op(least, most):
    return Op("it", (least, most), lambda i: i.shape, None, "It.")


@pytest.mark.parametrize(
    ("least", "most", "count", "said"),
    [
        (2, 2, 2, ""),
        (2, 2, 1, "it takes 2 operands, not 1"),
        (1, None, 100, ""),
        (1, None, 0, "it takes at least 1 operands, not 0"),
        (0, 2, 3, "it takes 0 to 2 operands, not 3"),
    ],
)
def test_a_wrong_number_of_operands_is_said(least, most, count, said):
    assert op(least, most).miscounted(count) == said


@pytest.mark.parametrize("name", [name for name, type_ in TYPES.items() if type_.bits])
def test_zeros_are_of_the_type_and_nan_where_it_has_none(name):
    (array,) = zeros(TupleShape((BufferShape(ArrayShape(TYPES[name], (2, 0))),)))
    assert (array.dtype, array.shape) == (TYPES[name].dtype, (2, 0))
    scalar = zeros(ArrayShape(TYPES[name], ()))
    assert np.isnan(scalar) if name == "f8e8m0fnu" else scalar == 0


def test_what_carries_nothing_has_no_value():
    assert zeros(ArrayShape(TYPES["token"], ())) == ()


def test_zeros_like_a_value_keep_its_types():
    one, (two,) = zeros_like((np.ones(2, np.int8), (np.ones((), complex),)))
    assert (one.dtype, one.tolist(), two.dtype, two.tolist()) == (np.int8, [0, 0], complex, 0)
