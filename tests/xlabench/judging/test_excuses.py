"""Excuses: each where a trial shows it, and none where none does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.passes import device_expander
from xlabench.judging import bounds, excuses
from xlabench.judging.bounds import Basis
from xlabench.judging.judge import Standard, judge
from xlabench.judging.liberties import LIBERTIES, OF_ALL
from xlabench.judging.tolerance import TolerancePolicy

ALL = frozenset(LIBERTIES)
UNBOUNDED = Basis(reason="a test says so")
DENORMAL = np.array([1e-45, 0.5, -1e-45, 3], np.float32)

UP = "ENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] ceil(x) }"
LOG = "ENTRY e { x = f64[4] parameter(0) ROOT y = f64[4] log-plus-one(x) }"
SUM = """ENTRY e { x = f32[4] parameter(0) u = f32[4] ceil(x) t = f32[4] constant({1e-7, 1e-7, 1e-7, 1e-7})
  s = f32[4] multiply(u, t) l = f32[4] log-plus-one(x) ROOT y = f32[4] add(l, s) }"""
ONE = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[4,1] parameter(0) i = f32[] constant(7)
  ROOT y = f32[4] reduce(x, i), dimensions={1}, to_apply=add }"""
TWO = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[2,2] parameter(0) i = f32[] constant(7)
  ROOT y = f32[2] reduce(x, i), dimensions={1}, to_apply=add }"""
OPEN = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[4,3] parameter(0) i = f32[] constant(7) n = s32[] constant(2)
  o = f32[4,<=3] set-dimension-size(x, n), dimensions={1}
  ROOT y = f32[4] reduce(o, i), dimensions={1}, to_apply=add }"""
LONG = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[33,4] parameter(0) i = f32[] constant(7)
  ROOT y = f32[4] reduce(x, i), dimensions={0}, to_apply=add }"""
BOTH = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[4,1] parameter(0) i = f32[] constant(7) u = f32[4,1] ceil(x)
  ROOT y = f32[4] reduce(u, i), dimensions={1}, to_apply=add }"""
FLOOR = """ENTRY e { x = f32[4] parameter(0) t = f32[4] constant({3, 3, 3, 3}) p = f32[4] multiply(x, t)
  ROOT w = s32[4] convert(p) }"""
ROOT = """ENTRY e { x = f32[4] parameter(0) t = f32[4] constant({3, 3, 3, 3}) p = f32[4] multiply(x, t)
  o = f32[4] constant({1, 1, 1, 1}) d = f32[4] subtract(p, o) ROOT r = f32[4] sqrt(d) }"""
NOTHING = """ENTRY e { x = f32[4] parameter(0) z = f32[4] constant({0, 0, 0, 0}) s = f32[4] add(x, z)
  o = f32[4] constant({1, 1, 1, 1}) ROOT r = f32[4] divide(o, s) }"""
SOLVED = """ENTRY e { a = f32[3,3] parameter(0) b = f32[3,1] constant({{1.2e-38}, {2.4e-38}, {3.6e-38}})
  ROOT x = f32[3,1] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE }"""
MOVED = "ENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] reverse(x), dimensions={0} }"

THIRDS = np.array([1 / 3, 1 / 3, 1.5, 1.5], np.float32)
ROOTS = np.array([1 / 3, 1 / 3, 1, 1], np.float32)
ZEROS = np.array([-0.0, 0.0, 1, 2], np.float32)
ONES = np.array([[1], [2], [3], [4]], np.float32)
NANS = np.array([0x7FC00000, 0xFFC00009, 0xFFC00001, 0x3F800000], np.uint32).view(np.float32)
ORDER = """less { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=GT, type=TOTALORDER }
ENTRY e { x = f32[4] parameter(0) i = s32[4] iota(), iota_dimension=0
  s = (f32[4], s32[4]) sort(x, i), dimensions={0}, is_stable=true, to_apply=less
  ROOT y = s32[4] get-tuple-element(s), index=1 }"""
SINGULAR, REGULAR = np.diag(np.float32([1, 1e-39, 1])), np.diag(np.float32([1, 2, 1]))
PLAIN = np.array([1, 2, 3, 4], np.float64)
GRANT = TolerancePolicy(rtol=0.5, discrete_share=0.5)

