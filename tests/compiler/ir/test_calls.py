"""Computations that run because others do are found once each, however they are reached; calls are counted."""

import compiler
from compiler.ir.calls import calls_of, reached

TEXT = """
leaf { p = f32[] parameter(0)  ROOT n = f32[] negate(p) }
left { p = f32[] parameter(0)  ROOT c = f32[] call(p), to_apply=leaf }
right { p = f32[] parameter(0)  ROOT c = f32[] call(p), to_apply=leaf }
unused { ROOT p = f32[] parameter(0) }
ENTRY e { x = f32[] parameter(0)  a = f32[] call(x), to_apply=left  ROOT b = f32[] call(a), to_apply=right }"""


def test_each_is_reached_once_and_what_nobody_calls_is_not():
    module = compiler.parse(TEXT)
    assert sorted(c.name for c in reached([module.entry])) == ["e", "leaf", "left", "right"]


def test_from_nothing_nothing_is_reached():
    assert list(reached([])) == []


def test_every_call_counts():
    assert {c.name: n for c, n in calls_of(compiler.parse(TEXT)).items()} == {"leaf": 2, "left": 1, "right": 1}
