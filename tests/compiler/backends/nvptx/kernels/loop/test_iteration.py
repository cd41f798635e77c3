"""Loops whose elements go their own ways: iterations that become one, and those that are left over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions

STATE = "(s32[], f32[64], f32[TRIPS,64], f32[TRIPS,64])"
TEXT = """
on { s = STATE parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(TRIPS)
  ROOT go = pred[] compare(i, n), direction=LT }
step { s = STATE parameter(0)  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  h = f32[64] get-tuple-element(s), index=1  y = f32[TRIPS,64] get-tuple-element(s), index=2
  x = f32[TRIPS,64] get-tuple-element(s), index=3  z = s32[] constant(0)
  r = f32[1,64] dynamic-slice(x, i, z), dynamic_slice_sizes={1,64}  v = f32[64] reshape(r)
  d = f32[64] subtract(v, h)  k = f32[] constant(0.25)  q = f32[64] broadcast(k), dimensions={}
  p = f32[64] multiply(q, d)  g = f32[64] add(h, p)  w = f32[1,64] reshape(g)
  o = f32[TRIPS,64] dynamic-update-slice(y, w, i, z)  j = s32[] add(i, one)  ROOT t = STATE tuple(j, g, o, x) }
ENTRY e { x = f32[TRIPS,64] parameter(0)  h = f32[64] parameter(1)  z = s32[] constant(0)  c = f32[] constant(0)
  y = f32[TRIPS,64] broadcast(c), dimensions={}  t = STATE tuple(z, h, y, x)
  w = STATE while(t), condition=on, body=step  ROOT r = f32[TRIPS,64] get-tuple-element(w), index=2 }""".replace(
    "STATE", STATE
)


@pytest.mark.slow
@pytest.mark.parametrize(("trips", "together"), [(50, 50), (67, 48), (128, 32)])
def test_many_reads_are_under_way_at_once(trips: int, together: int, gpu: Any) -> None:
    text = TEXT.replace("TRIPS", str(trips))
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(dims).astype(np.float32) for dims in ((trips, 64), (64,))]
    (expected,) = compiler.interpret(compiler.parse(text), *arrays)
    (actual,) = gpu(text, *arrays, global_races=True)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)
    ptx = compiler.compile(compiler.parse(text), "nvptx", CompileOptions(device="sim")).ptx
    assert ptx.count("ld.global") >= together
