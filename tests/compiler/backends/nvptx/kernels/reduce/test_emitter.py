"""A block makes several results where they are of the same elements, in the order that each alone would have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.reduce import emitter

REDUCERS = {
    "a sum": "ROOT r = s32[] add(a, b)",
    "the last one": "ROOT r = s32[] add(b, s32[] subtract(a, a))",
}


def pairs(reducer: str, bodies: int, places: int) -> compiler.Module:
    """Of each body and place what all bodies amount to."""
    shape = f"s32[{bodies},{bodies},{places}]"
    return compiler.parse(f"""c {{ a = s32[] parameter(0)  b = s32[] parameter(1)  {reducer} }}
ENTRY e {{ x = s32[{bodies},{places}] parameter(0)  z = s32[] constant(0)
  i = {shape} broadcast(x), dimensions={{0,2}}  j = {shape} broadcast(x), dimensions={{1,2}}
  d = {shape} subtract(i, j)  p = {shape} multiply(d, i)
  ROOT r = s32[{bodies},{places}] reduce(p, z), dimensions={{1}}, to_apply=c }}""")


@pytest.mark.slow
@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize(("bodies", "places", "many"), [(72, 4, 4), (75, 3, 3), (71, 2, 2), (67, 5, 1)])
def test_a_block_makes_several_results_of_the_same_elements(
    reducer: str, bodies: int, places: int, many: int, gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emitter, "_STRIP_BLOCKS", 1)
    monkeypatch.setattr(emitter, "_READ_OFTEN", 16)
    module = pairs(REDUCERS[reducer], bodies, places)
    x = np.random.default_rng(0).integers(-9, 9, (bodies, places)).astype(np.int32)
    executable = gpu.compile(module)
    assert f"<<<{bodies * places // many}, " in str(executable.artifacts["thunk_sequence.txt"])
    assert np.array_equal(executable(x)[0], compiler.interpret(module, x)[0])