Change = Any

LAST_SQUARED = """f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] multiply(b, b) }
ENTRY e { x = f32[4,5] parameter(0) z = f32[] constant(0) ROOT y = f32[4] reduce(x, z), dimensions={1}, to_apply=f }"""
ROWS = np.arange(2, 22, dtype=np.float32).reshape(4, 5)

# excuse, program, input, what an engine makes of the right result, how it is judged, the end of the message
CASES: list[tuple[str, str, Any, Change, dict[str, Any], str]] = [
    ("added-zeros", NOTHING, ZEROS, lambda y: y * [-1, 1, 1, 1], {}, "zeros that were not added may explain"),
    ("added-zeros", NOTHING, ZEROS, lambda y: y * [1, -1, 1, 1], {}, ""),
    ("added-zeros", NOTHING, ZEROS, lambda y: y * [-1, 1, 2, 1], {}, ""),
    ("denormals", UP, DENORMAL, lambda y: y * [0, 1, 1, 1], {}, "zeros for denormal numbers may explain"),
    ("denormals", UP, DENORMAL, lambda y: y * [2, 1, 1, 1], {}, ""),
    ("denormals", UP, DENORMAL, lambda y: y * [0, 2, 1, 1], {}, ""),
    ("denormals", UP, DENORMAL, lambda y: y * [1, 0, 1, 1], {}, ""),
    ("denormals", LOG, PLAIN, lambda y: y * (1 + 1e-13), {}, ""),
    ("denormals", SUM, DENORMAL, lambda y: y * [0, 1, 1, 1], {}, "zeros for denormal numbers may explain"),
    ("denormals", SUM, np.float32([0.5, 0.5, 2, 3]), lambda y: y * [1 + 3e-6, 1, 1, 1], {}, ""),
    ("denormals", UP, DENORMAL, lambda y: y * [0, 1, 1, 1], {"policy": TolerancePolicy(0, 0)}, "may explain"),
    ("denormals", UP, DENORMAL, lambda y: y * [0, 1, 1, 1], {"wide": False}, "may explain"),
    ("denormals", UP, DENORMAL, lambda y: y * [0, 1, 1, 1], {"is_ours": False}, ""),
    ("denormals", SOLVED, SINGULAR, lambda y: y * [[1], [np.inf], [np.nan]], {}, "for denormal numbers may explain"),
    ("denormals", SOLVED, SINGULAR, lambda y: y * [[1], [np.nan], [np.nan]], {}, "for denormal numbers may explain"),
    ("denormals", SOLVED, SINGULAR, lambda y: y * [[np.nan], [np.nan], [1]], {}, "for denormal numbers may explain"),
    ("denormals", SOLVED, REGULAR, lambda y: y * [[1], [np.nan], [1]], {}, ""),
    ("denormals", SOLVED, REGULAR, lambda y: y * [[1], [np.inf], [1]], {}, ""),
    ("initial-values", ONE, ONES, lambda y: y - 7, {}, "initial values taken for identities may"),
    ("initial-values", ONE, ONES, lambda y: y - [7, 7, 7, 6], {}, ""),
    ("initial-values", ONE, ONES, lambda y: y - [3, 3, 3, 3], {}, ""),
    ("initial-values", TWO, ONES.reshape(2, 2), lambda y: y - 7, {}, ""),
    (
        "initial-values",
        LONG,
        np.ones((33, 4), np.float32),
        lambda y: y + 14,
        {},
        "initial values taken for identities may",
    ),
    ("initial-values", LONG, np.ones((33, 4), np.float32), lambda y: y + 7, {}, ""),
    (
        "initial-values",
        OPEN,
        np.ones((4, 3), np.float32),
        lambda y: y + 7,
        {},
        "initial values taken for identities may",
    ),
    ("initial-values", OPEN, np.ones((4, 3), np.float32), lambda y: y + 14, {}, ""),
    (
        "both",
        BOTH,
        DENORMAL.reshape(4, 1),
        lambda y: y - [8, 7, 7, 7],
        {},
        "denormal numbers and initial values taken for",
    ),
    ("both", BOTH, DENORMAL.reshape(4, 1), lambda y: y - [9, 7, 7, 7], {}, ""),
    ("order", LAST_SQUARED, ROWS, lambda y: y**2, {}, "another order of a reduction may explain"),
    ("order", LAST_SQUARED, ROWS, lambda y: y - [0, 1, 0, 0], {}, ""),
    ("order", LAST_SQUARED, ROWS, lambda y: np.square(ROWS[:, 0]), {}, ""),
    ("payloads", ORDER, NANS, lambda y: [0, 3, 1, 2], {}, "bits of a NaN that have no meaning may explain"),
    ("payloads", ORDER, NANS, lambda y: [3, 1, 2, 0], {}, ""),
    ("payloads", ORDER, np.float32([1, 2, 3, 4]), lambda y: y[::-1], {}, ""),
    ("rounding", FLOOR, THIRDS, lambda y: y - [1, 1, 0, 0], {"basis": UNBOUNDED}, "rounding may explain"),
    ("rounding", FLOOR, THIRDS, lambda y: y - [0, 0, 1, 0], {"basis": UNBOUNDED}, ""),
    ("rounding", FLOOR, THIRDS, lambda y: y - [5, 0, 0, 0], {"basis": UNBOUNDED}, ""),
    ("rounding", ROOT, ROOTS, lambda y: np.add(y, [3e-4, 0, 0, 0]), {"basis": UNBOUNDED}, "rounding may explain"),
    ("rounding", ROOT, ROOTS, lambda y: np.add(y, [np.nan, 0, 0, 0]), {"basis": UNBOUNDED}, "rounding may explain"),
    ("rounding", ROOT, ROOTS, lambda y: np.add(y, [99, 0, 0, 0]), {"basis": UNBOUNDED}, ""),
    ("rounding", ROOT, ROOTS, lambda y: np.add(y, [np.inf, 0, 0, 0]), {"basis": UNBOUNDED}, ""),
    ("rounding", ROOT, ROOTS, lambda y: np.add(y, [0, 0, np.nan, 0]), {"basis": UNBOUNDED}, ""),
    ("rounding", ROOT, ROOTS, lambda y: np.add(y, [0, 0, 3e-4, 0]), {"basis": UNBOUNDED}, ""),
    ("rounding", ROOT, ROOTS, lambda y: np.add(y, [3e-4, 0, 0, 0]), {"policy": TolerancePolicy(1e-9, 1e-9)}, ""),
    ("grant", FLOOR, THIRDS, lambda y: y - [1, 1, 0, 0], {"policy": GRANT}, "rounding before them may explain"),
    ("grant", FLOOR, THIRDS, lambda y: y - [0, 0, 1, 0], {"policy": GRANT}, ""),
    ("grant", FLOOR, THIRDS, lambda y: y - [0, 7, 0, 0], {"policy": GRANT}, ""),
]


