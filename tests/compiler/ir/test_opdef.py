"""A record counts operands and checks what its rule gives, and values of a shape are made of zeros."""

import numpy as np
import pytest

import compiler
from compiler.diagnostics import BY_RULE_OF, BrokenShape, ShapeError
from compiler.ir.opdef import Op, zeros, zeros_like
from compiler.ir.shape import UNBOUNDED, ArrayShape, BufferShape, TupleShape
from compiler.ir.shape_rules import require
from compiler.ir.types import F32, TYPES


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


NO_SHAPES = {
    "nothing": None,
    "a list of dimensions": [3],
    "a type and dimensions that changed places": ArrayShape((3,), F32),
    "the name of a type": ArrayShape("f32", (3,)),
    "dimensions in a list": ArrayShape(F32, [3]),
    "one dimension": ArrayShape(F32, 3),
    "a size that is no whole number": ArrayShape(F32, (1.5,)),
    "a size below zero": ArrayShape(F32, (3, UNBOUNDED - 1)),
    "too few marks of what is dynamic": ArrayShape(F32, (3, 4), (True,)),
    "a buffer of none": BufferShape(None),
    "a tuple that holds none": TupleShape((ArrayShape(F32, (3,)), TupleShape((None,)))),
    "a list of shapes": TupleShape([ArrayShape(F32, (3,))]),
}


def instruction():
    return compiler.parse("ENTRY e { ROOT x = f32[3] parameter(0) }").entry.root


@pytest.mark.parametrize("name", NO_SHAPES)
def test_a_rule_that_gives_no_shape_is_told_of_by_its_opcode(name):
    with pytest.raises(BrokenShape, match=r"(?m)^about it: its shape rule gives no shape$") as raised:
        Op("it", (0, 0), lambda _: NO_SHAPES[name], None, "It.").infer(instruction())
    assert raised.value.opcode == "it"


@pytest.mark.parametrize("dims", [(), (0,), (np.int64(3), 4), (UNBOUNDED, 2)])
def test_what_is_a_shape_is_given_as_it_is(dims):
    array = ArrayShape(F32, dims)
    for shape in (array, BufferShape(array), TupleShape((array, TupleShape(())))):
        assert Op("it", (0, 0), lambda _, shape=shape: shape, None, "It.").infer(instruction()) is shape


def test_what_a_rule_refuses_says_by_whose_rule_and_in_the_same_words():
    with pytest.raises(ShapeError, match=r"(?m)^it does not fit$") as raised:
        Op("it", (0, 0), lambda _: require(0, "it does not fit"), None, "It.").infer(instruction())
    assert raised.value.__notes__ == [f"{BY_RULE_OF}it"]
