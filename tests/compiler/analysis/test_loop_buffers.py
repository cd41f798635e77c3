"""What all threads look at in a loop stays untouched until all have looked."""

from __future__ import annotations

import compiler
from compiler.analysis.buffers import assign
from compiler.options import CompileOptions
from compiler.pipeline import PIPELINES, run

LOOP = """HloModule m
cond {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT p = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  e = f32[64] exponential(x)
  r = f32[64] reverse(e), dimensions={0}
  t = f32[64] tanh(r)
  ROOT o = (s32[], f32[64]) tuple(j, t)
}
ENTRY e {
  x = f32[64] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[64]) tuple(z, x)
  w = (s32[], f32[64]) while(s), condition=cond, body=body
  ROOT r = f32[64] get-tuple-element(w), index=1
}
"""


def test_what_a_loop_only_reads_stays_where_it_is():
    text = LOOP.replace("f32[64])", "f32[64], f32[64])").replace("tuple(z, x)", "tuple(z, x, x)")
    text = text.replace("  t = f32[64] tanh(r)", "  k = f32[64] get-tuple-element(s), index=2\n  t = f32[64] add(r, k)")
    module = compiler.parse(text.replace("tuple(j, t)", "tuple(j, t, k)"))
    run(module, PIPELINES["compile"], CompileOptions())
    of = assign(module, {}).of
    loop = next(i for i in module.entry.instructions if i.opcode == "while")
    (given,) = of[module.entry.parameters[0]]

    assert [buffer is given for buffer in of[loop]] == [False, False, True]


def test_nothing_in_the_body_lies_where_the_predicate_is():
    module = compiler.parse(LOOP)
    run(module, PIPELINES["compile"], CompileOptions(fusion=False))
    of = assign(module, {}).of
    loop = next(i for i in module.entry.instructions if i.opcode == "while")
    (predicate,) = of[loop.attributes["condition"].root]
    body = [buffer for i in loop.attributes["body"].instructions for buffer in of[i]]

    assert body
    assert not any(buffer.overlaps(predicate) for buffer in body)
