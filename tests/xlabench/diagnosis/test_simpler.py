"""What is tried instead of a size, a type or a value is simpler than that."""

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.ir import types
from xlabench.diagnosis.simpler import TYPES, sizes, type_rank, value_rank, values_for


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_replaced_by_a_more_usual_one(name):
    assert name in types.TYPES
    assert all(type_rank(other) < type_rank(name) for other in TYPES[name])


def test_sizes_are_tried_from_the_largest_and_each_only_gets_smaller():
    found = list(sizes(compiler.parse("ENTRY e { x = f32[7,1] parameter(0)  ROOT y = f32[7,1] negate(x) }")))
    assert {size for size, _ in found} == {7}
    assert [smaller for _, smaller in found] == [1, 2, 3, 4, 5, 3, 6]
    assert not list(sizes(compiler.parse("ENTRY e { ROOT x = f32[1,0] parameter(0) }")))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8, np.bool_, np.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_values_have_the_shape_and_type_and_the_simplest_comes_first(dtype, shape):
    array = np.full(shape, 0.7).astype(dtype)
    found = values_for(array)
    assert all((one.dtype, one.shape) == (array.dtype, shape) for one in found)
    assert not found[0].astype(bool).any()


@pytest.mark.parametrize(
    ("values", "rank"),
    [([0, 0, 0], 0), ([1, 1, 1], 1), ([0, 1, 2], 2), ([5, -3, 9], 3), ([0.5, 0, 0], 4), ([np.inf, 1, np.nan], 3)],
)
def test_values_are_ranked_by_how_simple_they_are(values, rank):
    assert value_rank(np.array(values, np.float32)) == rank
