"""Calls and fusions that wait, or are waited for, wherever they stand and however many run one computation."""

import numpy as np
import pytest

import compiler

_DOUBLE = """double { d = f32[2] parameter(0) ROOT s = f32[2] add(d, d) }
"""
_LOOP = """c { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
    ROOT r = pred[] compare(i, n), direction=LT }
  b { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 k = s32[] constant(1)
    x = f32[2] get-tuple-element(s), index=1 j = s32[] add(i, k)
    y = f32[2] call(x), to_apply=double, control-predecessors={j} ROOT t = (s32[], f32[2]) tuple(j, y) }
"""
PROGRAMS = {
    "one waits for the other": f"""{_DOUBLE} ENTRY e {{ x = f32[2] parameter(0) a = f32[2] call(x), to_apply=double
      b = f32[2] call(x), to_apply=double, control-predecessors={{a}} ROOT y = f32[2] multiply(a, b) }}""",
    "within a call": f"""{_DOUBLE} outer {{ d = f32[2] parameter(0) a = f32[2] call(d), to_apply=double
        b = f32[2] abs(d), control-predecessors={{a}} ROOT s = f32[2] add(a, b) }}
      ENTRY e {{ x = f32[2] parameter(0) a = f32[2] call(x), to_apply=outer
        b = f32[2] call(a), to_apply=outer ROOT y = f32[2] multiply(a, b) }}""",
    "in a loop and behind it": f"""{_DOUBLE}{_LOOP} ENTRY e {{ x = f32[2] parameter(0) z = s32[] constant(0)
      t = (s32[], f32[2]) tuple(z, x) w = (s32[], f32[2]) while(t), condition=c, body=b
      v = f32[2] get-tuple-element(w), index=1 u = f32[2] call(v), to_apply=double, control-predecessors={{z}}
      ROOT y = f32[2] add(u, v) }}""",
    "a fusion of no form of ours": """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
      f { d = f32[2] parameter(0) z = f32[] constant(0) r = f32[] reduce(d, z), dimensions={0}, to_apply=add
        s = f32[2] broadcast(r), dimensions={} t = f32[2] divide(d, s) i = f32[2] reverse(t), dimensions={0}
        m = f32[] reduce(i, z), dimensions={0}, to_apply=add n = f32[2] broadcast(m), dimensions={}
        ROOT y = f32[2] subtract(i, n) }
      ENTRY e { x = f32[2] parameter(0) a = f32[2] abs(x)
        b = f32[2] fusion(x), kind=kLoop, calls=f, control-predecessors={a}
        c = f32[2] sign(x), control-predecessors={b} ROOT y = (f32[2], f32[2], f32[2]) tuple(a, b, c) }""",
    "a fusion of what lies nowhere": """f { t = token[] parameter(0) ROOT c = token[] copy(t) }
      ENTRY e { x = f32[2] parameter(0) t = token[] after-all() a = f32[2] abs(x)
        k = token[] fusion(t), kind=kLoop, calls=f, control-predecessors={a}
        ROOT y = f32[2] add-dependency(a, k) }""",
}


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_waits_computes_the_same(name, backend):
    module, x = compiler.parse(PROGRAMS[name]), np.array([3.0, -5.0], np.float32)
    options = compiler.CompileOptions(device="sim") if backend == "nvptx" else compiler.CompileOptions()
    found = compiler.compile(module, backend, options)(x)
    for result, expected in zip(found, compiler.interpret(module, x), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)
