"""Windows: large ones in as many steps as they have sizes, and what they would need is said before it is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.diagnostics import UnsupportedError
from compiler.text.parser import parse


def test_padding_too_large_for_memory_is_refused_with_its_size() -> None:
    windows = "window={size=4000000000000000 pad=3999999999999999_0}, to_apply=a"
    module = parse(
        "a { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
        "ENTRY e { x = f32[4] constant({1,2,3,4}) z = f32[] constant(0) "
        f"ROOT r = f32[4] reduce-window(x, z), {windows} }}"
    )
    for wide in (False, True):
        with pytest.raises(UnsupportedError, match=r"it would need (16|32)0000000000000\d\d bytes"):
            compiler.interpret(module, wide=wide)


@pytest.mark.parametrize(("opcode", "whole"), [("add", np.sum), ("maximum", np.max)])
def test_a_window_wide_in_several_dimensions_is_reduced_by_one_after_the_other(opcode: str, whole: Any) -> None:
    module = parse(
        f"a {{ x = s32[] parameter(0) y = s32[] parameter(1) ROOT s = s32[] {opcode}(x, y) }}\n"
        "ENTRY e { x = s32[70,60] parameter(0) z = s32[] constant(-9) "
        "ROOT r = s32[21,13] reduce-window(x, z), window={size=30x25 stride=2x3 pad=0_0x2_0}, to_apply=a }"
    )
    x = np.random.default_rng(0).integers(-50, 50, (70, 60)).astype(np.int32)
    padded = np.pad(x, ((0, 0), (2, 0)), constant_values=0 if opcode == "add" else -99)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (30, 25))[::2, ::3]
    expected = whole(windows, axis=(2, 3))
    expected = expected - 9 if opcode == "add" else np.maximum(expected, -9)
    (result,) = compiler.interpret(module, x)
    np.testing.assert_array_equal(result, expected)
