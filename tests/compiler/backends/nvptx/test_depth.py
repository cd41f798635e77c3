"""Chains of operations by hand, in cycles of what an H100 takes."""

from __future__ import annotations

import pytest

import compiler
from compiler.backends.nvptx.depth import depth_of
from compiler.codegen.kernel import kernel_of

READ, CACHED, SUM, PRODUCT, DIVISION, ROOT, COMPARISON = 479, 41, 4, 4, 60, 50, 4
COMPUTATIONS = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
on { s = (s32[], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(s), index=0  k = s32[] constant(10)
  ROOT go = pred[] compare(i, k), direction=LT }
grown { s = (s32[], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[64,64] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
  q = f32[64,64] divide(x, x)  y = f32[64,64] add(q, x)  ROOT t = (s32[], f32[64,64]) tuple(j, y) }
"""
LINES = {
    "y = f32[64,64] add(x, x)": SUM,
    "y = f32[64,64] transpose(x), dimensions={1,0}": 0,
    "y = f32[] reduce(x, zero), dimensions={0,1}, to_apply=add": 12 * SUM,
    "y = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}": PRODUCT + 6 * SUM,
    "y = f32[64,64] sort(x), dimensions={1}, to_apply=less": 6 * COMPARISON,
    "y = f32[64,64] cholesky(x), lower=true": 64 * (ROOT + DIVISION + PRODUCT),
    "y = f32[64,64] triangular-solve(x, x), lower=true": 64 * (PRODUCT + SUM),
    "y = f32[64,64] triangular-solve(x, x), lower=true, unit_diagonal=true": 64 * SUM,
}
FUSED = {
    "m = f32[64,64] multiply(p, p)  ROOT y = f32[64,64] add(m, p)": SUM,
    "m = f32[64,64] multiply(p, p)  ROOT y = f32[64,64] divide(m, p)": PRODUCT + DIVISION,
    "i = s32[1] constant({3})  ROOT y = f32[64] gather(p, i), offset_dims={0}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=0, slice_sizes={1,64}": 0,
    "c = s32[64,64] convert(p)  j = s32[1,1] slice(c), slice={[0:1], [0:1]}  i = s32[1] reshape(j)  "
    "ROOT y = f32[64] gather(p, i), offset_dims={0}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=0, slice_sizes={1,64}": SUM + CACHED,
    "z = s32[] constant(0)  t = (s32[], f32[64,64]) tuple(z, p)  "
    "w = (s32[], f32[64,64]) while(t), condition=on, body=grown  "
    "ROOT y = f32[64,64] get-tuple-element(w), index=1": 10 * (DIVISION + SUM),
}


@pytest.mark.parametrize("line", LINES)
def test_operations_are_as_deep_as_their_definitions(line: str) -> None:
    module = compiler.parse(
        f"{COMPUTATIONS} ENTRY e {{ zero = f32[] constant(0)  x = f32[64,64] parameter(0)  ROOT {line} }}"
    )
    assert depth_of(kernel_of(module.entry.root)) == READ + LINES[line]


@pytest.mark.parametrize("lines", FUSED)
def test_what_waits_for_one_another_adds_up(lines: str) -> None:
    result = "f32[64]" if "gather" in lines else "f32[64,64]"
    module = compiler.parse(
        f"{COMPUTATIONS} f {{ p = f32[64,64] parameter(0)  {lines} }} "
        f"ENTRY e {{ x = f32[64,64] parameter(0)  ROOT y = {result} fusion(x), kind=kLoop, calls=f }}"
    )
    assert depth_of(kernel_of(module.entry.root)) == READ + FUSED[lines]