def _judged(text: str, given: Any, change: Change, how: dict[str, Any]) -> Any:
    module, options = compiler.parse(text), dict(how)
    basis = options.pop("basis", None)
    expected = compiler.interpret(module, given)
    actual = [np.asarray(change(result.copy())).astype(result.dtype) for result in expected]
    assert not np.array_equal(actual[0], expected[0])
    return judge(module, [given], expected, actual, Standard(**{"liberties": ALL, **options}), basis=basis)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_an_excuse_holds_where_a_trial_shows_it_and_nowhere_else(number: int) -> None:
    _, text, given, change, how, words = CASES[number]
    judgement = _judged(text, given, change, how)
    assert judgement.verdict == ("undecided" if words else "wrong"), judgement.message
    assert words in judgement.message
    assert judgement.message.endswith("may explain") == bool(words)


@pytest.mark.parametrize("name", [*LIBERTIES, *OF_ALL, "both", "rounding", "grant"])
def test_every_excuse_is_tried_where_it_holds_and_where_it_does_not(name: str) -> None:
    assert {bool(case[-1]) for case in CASES if case[0] == name} == {True, False}


@pytest.mark.parametrize("taken", [frozenset[str](), *(frozenset([name]) for name in LIBERTIES)])
def test_a_liberty_excuses_an_engine_that_takes_it_only(taken: frozenset[str]) -> None:
    for name, text, given, change, how, words in CASES:
        if words and name in (*LIBERTIES, "both"):
            judgement = _judged(text, given, change, {**how, "liberties": taken})
            assert judgement.verdict == ("undecided" if taken == {name} else "wrong")


