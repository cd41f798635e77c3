"""Factors are packed in blocks that no vector is too short for, whatever registers a CPU has."""

import itertools

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.machines import WITHOUT
from compiler.options import CompileOptions

SIZES = [(2, 1, 1), (3, 1, 1), (1, 2, 1), (1, 1, 3), (2, 3, 1), (3, 2, 2), (1, 17, 3), (5, 33, 1)]
SIDES = list(itertools.product((0, 1), repeat=2))


def product(element_type, sizes, left, right):
    """The text of a product whose contracted dimensions are these."""
    m, k, n = sizes
    a, b = ((m, k), (k, m))[1 - left], ((k, n), (n, k))[right]
    return f"""ENTRY e {{ a = {element_type}[{a[0]},{a[1]}] parameter(0)
      b = {element_type}[{b[0]},{b[1]}] parameter(1)
      ROOT d = {element_type}[{m},{n}] dot(a, b),
      lhs_contracting_dims={{{left}}}, rhs_contracting_dims={{{right}}} }}"""


@pytest.mark.parametrize("without", WITHOUT)
@pytest.mark.parametrize("element_type", ["f32", "f64", "c64", "c128"])
def test_few_rows_and_columns(element_type, without):
    options = CompileOptions(without=(without,), opt=0, threads=1)
    for sizes, (left, right) in itertools.product(SIZES, SIDES):
        module = compiler.parse(product(element_type, sizes, left, right))
        arrays = [parameter.array for parameter in module.entry.parameters]
        a, b = (np.arange(1, 1 + one.size).reshape(one.dims).astype(one.element_type.dtype) for one in arrays)
        (found,) = compiler.compile(module, options=options)(a, b)
        np.testing.assert_array_equal(found, (a if left else a.T) @ (b.T if right else b))
