"""What rounds elements one by one stands in one module with what rounds them in vectors, by the same intrinsics."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

# Lanes of a convolution round its sums; beside it others round their two elements.
PROGRAM = """ENTRY e {{
  x = {wide}[1,4,1] parameter(0)
  k = {wide}[2,1,4] parameter(1)
  p = {source}[2] parameter(2)
  q = {bits}[2] parameter(3)
  c = {narrow}[1,3,4] convolution(x, k), window={{size=2}}, dim_labels=b0f_0io->b0f
  s = {result}[2] {beside}
  ROOT t = ({narrow}[1,3,4], {result}[2]) tuple(c, s)
}}"""
BITS = {"f64": "u64", "f32": "u32", "f16": "u16", "bf16": "u16"}
BESIDE = {
    "stochastic-convert(p, q)": "s32",
    "convert(p)": "bf16",
    "reduce-precision(p), exponent_bits=5, mantissa_bits=10": "",
    "round-nearest-even(p)": "",
    "sign(p)": "",
}
"""What the others do, and the type of what they give where it is not their own."""


@pytest.mark.slow
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("source", BITS)
@pytest.mark.parametrize(("wide", "narrow"), [("f64", "bf16"), ("f64", "f16"), ("f32", "bf16"), ("f32", "f16")])
def test_elements_are_rounded_alike_in_vectors_and_beside_them(wide, narrow, source, beside):
    names = {"wide": wide, "narrow": narrow, "source": source, "bits": BITS[source], "beside": beside}
    module = compiler.parse(PROGRAM.format(**names, result=BESIDE[beside] or source))
    values = [[1, 2, -1.00390625, 0.5], [1, 0.5, -2, 3, 0, 1, 0.25, -1], [2.5, -2.5], [0, -1]]
    parameters = [parameter.array for parameter in module.entry.parameters]
    given = [
        np.array(value).astype(np.int64 if array.element_type.is_integer else np.float64)
        .astype(array.element_type.dtype).reshape(array.dims)
        for value, array in zip(values, parameters, strict=True)
    ]  # fmt: skip
    for found, expected in zip(compiler.compile(module)(*given), compiler.interpret(module, *given), strict=True):
        np.testing.assert_array_equal(found, expected)
