"""Tiles of what is read across: every width of element, in words and element by element, at every edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler import inputs
from compiler.backends.nvptx.kernels.loop import crossed
from xlabench.judging.differ import compare

SIDES = {"f64": 32, "c64": 32, "f32": 32, "bf16": 64, "f16": 64, "s16": 64, "s8": 128, "pred": 128, "f8e5m2": 128}
"""Rows and columns of a tile that is large enough."""
SHAPES = {"whole tiles": (128, 256), "edges at words": (132, 260), "odd rows": (131, 256), "odd both": (129, 135)}
FUSED = {
    "to a wider type": """ENTRY e { x = bf16[192,128] parameter(0)  y = f32[128,192] parameter(1)
      t = bf16[128,192] transpose(x), dimensions={1,0}  c = f32[128,192] convert(t)
      ROOT r = f32[128,192] add(c, y) }""",
    "to a narrower type": """ENTRY e { x = f32[192,130] parameter(0)
      t = f32[130,192] transpose(x), dimensions={1,0}  ROOT r = s8[130,192] convert(t) }""",
    "two of different types": """ENTRY e { x = s8[192,128] parameter(0)  y = s16[192,128] parameter(1)
      t = s8[128,192] transpose(x), dimensions={1,0}  u = s16[128,192] transpose(y), dimensions={1,0}
      c = s16[128,192] convert(t)  ROOT r = s16[128,192] subtract(c, u) }""",
    "a part that begins between words": """ENTRY e { x = s16[200,129] parameter(0)
      s = s16[192,128] slice(x), slice={[5:197],[1:129]}
      ROOT r = s16[128,192] transpose(s), dimensions={1,0} }""",
    "a part that begins at a word": """ENTRY e { x = s8[200,136] parameter(0)
      s = s8[192,128] slice(x), slice={[5:197],[4:132]}
      ROOT r = s8[128,192] transpose(s), dimensions={1,0} }""",
    "in batches": """ENTRY e { x = s8[3,2,130,132] parameter(0)
      ROOT r = s8[2,132,3,130] transpose(x), dimensions={1,3,0,2} }""",
    "read both ways": """ENTRY e { x = bf16[130,130] parameter(0)
      t = bf16[130,130] transpose(x), dimensions={1,0}  ROOT r = bf16[130,130] add(x, t) }""",
}


@pytest.fixture
def few_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles are large, however few there are."""
    monkeypatch.setattr(crossed, "_MANY_BLOCKS", 1)


def is_right(text: str, gpu: Any) -> dict[str, Any]:
    """The plan of a program's only kernel, which is right to the bit and without races."""
    module = compiler.parse(text)
    (decision,) = compiler.decide(module, "nvptx", compiler.CompileOptions(arch="sm_90")).to_json()["kernels"]
    assert decision["strategy"] == "transposing tiles"
    arrays = inputs.draw(module, 9)
    comparison = compare(compiler.interpret(module, *arrays), gpu(module, *arrays, global_races=True))
    assert comparison.agreement == "bitwise", comparison.describe()
    return decision


@pytest.mark.slow
@pytest.mark.usefixtures("few_tiles")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("type_", SIDES)
def test_transposes(type_: str, shape: str, gpu: Any) -> None:
    rows, columns = SHAPES[shape]
    text = f"""ENTRY e {{ x = {type_}[{rows},{columns}] parameter(0)
      ROOT r = {type_}[{columns},{rows}] transpose(x), dimensions={{1,0}} }}"""
    decision = is_right(text, gpu)
    assert decision["details"]["tile"] == [SIDES[type_]] * 2
    first = decision["modelled"]["launch 1"]
    if shape != "odd both" and shape != "odd rows":
        assert first["sectors"] <= 1.3 * first["least_sectors"]
    if shape == "whole tiles":
        assert first["shared_passes"] == first["least_shared_passes"]


@pytest.mark.slow
@pytest.mark.usefixtures("few_tiles")
@pytest.mark.parametrize("name", FUSED)
def test_what_is_fused_around(name: str, gpu: Any) -> None:
    assert is_right(FUSED[name], gpu)["details"]["tile"][0] >= 2 * 32


@pytest.mark.parametrize(("rows", "side"), [(256, 32), (4096, 64)])
def test_tiles_are_large_where_there_are_many(rows: int, side: int) -> None:
    module = compiler.parse(f"""ENTRY e {{ x = bf16[{rows},512] parameter(0)
      ROOT r = bf16[512,{rows}] transpose(x), dimensions={{1,0}} }}""")
    (decision,) = compiler.decide(module, "nvptx", compiler.CompileOptions(arch="sm_90")).to_json()["kernels"]
    assert np.array_equal(decision["details"]["tile"], [side, side])
