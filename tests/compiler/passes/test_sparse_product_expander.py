"""Sparse matrices by their rows times dense ones: the numbers of a dense product, within the reference's bounds."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

OPTIONS = compiler.CompileOptions(verify_each=True)
DTYPES = {
    "s32": np.int32,
    "s64": np.int64,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
STARTS = np.array([0, 3, 3, 4, 9, 10], np.int32)
COLUMNS = np.array([0, 2, 6, 1, 0, 1, 1, 4, 5, 6, 7, 9], np.int32)
"""The last two stand for padding: they belong to no row, and to no column of seven."""


def program(element_type, right):
    dims = ",".join(map(str, right))
    result = ",".join(map(str, (len(STARTS) - 1, *right[1:])))
    return f"""ENTRY e {{
      p0 = {element_type}[{len(COLUMNS)}] parameter(0) p1 = s32[{len(STARTS)}] parameter(1)
      p2 = s32[{len(COLUMNS)}] parameter(2) p3 = {element_type}[{dims}] parameter(3)
      ROOT r = {element_type}[{result}] custom-call(p0, p1, p2, p3), custom_call_target="cpu_csr_sparse_dense_ffi" }}"""


def drawn(element_type, right):
    generator = np.random.default_rng(0)
    factors = []
    for dims in ((len(COLUMNS),), right):
        real, imaginary = 9 * generator.standard_normal((2, *dims))
        factors.append((real + 1j * imaginary if element_type[0] == "c" else real).astype(DTYPES[element_type]))
    return factors


@pytest.mark.parametrize("right", [(7,), (7, 3), (7, 0), (0,)], ids=str)
@pytest.mark.parametrize("element_type", DTYPES)
def test_product_of_rows(element_type, right) -> None:
    elements, factor = drawn(element_type, right)
    dense = np.zeros((len(STARTS) - 1, 7), DTYPES[element_type])
    for row in range(len(dense)):
        for at in range(STARTS[row], STARTS[row + 1]):
            dense[row, COLUMNS[at]] += elements[at]
    wanted = dense[:, : right[0]] @ factor
    module = compiler.parse(program(element_type, right))
    inputs = (elements, STARTS, COLUMNS, factor)
    [expected] = compiler.interpret(module, *inputs)
    [wide] = compiler.interpret(module, *inputs, wide=True)
    [found] = compiler.compile(module, "cpu", OPTIONS)(*inputs)
    for have in (expected, found):
        np.testing.assert_allclose(have, wanted, rtol=1e-5, atol=1e-4)
        assert wide.allows(have).all()
    assert np.isfinite(wide.bound).all()
    off = found + 1
    assert not wide.allows(off).any()


def test_what_is_not_finite_spoils_its_row_alone() -> None:
    elements, factor = drawn("f32", (7,))
    elements[3], elements[-1] = np.inf, np.nan
    inputs = (elements, STARTS, COLUMNS, factor)
    module = compiler.parse(program("f32", (7,)))
    [found] = compiler.compile(module, "cpu", OPTIONS)(*inputs)
    assert np.isfinite(found).tolist() == [True, True, False, True, True]
    np.testing.assert_allclose(found, compiler.interpret(module, *inputs)[0], rtol=1e-5)
