"""Merging of equal instructions where the computations that they call are equal, however deep the calls go."""

from __future__ import annotations

import compiler
from compiler.ir.rewrite import Fuel
from compiler.passes import cse

DEPTH = 100


def test_calls_are_equal_where_what_they_call_is_equal_to_any_depth() -> None:
    lines = [f"{side}0 {{ p = s32[] parameter(0) ROOT n = s32[] negate(p) }}" for side in "ab"]
    lines += [
        f"{side}{level} {{ p = s32[] parameter(0) ROOT c = s32[] call(p), to_apply={side}{level - 1} }}"
        for level in range(1, DEPTH)
        for side in "ab"
    ]
    left, right = (f"{side} = s32[] call(x), to_apply={side}{DEPTH - 1}" for side in "ab")
    module = compiler.parse(
        "\n".join([*lines, f"ENTRY e {{ x = s32[] parameter(0) {left} {right} ROOT s = s32[] add(a, b) }}"])
    )
    assert cse.run(module, Fuel())
    first, second = module.entry.root.operands
    assert first is second
