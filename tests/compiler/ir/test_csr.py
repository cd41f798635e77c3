"""A sparse matrix by its rows times a dense one is what the dense product gives; padding counts for nothing."""

from itertools import pairwise

import numpy as np
import pytest

import compiler
from compiler.ir.csr import TARGET, is_product, product


def dense(elements, starts, columns, width):
    found = np.zeros((len(starts) - 1, width), elements.dtype)
    for row, (first, last) in enumerate(pairwise(starts)):
        for at in range(first, last):
            found[row, columns[at]] += elements[at]
    return found


@pytest.mark.parametrize("starts", [[0, 2, 2, 5], [1, 2, 3, 4], [0, 0, 0, 0], [5, 5, 5, 5]])
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 0)])
def test_rows_are_sums_of_their_elements(starts, shape):
    starts, columns = np.array(starts, np.int32), np.array([0, 3, 1, 1, 2], np.int32)
    elements, right = np.arange(1, 6, dtype=np.float64), np.arange(4 * 3).reshape(4, 3).astype(np.float64)
    right = right[:, 0] if len(shape) == 1 else right[:, : shape[1]]
    expected = dense(elements, starts, columns, 4) @ right
    np.testing.assert_array_equal(product(elements, starts, columns, right), expected)


def test_of_an_empty_right_side_nothing_is_read():
    result = product(np.ones(2), np.array([0, 2], np.int32), np.zeros(2, np.int32), np.zeros((0, 3)))
    assert result.tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(
    ("call", "whole"),
    [
        ("f32[2,3]; f32[5]; s32[3]; s32[5]; f32[4,3]", True),
        ("f32[2]; f32[5]; s32[3]; s32[5]; f32[4]", True),
        ("f32[3,3]; f32[5]; s32[3]; s32[5]; f32[4,3]", False),
        ("f32[2,3]; f32[5]; s64[3]; s32[5]; f32[4,3]", False),
        ("f32[2,3]; f32[5]; s32[3]; s32[4]; f32[4,3]", False),
        ("f64[2,3]; f32[5]; s32[3]; s32[5]; f32[4,3]", False),
        ("f32[2,3]; f32[5]; s32[0]; s32[5]; f32[4,3]", False),
        ("f32[2,3]; f32[5]; s32[3]; s32[5]", False),
    ],
)
def test_a_call_is_the_product_where_its_shapes_belong_together(call, whole):
    result, *operands = call.split("; ")
    lines = [f"p{number} = {type_} parameter({number})" for number, type_ in enumerate(operands)]
    names = ", ".join(f"p{number}" for number in range(len(operands)))
    lines.append(f'ROOT y = {result} custom-call({names}), custom_call_target="{TARGET}"')
    module = compiler.parse(f"ENTRY e {{ {' '.join(lines)} }}")
    assert is_product(module.entry.root) is whole
