"""Computations that are called for each element may hold loops and branches, wherever they are called from."""

from __future__ import annotations

import re

import numpy as np
import pytest

import compiler

_LARGER = {
    "while": (
        """small { s = (T, T) parameter(0)  v = T get-tuple-element(s), index=0  t = T get-tuple-element(s), index=1
          ROOT c = pred[] compare(v, t), direction=LT }
        next { s = (T, T) parameter(0)  v = T get-tuple-element(s), index=0  t = T get-tuple-element(s), index=1
          eight = T constant(8)  w = T add(v, eight)  u = T minimum(w, t)  ROOT n = (T, T) tuple(u, t) }""",
        """s = (T, T) tuple(a, b)  w = (T, T) while(s), condition=small, body=next
          larger = T get-tuple-element(w), index=0""",
    ),
    "conditional": (
        """second { s = (T, T) parameter(0)  ROOT y = T get-tuple-element(s), index=1 }
        nested { s = (T, (T)) parameter(0)  t = (T) get-tuple-element(s), index=1
          x = T get-tuple-element(t), index=0  o = T get-tuple-element(s), index=0
          y = T subtract(x, o)  ROOT z = T add(y, o) }""",
        """p = pred[] compare(a, b), direction=LT  s = (T, T) tuple(a, b)  t = (T) tuple(a)  u = (T, (T)) tuple(b, t)
          larger = T conditional(p, s, u), true_computation=second, false_computation=nested""",
    ),
    "both": (
        """ends { s = (s32[], c64[], T) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(2)
          ROOT c = pred[] compare(i, n), direction=LT }
        left { s = (c64[], T) parameter(0)  z = c64[] get-tuple-element(s), index=0  r = f32[] real(z)
          x = T convert(r)  y = T get-tuple-element(s), index=1  ROOT m = T maximum(x, y) }
        same { s = (c64[], T) parameter(0)  ROOT y = T get-tuple-element(s), index=1 }
        once { s = (s32[], c64[], T) parameter(0)  i = s32[] get-tuple-element(s), index=0
          z = c64[] get-tuple-element(s), index=1  y = T get-tuple-element(s), index=2  t = (c64[], T) tuple(z, y)
          m = T conditional(i, t, t, t), branch_computations={same, left, same}
          one = s32[] constant(1)  j = s32[] add(i, one)  w = c64[] negate(z)  v = c64[] negate(w)
          ROOT n = (s32[], c64[], T) tuple(j, v, m) }""",
        """i = s32[] constant(0)  f = f32[] convert(a)  z = c64[] complex(f, f)  s = (s32[], c64[], T) tuple(i, z, b)
          w = (s32[], c64[], T) while(s), condition=ends, body=once  larger = T get-tuple-element(w), index=2""",
    ),
}
"""The larger of `a` and `b` by control flow: what it runs, and how it is called."""

_WINDOW = "window={size=3 stride=3}, select=%s, scatter=%s"
_PLACES = {
    "rows": "x = A[17,9] parameter(0)  ROOT r = A[17] reduce(x, low), dimensions={1}, to_apply=max",
    "columns": "x = A[33,17] parameter(0)  ROOT r = A[17] reduce(x, low), dimensions={0}, to_apply=max",
    "all": "x = A[700] parameter(0)  ROOT r = T reduce(x, low), dimensions={0}, to_apply=max",
    "row kernel": """x = A[17,300] parameter(0)  m = A[17] reduce(x, low), dimensions={1}, to_apply=max
      b = A[17,300] broadcast(m), dimensions={0}  ROOT r = A[17,300] subtract(x, b)""",
    "few terms": """x = A[300] parameter(0)  b = A[300,3] broadcast(x), dimensions={0}
      ROOT r = A[300] reduce(b, low), dimensions={1}, to_apply=max""",
    "windows": "x = A[37] parameter(0)  ROOT r = A[35] reduce-window(x, low), window={size=3}, to_apply=max",
    "running": "x = A[37] parameter(0)  ROOT r = A[37] reduce-window(x, low), window={size=37 pad=36_0}, to_apply=max",
    "scatter": """x = A[37] parameter(0)  u = A[5] slice(x), slice={[2:7]}  i = s32[5] constant({3, 7, 3, 36, 0})
      ROOT r = A[37] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
        scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=max""",
    "sort": "x = A[37] parameter(0)  ROOT r = A[37] sort(x), dimensions={0}, to_apply=before",
    "select": "x = A[36] parameter(0)  s = A[12] slice(x), slice={[0:12]}  "
    "ROOT r = A[36] select-and-scatter(x, s, low), " + _WINDOW % ("keeps", "sum"),
    "scatter of windows": "x = A[36] parameter(0)  s = A[12] slice(x), slice={[0:12]}  "
    "ROOT r = A[36] select-and-scatter(x, s, low), " + _WINDOW % ("plain", "max"),
    "map": "x = A[37] parameter(0)  y = A[37] negate(x)  ROOT r = A[37] map(x, y), dimensions={0}, to_apply=max",
    "all-reduce": "x = A[37] parameter(0)  ROOT r = A[37] all-reduce(x), replica_groups={}, to_apply=max",
}


def _program(kind: str, place: str) -> str:
    runs, larger = _LARGER[kind]
    head = "{ a = T parameter(0)  b = T parameter(1)"
    text = f"""HloModule m
    {runs}
    max {head} {larger.replace("larger =", "ROOT larger =")} }}
    before {head} {larger} ROOT c = pred[] compare(larger, a), direction=NE }}
    keeps {head} {larger} ROOT c = pred[] compare(larger, a), direction=EQ }}
    plain {head} ROOT c = pred[] compare(a, b), direction=GE }}
    sum {head} ROOT c = T add(a, b) }}
    ENTRY e {{ low = T constant(-60)  {_PLACES[place]} }}"""
    return re.sub(r"\bT\b", "f32[]", text).replace("A[", "f32[")


@pytest.mark.slow
@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.parametrize("kind", _LARGER)
def test_control_flow_inside_what_is_applied_to_elements(kind, place):
    module = compiler.parse(_program(kind, place))
    x = np.random.default_rng(0).integers(-60, 60, module.entry.parameters[0].array.dims).astype(np.float32)
    expected = compiler.interpret(module, x)
    for backend, options in (("cpu", {}), ("cpu", {"fusion": False, "opt": 0}), ("nvptx", {"device": "sim"})):
        results = compiler.compile(module, backend, compiler.CompileOptions(**options))(x)
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)
