"""Whoever is not computed in the kernel of its users learns why."""

from __future__ import annotations

import pytest

import compiler

SUM = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"
REASONS = {
    "it is the computation's result": "ROOT v = f32[512] tanh(x)",
    "each would compute it again": "v = f32[512] tanh(x)  l = f32[512] reverse(v), dimensions={0}"
    "  s = f32[] reduce(v, z), dimensions={0}, to_apply=sum  ROOT r = (f32[512], f32[]) tuple(l, s)",
    "elements would be computed more often than there are": "v = f32[512] tanh(x)"
    "  ROOT b = f32[40,512] broadcast(v), dimensions={1}",
    "takes it from memory": "v = f32[512] tanh(x)  ROOT r = f32[512] sort(v), dimensions={0}, to_apply=less",
    "what follows is not elementwise, at equal indices; and as rows: ": "v = f32[] reduce(x, z), dimensions={0},"
    " to_apply=sum  b = f32[40] broadcast(v), dimensions={}  ROOT r = f32[40] tanh(b)",
}
LESS = "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }"


@pytest.mark.parametrize("reason", REASONS)
def test_the_reason_is_told(reason: str) -> None:
    entry = f"ENTRY e {{ x = f32[512] parameter(0)  z = f32[] constant(0)  {REASONS[reason]} }}"
    text = f"HloModule m\n{SUM}\n{LESS}\n{entry}"
    options = compiler.CompileOptions(disable_passes=("algebraic-simplification", "data-movement-simplification"))
    placed = {one.name: one.reason for one in compiler.decide(text, options=options).placed}
    assert reason in placed.get("e/v", "") or reason in placed.get("e/v_fusion", "")
