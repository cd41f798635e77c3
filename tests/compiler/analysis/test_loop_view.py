"""A loop is its pieces before it, its condition and its body."""

import compiler
from compiler.analysis.loop_view import LoopView


def test_a_loop_has_three_parts():
    module = compiler.parse("""
    below { s = (s32[], f32[2]) parameter(0) n = s32[] get-tuple-element(s), index=0 end = s32[] constant(3)
      ROOT go = pred[] compare(n, end), direction=LT }
    next { s = (s32[], f32[2]) parameter(0) n = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
      m = s32[] add(n, one) x = f32[2] get-tuple-element(s), index=1 ROOT t = (s32[], f32[2]) tuple(m, x) }
    ENTRY main { x = f32[2] parameter(0) zero = s32[] constant(0) first = (s32[], f32[2]) tuple(zero, x)
      ROOT w = (s32[], f32[2]) while(first), condition=below, body=next }""")
    view = LoopView(module.entry.root)
    assert [piece.name for piece in view.initial] == ["zero", "x"]
    assert (view.condition.name, view.body.name) == ("below", "next")
