"""Programs side by side in one module."""

import numpy as np

import compiler
from compiler import edit

LOOP = """
below { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
next { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
  j = s32[] add(i, one) x = f32[2] get-tuple-element(s), index=1 y = f32[2] add(x, x)
  ROOT n = (s32[], f32[2]) tuple(j, y) }
ENTRY main { b = f32[2] parameter(1) a = s32[] parameter(0) s = (s32[], f32[2]) tuple(a, b)
  ROOT w = (s32[], f32[2]) while(s), condition=below, body=next }
"""
SUM = "ENTRY main { a = f32[2] parameter(0) b = f32[2] parameter(1) c = f32[2] add(a, b) ROOT t = (f32[2]) tuple(c) }"


def test_programs_side_by_side_take_and_give_what_each_does():
    modules = [compiler.parse(text) for text in (LOOP, SUM, LOOP)]
    before = [compiler.to_text(module) for module in modules]
    whole = edit.together(modules, "whole")
    compiler.verify(whole)
    assert [compiler.to_text(module) for module in modules] == before
    assert compiler.parse(compiler.to_text(whole)) == whole
    loop, other, two = [1, [1.0, 2.0]], [2, [3.0, 4.0]], [[1.0, 2.0], [5.0, 6.0]]
    results = compiler.interpret(whole, *_arrays(*loop, *two, *other))
    assert [result.tolist() for result in results] == [3, [4.0, 8.0], [6.0, 8.0], 3, [6.0, 8.0]]


def _arrays(*values):
    return [_array(value) for value in values]


def _array(value):
    return np.asarray(value, np.float32 if isinstance(value, list) else np.int32)
