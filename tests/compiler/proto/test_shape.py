"""Shapes and literals as messages, with what XLA reads no value of refused by name."""

import numpy as np
import pytest

from compiler.diagnostics import UnsupportedError
from compiler.ir.literal import Literal, array_literal, tuple_literal
from compiler.ir.shape import UNBOUNDED, ArrayShape, BufferShape, Layout, TupleShape
from compiler.ir.types import F32, TYPES
from compiler.proto.shape import literal_proto, program_shape, shape_proto, type_word
from compiler.proto.wire import encode


@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_a_word_that_can_be_written(name):
    shape = ArrayShape(TYPES[name], (2,) if TYPES[name].bits else ())
    assert encode("ShapeProto", shape_proto(shape))
    assert type_word(TYPES[name]) == {"opaque": "OPAQUE_TYPE"}.get(name, name.upper())


def test_an_array_without_a_layout_is_written_with_the_usual_one():
    message = shape_proto(ArrayShape(F32, (2, 3)))
    assert message["layout"]["minor_to_major"] == (1, 0)
    assert message["is_dynamic_dimension"] == (False, False)
    assert "layout" not in shape_proto(ArrayShape(TYPES["token"], ()))


def test_a_size_that_nobody_knows_is_the_least_number():
    message = shape_proto(ArrayShape(F32, (UNBOUNDED, 3), (True, True)))
    assert message["dimensions"] == [-(1 << 63), 3]
    assert message["is_dynamic_dimension"] == (True, True)


def test_tuples_and_buffers_hold_shapes():
    message = shape_proto(TupleShape((BufferShape(ArrayShape(F32, (2,))), TupleShape(()))))
    assert [one["element_type"] for one in message["tuple_shapes"]] == ["BUFFER", "TUPLE"]
    assert program_shape([], [], TupleShape(()))["parameters"] == []


@pytest.mark.parametrize(
    ("layout", "message"),
    [(Layout((0,), tiles=((-1,),)), "combined"), (Layout((0,), ("D+",)), "not ordered or not unique")],
)
def test_a_layout_that_has_no_field_is_refused(layout, message):
    with pytest.raises(UnsupportedError, match=message):
        shape_proto(ArrayShape(F32, (2,), layout=layout))


def test_elements_are_written_as_they_lie():
    turned = ArrayShape(F32, (2, 3), layout=Layout((0, 1)))
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert literal_proto(Literal(turned, values))["f32s"].tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize(
    ("name", "values", "field", "expected"),
    [
        ("pred", [True, False], "preds", [1, 0]),
        ("s4", [-1, 7], "s4s", [15, 7]),
        ("u2", [3, 0], "u2s", [3, 0]),
        ("c64", [1 + 2j], "c64s", [1, 2]),
        ("bf16", [1.0], "bf16s", [0x80, 0x3F]),
        ("s64", [-5], "s64s", [-5]),
    ],
)
def test_elements_have_the_field_of_their_type(name, values, field, expected):
    assert list(literal_proto(array_literal(values, TYPES[name]))[field]) == expected


def test_what_has_no_value_is_refused_or_left_out():
    token = Literal(ArrayShape(TYPES["token"], ()))
    assert set(literal_proto(tuple_literal((token,)))["tuple_literals"][0]) == {"shape"}
    with pytest.raises(UnsupportedError, match="that was left out"):
        literal_proto(Literal(ArrayShape(F32, ())))
    with pytest.raises(UnsupportedError, match="XLA reads no values of s1"):
        literal_proto(array_literal([0], TYPES["s1"]))
