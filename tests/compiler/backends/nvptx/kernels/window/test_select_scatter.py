"""Windows of select-and-scatter may be reversed, and lie over arrays with holes, in whatever else they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.ir.attributes import WindowDimension
from compiler.ir.windows import output_size

TEXT = """ge {{ a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }}
add {{ a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }}
ENTRY e {{ x = s32[5,4] parameter(0)  s = s32[{0},{1}] parameter(1)  z = s32[] parameter(2)
  ROOT r = s32[5,4] select-and-scatter(x, s, z), window={{{2}}}, select=ge, scatter=add }}"""


@pytest.mark.parametrize("rhs_reversal", [(0, 0), (1, 0), (1, 1)], ids=str)
@pytest.mark.parametrize("lhs_dilate", [(1, 1), (2, 1), (2, 3)], ids=str)
@pytest.mark.parametrize(
    "rest",
    ["size=2x2 stride=2x2", "size=3x1 stride=1x2 pad=1_1x0_1", "size=2x2 pad=1_1x0_1 rhs_dilate=1x2"],
)
def test_windows_of_any_form_pick_the_right_elements(
    rest: str, lhs_dilate: tuple[int, int], rhs_reversal: tuple[int, int], gpu: Any
) -> None:
    said = dict(word.split("=") for word in rest.split())
    counts = [
        output_size(
            size,
            WindowDimension(
                size=int(said["size"].split("x")[dim]),
                stride=int(said.get("stride", "1x1").split("x")[dim]),
                pad_low=int(said.get("pad", "0_0x0_0").split("x")[dim].split("_")[0]),
                pad_high=int(said.get("pad", "0_0x0_0").split("x")[dim].split("_")[1]),
                lhs_dilate=lhs_dilate[dim],
                rhs_dilate=int(said.get("rhs_dilate", "1x1").split("x")[dim]),
            ),
        )
        for dim, size in enumerate((5, 4))
    ]
    words = [("lhs_dilate", lhs_dilate), ("rhs_reversal", rhs_reversal)]
    window = " ".join([rest, *(f"{name}={one}x{other}" for name, (one, other) in words)])
    module, rng = compiler.parse(TEXT.format(*counts, window)), np.random.default_rng(0)
    given = [rng.integers(0, 4, p.array.dims).astype(np.int32) for p in module.entry.parameters]
    (expected,) = compiler.interpret(module, *given)
    for found in (gpu(module, *given), compiler.compile(module)(*given)):
        np.testing.assert_array_equal(found[0], expected)