def test_results_that_the_reference_does_not_give_now_have_no_excuse() -> None:
    module = compiler.parse(UP)
    expected, actual = np.float32([2, 1, 0, 3]), np.float32([0, 1, 0, 3])
    judgement = judge(module, [DENORMAL], [expected], [actual], Standard(liberties=ALL))
    assert judgement.verdict == "wrong"
    assert "the reference gives other results now" in judgement.message


@pytest.mark.parametrize(("text", "verdict"), [(MOVED, "wrong"), (LOG.replace("f64", "f32"), "within")])
def test_where_nothing_rounds_no_tolerance_is_an_excuse(
    text: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MOST_ELEMENTS", 0)
    assert _judged(text, np.float32([1, 2, 3, 4]), lambda y: y * (1 + 1e-6), {}).verdict == verdict


def test_a_program_for_several_devices_is_tried_as_well() -> None:
    module = compiler.parse(
        """HloModule m, replica_count=2
        add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
        ENTRY e { x = f32[4] parameter(0) u = f32[4] ceil(x)
          ROOT y = f32[4] all-reduce(u), replica_groups={{0,1}}, to_apply=add }"""
    )
    expected = compiler.interpret(module, DENORMAL, DENORMAL)
    for change, verdict in (([0, 1, 1, 1], "undecided"), ([0, 0, 1, 1], "wrong")):
        actual = [(array * np.float32(change)).astype(np.float32) for array in expected]
        assert judge(module, [DENORMAL] * 2, expected, actual, Standard(liberties=ALL)).verdict == verdict


def test_what_cannot_be_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise compiler.UnsupportedError("module m", "the interpreter", "a test says so")

    monkeypatch.setattr(excuses.liberties, "runs", refuse)
    judgement = _judged(UP, DENORMAL, lambda y: y * [0, 1, 1, 1], {})
    assert judgement.verdict == "wrong"
    assert "not every excuse was looked for: module m is not supported by the interpreter" in judgement.message


LOOP_OF_DEVICES = """HloModule m, replica_count=2
cond { p = (f32[4], u32[], u32[]) parameter(0)  i = u32[] get-tuple-element(p), index=1
  n = u32[] get-tuple-element(p), index=2  ROOT c = pred[] compare(i, n), direction=LT }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
body { p = (f32[4], u32[], u32[]) parameter(0)  v = f32[4] get-tuple-element(p), index=0
  i = u32[] get-tuple-element(p), index=1  n = u32[] get-tuple-element(p), index=2  h = f32[4] sqrt(v)
  s = f32[4] all-reduce(h), to_apply=add, replica_groups={{0},{1}}  o = u32[] constant(1)  j = u32[] add(i, o)
  ROOT t = (f32[4], u32[], u32[]) tuple(s, j, n) }
ENTRY e { x = f32[4] parameter(0)  n = u32[] replica-id()  z = u32[] constant(0)
  t = (f32[4], u32[], u32[]) tuple(x, z, n)  w = (f32[4], u32[], u32[]) while(t), condition=cond, body=body
  ROOT r = f32[4] get-tuple-element(w), index=0 }"""


@pytest.mark.slow
def test_one_program_for_all_devices_does_not_excuse_itself(monkeypatch: pytest.MonkeyPatch):
    module, inputs = compiler.parse(LOOP_OF_DEVICES), [PLAIN.astype(np.float32), PLAIN.astype(np.float32)]
    expected = compiler.interpret(module, *inputs)
    assert judge(module, inputs, expected, compiler.compile(module)(*inputs)).verdict in ("bitwise", "within")
    monkeypatch.setattr(device_expander, "_select", lambda _, then, __: then)  # a device that has left the loop goes on
    judgement = judge(module, inputs, expected, compiler.compile(module)(*inputs))
    assert judgement.verdict == "wrong"
    assert "for all devices" in judgement.message
