"""A block makes several results of the same elements, a lane several of narrow types, in the order of each alone."""

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


COLUMNS = {
    "a sum": "ROOT r = {t}[] add(a, b)",
    "the greatest": "ROOT r = {t}[] maximum(a, b)",
    "the last one": "ROOT r = {t}[] add(b, {t}[] subtract(a, a))",
}


@pytest.mark.slow
@pytest.mark.parametrize("reducer", COLUMNS)
@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize(
    ("type_", "dims", "many"),
    [
        ("s8", "96,256", 4),
        ("u8", "97,260", 4),
        ("s8", "3,96,130", 2),
        ("s8", "65,131", 1),
        ("s16", "3,70,192", 2),
        ("bf16", "128,68", 2),
        ("f16", "100,66", 2),
        ("f8e5m2", "64,128", 4),
        ("s32", "64,128", 1),
    ],
)
def test_a_lane_has_several_columns_of_narrow_types(
    type_: str, dims: str, many: int, chunks: int, reducer: str, gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emitter, "_STRIP_BLOCKS", 1 if chunks == 1 else 8)
    monkeypatch.setattr(emitter, "_STRIP_LONG", 64)
    monkeypatch.setattr(emitter, "_STRIP_CHUNK", 16)
    sizes = [int(dim) for dim in dims.split(",")]
    reduced = 1 if len(sizes) == 3 and sizes[0] == 3 else 0
    kept = [size for number, size in enumerate(sizes) if number != reduced]
    module = compiler.parse(f"""c {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)
  {COLUMNS[reducer].format(t=type_)} }}
ENTRY e {{ x = {type_}[{dims}] parameter(0)  z = {type_}[] constant(0)
  ROOT r = {type_}[{",".join(map(str, kept))}] reduce(x, z), dimensions={{{reduced}}}, to_apply=c }}""")
    executable = gpu.compile(module)
    strips = -(-int(np.prod(kept)) // (32 * many))
    if chunks == 1:
        assert f"<<<{strips}, " in str(executable.artifacts["thunk_sequence.txt"])
    # Small whole numbers, whose sums every type but the narrowest has exactly.
    dtype = module.entry.parameters[0].array.element_type.dtype
    x = np.random.default_rng(0).integers(0, 2, sizes).astype(dtype)
    if type_ == "f8e5m2":
        x[x.shape[0] // 16 :] = 0
    actual = gpu(module, x, global_races=True)[0]
    assert np.array_equal(actual, compiler.interpret(module, x)[0])
