"""Modules called again: captured whole or, where the host decides on the way, between decisions; right every time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.nvptx import replay
from compiler.backends.nvptx.simulated import SimulatedDevice

LOOP = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
one { x = f32[8] parameter(0)  n = f32[8] negate(x)  ROOT r = f32[8] reverse(n), dimensions={0} }
two { x = f32[8] parameter(0)  ROOT r = f32[8] add(x, x) }
cond { s = (s32[], f32[8]) parameter(0)  x = f32[8] get-tuple-element(s), index=1
  z = f32[] constant(0)  sum = f32[] reduce(x, z), dimensions={0}, to_apply=add
  i = s32[] get-tuple-element(s), index=0  few = pred[] compare(i, s32[] constant(9)), direction=LT
  small = pred[] compare(sum, f32[] constant(100)), direction=LT  ROOT p = pred[] and(few, small) }
body { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  j = s32[] add(i, s32[] constant(1))  r = s32[] remainder(i, s32[] constant(3))
  y = f32[8] conditional(r, x, x), branch_computations={one, two}  ROOT t = (s32[], f32[8]) tuple(j, y) }
ENTRY e { x = f32[8] parameter(0)  i = s32[] constant(0)  s = (s32[], f32[8]) tuple(i, x)
  w = (s32[], f32[8]) while(s), condition=cond, body=body
  y = f32[8] get-tuple-element(w), index=1  e = f32[8] exponential(f32[8] negate(y))
  n = s32[] get-tuple-element(w), index=0  ROOT r = (s32[], f32[8]) tuple(n, e) }"""
COUNTED = """
cond { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  ROOT p = pred[] compare(i, s32[] constant(5)), direction=LT }
body { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1  r = f32[8] reverse(x), dimensions={0}
  j = s32[] add(i, s32[] constant(1))  y = f32[8] add(x, r)  ROOT t = (s32[], f32[8]) tuple(j, y) }
ENTRY e { i = s32[] constant(0)  x = f32[8] parameter(0)  s = (s32[], f32[8]) tuple(i, x)
  w = (s32[], f32[8]) while(s), condition=cond, body=body  ROOT y = f32[8] get-tuple-element(w), index=1 }"""


@pytest.mark.slow
@pytest.mark.usefixtures("small_launches")
@pytest.mark.parametrize(
    ("text", "most", "graphs"), [(LOOP, 10_000, 7), (COUNTED, 10_000, 1), (COUNTED, 3, 5), (LOOP, 1, 12)]
)
def test_a_module_is_replayed_in_pieces(text: str, most: int, graphs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    captured: list[Callable[[], None]] = []
    monkeypatch.setattr(replay, "_MOST_CAPTURED", most)
    monkeypatch.setattr(SimulatedDevice, "replays", True)
    monkeypatch.setattr(SimulatedDevice, "capture", lambda _, action: captured.append(action) or action)
    module = compiler.parse(text)
    executable = compiler.compile(module, "nvptx", CompileOptions(device="sim", arch="sm_80"))
    for start in (0.5, -2.0, 30.0, 3.0):
        x: Any = np.arange(8, dtype=np.float32) * np.float32(start)
        for one, other in zip(compiler.interpret(module, x), executable(x), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-6)
    assert len(captured) == graphs
