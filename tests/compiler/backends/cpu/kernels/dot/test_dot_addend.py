"""Products with something added to them, which registers hold when the sums are complete; small integers, exactly."""

import numpy as np
import pytest

import compiler

# The factors, the result, what is added before it has the result's form, how it gets that, and the dot's attributes.
_PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
_BATCH = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
CASES = {
    "as it is": ("f32[40,33]", "f32[33,70]", "f32[40,70]", "f32[40,70]", "copy(c)", _PLAIN),
    "spread over rows": ("f32[41,33]", "f32[33,70]", "f32[41,70]", "f32[70]", "broadcast(c), dimensions={1}", _PLAIN),
    "spread over columns": (
        "f32[41,33]",
        "f32[33,70]",
        "f32[41,70]",
        "f32[41]",
        "broadcast(c), dimensions={0}",
        _PLAIN,
    ),
    "one number": ("f64[19,33]", "f64[33,21]", "f64[19,21]", "f64[]", "broadcast(c), dimensions={}", _PLAIN),
    "transposed": ("f32[40,33]", "f32[33,70]", "f32[40,70]", "f32[70,40]", "transpose(c), dimensions={1,0}", _PLAIN),
    "part of more": (
        *("f32[40,33]", "f32[33,70]", "f32[40,70]", "f32[50,90]"),
        *("slice(c), slice={[5:45], [7:77]}", _PLAIN),
    ),
    "in blocks": ("f32[13,5000]", "f32[5000,300]", "f32[13,300]", "f32[300]", "broadcast(c), dimensions={1}", _PLAIN),
    "a batch": ("f32[3,40,33]", "f32[3,33,70]", "f32[3,40,70]", "f32[3,70]", "broadcast(c), dimensions={0,2}", _BATCH),
    "a vector": ("f32[40,33]", "f32[33,1]", "f32[40,1]", "f32[40,1]", "copy(c)", _PLAIN),
    "bytes": ("s8[40,33]", "s8[33,70]", "s32[40,70]", "s32[70]", "broadcast(c), dimensions={1}", _PLAIN),
    "bf16": ("bf16[40,34]", "bf16[34,70]", "f32[40,70]", "f32[40,70]", "copy(c)", _PLAIN),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("order", ["d, s", "s, d"])
def test_what_is_added_to_a_product(name, order):
    lhs, rhs, out, given, formed, attributes = CASES[name]
    source = (
        f"ENTRY e {{\n  a = {lhs} parameter(0)\n  b = {rhs} parameter(1)\n  c = {given} parameter(2)\n"
        f"  d = {out} dot(a, b), {attributes}\n  s = {out} {formed}\n  ROOT r = {out} add({order})\n}}\n"
    )
    module = compiler.parse(source)
    generator = np.random.default_rng(3)
    arrays = [parameter.array for parameter in module.entry.parameters]
    inputs = [generator.integers(-4, 5, array.dims).astype(array.element_type.dtype) for array in arrays]
    (expected,) = compiler.interpret(module, *inputs)
    for threads in (1, 2):
        (result,) = compiler.compile(source, options=compiler.CompileOptions(threads=threads))(*inputs)
        np.testing.assert_array_equal(result, expected)
