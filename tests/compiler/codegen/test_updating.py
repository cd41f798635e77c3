"""An update writes its own elements where the indices say, pushed inside the array, and nothing else."""

import numpy as np
import pytest
from emitted_kernels import for_each, kernel, run

import compiler
from compiler.codegen.updating import shape_of, write_element

TEXT = """ENTRY e { x = f32[4,5] parameter(0)  u = f32[2,3] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
  n = f32[2,3] negate(u)  ROOT d = f32[4,5] dynamic-update-slice(x, u, i, j) }"""
X, U = np.arange(20, dtype=np.float32).reshape(4, 5), -np.arange(1, 7, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("at", [(0, 0), (1, 2), (2, 1), (9, -3), (-1, 2**31 - 1)], ids=str)
def test_elements_go_to_where_the_indices_say_and_the_rest_stays(at):
    found, inputs = kernel(TEXT), (X, U, *np.array(at, np.int32))
    assert str(shape_of(found)) == "f32[2,3]"
    emit = for_each(6, lambda emission, number: write_element(found, emission, number))
    written = run(found, emit, inputs, start=X)
    np.testing.assert_array_equal(written, compiler.interpret(compiler.parse(TEXT), *inputs)[0])
