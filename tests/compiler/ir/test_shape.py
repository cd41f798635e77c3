"""Shapes say what an array is; layouts say only where it lies."""

import pytest

from compiler.ir.shape import (
    UNBOUNDED,
    ArrayShape,
    BufferShape,
    Layout,
    TupleShape,
    compatible,
    default_layout,
    is_static_array,
    leaves,
    leaves_at,
    without_layout,
)
from compiler.ir.types import F32, S32, TYPES

MATRIX = ArrayShape(F32, (2, 3))
TURNED = MATRIX.with_layout(Layout((0, 1)))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (ArrayShape(F32, ()), "f32[]"),
        (ArrayShape(F32, (), layout=Layout(())), "f32[]"),
        (ArrayShape(F32, (0, 3)), "f32[0,3]"),
        (ArrayShape(F32, (UNBOUNDED, 3, 4), (True, True, False)), "f32[?,<=3,4]"),
        (TURNED, "f32[2,3]{0,1}"),
        (TupleShape(()), "()"),
        (TupleShape((MATRIX, TupleShape((BufferShape(MATRIX),)))), "(f32[2,3], (b(f32[2,3])))"),
        (TupleShape((MATRIX,) * 6), "(f32[2,3], f32[2,3], f32[2,3], f32[2,3], f32[2,3], /*index=5*/f32[2,3])"),
    ],
)
def test_a_shape_is_written_as_xla_writes_it(shape, text):
    assert str(shape) == text


def test_a_layout_writes_only_what_is_not_usual():
    assert str(default_layout(3)) == "{2,1,0}"
    full = Layout((1, 0), ("D", "C"), ((8, -1), (2,)), 4, "u32", "u32", 4, 1, ((0, (3, 5)),), MATRIX, 8)
    assert str(full) == "{1,0:D(D,C)T(8,*)(2)L(4)#(u32)*(u32)E(4)S(1)SC(0:3,5)P(f32[2,3])M(8)}"


@pytest.mark.parametrize(("dims", "size"), [((), 1), ((0,), 0), ((2, 3), 6), ((5, 0, 7), 0)])
def test_a_size_counts_elements_and_bytes(dims, size):
    assert (ArrayShape(F32, dims).size, ArrayShape(F32, dims).size_bytes) == (size, 4 * size)


def test_bytes_of_a_tuple_are_those_of_its_leaves_and_of_a_token_none():
    token = ArrayShape(TYPES["token"], ())
    assert TupleShape((MATRIX, TupleShape((MATRIX, token)))).size_bytes == 48
    assert [str(leaf) for leaf in leaves(TupleShape((BufferShape(MATRIX), TupleShape((token,)))))] == [
        "f32[2,3]",
        "token[]",
    ]


def test_leaves_are_numbered_by_the_elements_in_which_they_lie():
    nested = TupleShape((BufferShape(MATRIX), TupleShape((TURNED,)), TupleShape(())))
    assert list(leaves_at(nested)) == [((0,), BufferShape(MATRIX)), ((1, 0), TURNED)]
    assert list(leaves_at(MATRIX)) == [((), MATRIX)]


def test_shapes_agree_where_only_layouts_differ():
    assert compatible(TupleShape((TURNED, BufferShape(TURNED))), TupleShape((MATRIX, BufferShape(MATRIX))))
    assert without_layout(TURNED) == MATRIX
    assert not compatible(MATRIX, MATRIX.with_type(S32))
    assert not compatible(MATRIX, MATRIX.with_dims((3, 2)))
    assert not compatible(MATRIX, TupleShape((MATRIX,)))
    assert not compatible(ArrayShape(F32, (3,), (True,)), ArrayShape(F32, (3,)))


@pytest.mark.parametrize(
    ("shape", "static"),
    [
        (ArrayShape(F32, (2,)), True),
        (ArrayShape(F32, (2,), (True,)), False),
        (ArrayShape(TYPES["token"], ()), False),
        (TupleShape(()), False),
    ],
)
def test_only_an_array_of_known_size_is_static(shape, static):
    assert is_static_array(shape) is static
