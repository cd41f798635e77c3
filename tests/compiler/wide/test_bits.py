"""Bits of a NaN are open wherever a cut of them comes, and all others are known."""

import numpy as np
import pytest
from wide_results import wide

from compiler.ir.types import TYPES

_PAYLOADS = {
    "f64": 0x7FF8000000000123,
    "f32": 0x7FC00123,
    "bf16": 0x7FC5,
    "f16": 0x7E05,
    "f8e5m2": 0x7F,
    "f8e4m3": 0x7D,
}
"""A NaN whose bits are not those that a conversion gives."""
_CUTS = [
    ("bitcast", "f64[2]", "s64[2]", (1,)),
    ("bitcast", "f32[2]", "u32[2]", (1,)),
    ("bitcast", "bf16[2]", "s16[2]", (1,)),
    ("bitcast", "f16[2,2]{0,1}", "u16[2,2]{1,0}", (2,)),
    ("bitcast", "f16[2,2]{1,0}", "bf16[2,2]{0,1}", (2,)),
    ("bitcast", "f8e5m2[8]", "u32[2]", (0,)),
    ("bitcast", "f8e4m3[4,2]{1,0}", "u16[4]", (0,)),
    ("bitcast", "bf16[2]", "f8e4m3[2,2]{1,0}", (2, 3)),
    ("bitcast", "f64[2]", "u8[16]", range(8, 16)),
    ("bitcast-convert", "f32[2]", "u8[2,4]", range(4, 8)),
    ("bitcast-convert", "f8e5m2[2,4]", "u32[2]", (0,)),
    ("bitcast-convert", "f16[2]", "bf16[2]", (1,)),
]
"""Opcode, types, and which elements in a row have bits of the second one."""


@pytest.mark.parametrize(("opcode", "given", "made", "reached"), _CUTS)
@pytest.mark.parametrize("is_nan", [True, False])
def test_what_has_bits_of_a_nan_is_open(opcode, given, made, reached, is_nan):
    name, _, dims = given.partition("[")
    kind = TYPES[name]
    inputs = np.ones([int(size) for size in dims.partition("]")[0].split(",")], kind.dtype)
    if is_nan:
        bits = inputs.reshape(-1).view(f"u{kind.dtype.itemsize}")
        bits[1] = _PAYLOADS[name]
    (result,) = wide(f"x = {given} parameter(0)", f"ROOT r = {made} {opcode}(x)", inputs=(inputs,))
    assert np.flatnonzero(result.undecided).tolist() == (list(reached) if is_nan else [])
