from dataclasses import replace

import compiler
from compiler import pipeline

TEXT = """
HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] negate(x)
  b = f32[4] negate(a)
  c = f32[4] add(b, x)
  ROOT d = f32[4] multiply(c, c)
}
"""
OPTIONS = compiler.CompileOptions()


def test_only_passes_that_changed_something_leave_a_snapshot():
    trace = compiler.trace(compiler.parse(TEXT), OPTIONS)
    names = [snapshot.pass_name for snapshot in trace.snapshots]
    assert names[:3] == ["algebraic-simplification", "dce", "fusion"]
    texts = [compiler.to_text(snapshot.module) for snapshot in trace.snapshots]
    assert len(set(texts)) == len(texts)


def test_with_less_fuel_the_same_rewrites_come_first():
    whole = compiler.trace(compiler.parse(TEXT), OPTIONS)
    for fuel in range(len(whole.rewrites) + 1):
        part = compiler.trace(compiler.parse(TEXT), replace(OPTIONS, fuel=fuel))
        assert part.rewrites[:fuel] == whole.rewrites[:fuel]
        assert part.broken_pass == ""


def test_required_rewrites_are_withheld_only_where_asked():
    text = """f { a = f32[4] parameter(0) ROOT b = f32[4] negate(a) }
      ENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] fusion(x), kind=kLoop, calls=f }"""
    module, none = compiler.parse(text), replace(OPTIONS, fuel=0)
    assert [rewrite.rule for rewrite in compiler.trace(module, none).rewrites] == ["inline fusion"]
    assert compiler.trace(module, none, withhold_required=True).rewrites == ()


def test_a_pass_that_raises_is_named_and_what_came_before_is_kept(monkeypatch):
    def broken(module, fuel):
        raise ValueError("no")

    monkeypatch.setitem(pipeline.PASSES, "fusion", broken)
    heard = []
    trace = compiler.trace(compiler.parse(TEXT), OPTIONS, entering=heard.append)
    assert (trace.broken_pass, trace.error, heard[-1]) == ("fusion", "ValueError: no", "fusion")
    assert [snapshot.pass_name for snapshot in trace.snapshots] == ["algebraic-simplification", "dce"]
