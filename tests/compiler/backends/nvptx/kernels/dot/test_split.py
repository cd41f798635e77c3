"""Products of few elements with long sums: made in parts, put together in a second launch, the same every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler import inputs
from compiler.backends.nvptx.kernels.dot import kernel
from xlabench.judging.differ import compare

PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
ACROSS = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
BATCH = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"


def dot(lhs: str, rhs: str, out: str, how: str, epilogue: str = "copy") -> str:
    return f"""ENTRY e {{ x = {lhs} parameter(0)  y = {rhs} parameter(1)
  d = {out} dot(x, y), {how}  ROOT r = {out} {epilogue}(d) }}"""


PRODUCTS = {
    "tiles by arithmetic": dot("f32[33,1100]", "f32[1100,20]", "f32[33,20]", PLAIN),
    "tiles by arithmetic, with an epilogue": dot("f32[16,700]", "f32[700,17]", "f32[16,17]", PLAIN, "abs"),
    "tiles of bf16": dot("bf16[32,2048]", "bf16[2048,32]", "bf16[32,32]", PLAIN),
    "tiles of f16": dot("f16[20,1500]", "f16[1500,24]", "f32[20,24]", PLAIN),
    "tiles of s8": dot("s8[17,2100]", "s8[2100,16]", "s32[17,16]", PLAIN, "negate"),
    "tiles of f64 in batches": dot("f64[2,20,600]", "f64[2,600,16]", "f64[2,20,16]", BATCH),
    "strips": dot("f32[5003,3]", "f32[5003,20]", "f32[3,20]", ACROSS, "exponential"),
    "strips of s16": dot("s16[4000,2]", "s16[4000,17]", "s32[2,17]", ACROSS),
    "lines by vectors": dot("f32[3,20011]", "f32[20011]", "f32[3]", PLAIN, "negate"),
    "lines by vectors in batches": dot("f32[2,2,21000]", "f32[2,21000,3]", "f32[2,2,3]", BATCH),
    "strips by vectors": dot("bf16[2,4001]", "bf16[4001,40]", "bf16[2,40]", PLAIN),
}
WHOLE = {
    "a convolution of few places": """ENTRY e { x = f32[1,12,12,5] parameter(0)  w = f32[11,11,5,3] parameter(1)
  ROOT r = f32[1,4,4,3] convolution(x, w), window={size=11x11 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }""",
    "tiles of a short sum": dot("f32[33,300]", "f32[300,20]", "f32[33,20]", PLAIN),
    "tiles enough": dot("f32[1024,600]", "f32[600,512]", "f32[1024,512]", PLAIN),
}


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small products made in tiles, too."""
    monkeypatch.setattr(kernel, "_SMALL", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("small_launches")
@pytest.mark.parametrize("name", [*PRODUCTS, *WHOLE])
def test_sums_in_parts_are_right_and_repeat_themselves(name: str, gpu: Any) -> None:
    module = compiler.parse({**PRODUCTS, **WHOLE}[name])
    launches = str(gpu.compile(module).artifacts["thunk_sequence.txt"]).count("launch")
    assert launches == (2 if name in PRODUCTS else 1)
    if name == "tiles enough":
        return
    arrays = inputs.draw(module, 3)
    actual = gpu(module, *arrays, global_races=True)
    comparison = compare(compiler.interpret(module, *arrays), actual)
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()
    for one, other in zip(actual, gpu(module, *arrays), strict=True):
        assert np.array_equal(one, other)
