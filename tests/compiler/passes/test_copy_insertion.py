"""What calls that stay give has memory of its own, wherever their callees take it from and whoever takes it."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

_LEAVES = {
    "a constant": ("k = f32[4] constant({7, 8, 9, 10})", "k"),
    "an argument": ("", "p"),
    "a view of an argument": ("t = f32[2,2] bitcast(p)  v = f32[4] bitcast(t)", "v"),
    "an argument beside another value": ("t = f32[4] tanh(p)", "p, t"),
    "one value twice": ("t = f32[4] tanh(p)", "t, t"),
    "what another call gives": ("b = f32[4] tanh(p)  c = f32[4] call(p), to_apply=same, control-predecessors={b}", "c"),
}
_UPDATE = "i = s32[] constant(1)  u = f32[2] constant({1, 2})  d = f32[4] dynamic-update-slice(g, u, i)"
_USES = {
    "a result": "ROOT r = (f32[4]) tuple(g)",
    "a result beside the argument": "ROOT r = (f32[4], f32[4]) tuple(g, x)",
    "updated": f"{_UPDATE}  ROOT r = (f32[4]) tuple(d)",
    "updated beside the argument": f"{_UPDATE}  ROOT r = (f32[4], f32[4]) tuple(d, x)",
    "what a loop begins with": """i = s32[] constant(0)  s = (s32[], f32[4]) tuple(i, g)
      w = (s32[], f32[4]) while(s), condition=below, body=step  h = f32[4] get-tuple-element(w), index=1
      ROOT r = (f32[4], f32[4]) tuple(h, x)""",
}
_ARGUMENTS = ("bitcast(y)", "negate(y)")
SIMULATED = compiler.CompileOptions(device="sim")


def _program(leaf: str, use: str, argument: str) -> str:
    lines, results = _LEAVES[leaf]
    shape = ", ".join(["f32[4]"] * len(results.split(",")))
    return f"""
    same {{ ROOT p = f32[4] parameter(0) }}
    callee {{ p = f32[4] parameter(0)  {lines}  ROOT r = ({shape}) tuple({results}) }}
    below {{ s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
      ROOT l = pred[] compare(i, n), direction=LT }}
    step {{ s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      a = f32[4] get-tuple-element(s), index=1  o = s32[] constant(1)  j = s32[] add(i, o)  u = f32[1] constant({{5}})
      d = f32[4] dynamic-update-slice(a, u, i)  ROOT r = (s32[], f32[4]) tuple(j, d) }}
    ENTRY main {{ y = f32[4] parameter(0)  before = f32[4] sine(y)  x = f32[4] {argument}
      c = ({shape}) call(x), to_apply=callee, control-predecessors={{before}}
      g = f32[4] get-tuple-element(c), index=0  {_USES[use]} }}"""


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize("use", _USES)
@pytest.mark.parametrize("leaf", _LEAVES)
def test_what_a_call_that_stays_gives_is_a_value_like_any_other(leaf: str, use: str, backend: str) -> None:
    for argument in _ARGUMENTS:
        text, x = _program(leaf, use, argument), np.arange(4, dtype=np.float32)
        given = x.copy()
        expected, executable = compiler.interpret(text, x), compiler.compile(text, backend, SIMULATED)
        for _ in range(2):
            for wanted, found in zip(expected, executable(given), strict=True):
                np.testing.assert_allclose(found, wanted, atol=1e-6)
        np.testing.assert_array_equal(given, x)
