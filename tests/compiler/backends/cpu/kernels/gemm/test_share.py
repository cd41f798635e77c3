"""What is divided among threads is done once, however little there is.

Where results lie over what they are made of, as a sum over its addend, what two chunks do both is done twice.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import compiler

DTYPES = {"f32": np.float32, "s32": np.int32, "s8": np.int8}
SHAPES = ((1, 1, 1), (1, 1, 3), (1, 3, 1), (2, 1, 1), (1, 2, 40), (1, 40, 2), (1, 17, 35))
"""Batches, rows and columns: fewer of each than threads, and more."""
OPTIONS = compiler.CompileOptions(threads=4, share_all=True, backwards=True, opt=0)


def summed(element_type: str, shape: tuple[int, int, int], terms: int) -> str:
    """A product to which sums are added that nobody needs behind it, so that the result lies over them."""
    batch, rows, columns = shape
    dims = f"{batch},{rows},{columns}"
    return f"""add {{ a = {element_type}[] parameter(0)  b = {element_type}[] parameter(1)
      ROOT s = {element_type}[] add(a, b) }}
    ENTRY e {{ x = {element_type}[{batch},{rows},{terms}] parameter(0)
      y = {element_type}[{batch},{terms},{columns}] parameter(1)
      w = {element_type}[50,{dims}] parameter(2)  zero = {element_type}[] constant(0)
      sums = {element_type}[{dims}] reduce(w, zero), dimensions={{0}}, to_apply=add
      product = {element_type}[{dims}] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}},
        lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}
      scaled = {element_type}[{dims}] multiply(product, sums)
      ROOT r = {element_type}[{dims}] add(scaled, sums) }}"""


@pytest.mark.parametrize(("element_type", "terms"), list(itertools.product(DTYPES, (0, 1, 8, 3000))))
def test_each_result_of_a_product_is_computed_once(element_type, terms):
    over = 0
    for shape in SHAPES:
        module = compiler.parse(summed(element_type, shape, terms))
        executable = compiler.compile(module, options=OPTIONS)
        over += sum(bool(kernel.in_place) for kernel in executable._lowering().plan.kernels.values())
        arrays = [np.random.default_rng(7).integers(-1, 2, p.array.dims) for p in module.entry.parameters]
        arrays = [array.astype(DTYPES[element_type]) for array in arrays]
        assert np.array_equal(executable(*arrays)[0], compiler.interpret(module, *arrays)[0]), shape
    assert over >= 1, "no result lies over what is added"
