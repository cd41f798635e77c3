"""Engines that are asked about programs: what they say is a verdict, and what passes and values were is kept."""

import numpy as np
import pytest
from in_process import Telling

import compiler
from xlabench.diagnosis import probe
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import FAILURES, Judgement, Passes, PassStep, Prober, Setup, require_failure, with_options
from xlabench.errors import BenchError, Undecidable

X = np.asarray([1, -2, 3], np.float32)
REVERSE = "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] reverse(x), dimensions={0} }"
NEGATE = "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] negate(x) }"
ABS = "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] abs(x) }"
UNKNOWN = "ENTRY e { x = f32[3] parameter(0) c = f32[3] constant({...}) ROOT r = f32[3] add(x, c) }"
LOOP = """
below { s = (s32[], f32[3]) parameter(0) n = s32[] get-tuple-element(s), index=0 m = s32[] constant(2)
  ROOT z = pred[] compare(n, m), direction=LT }
body { s = (s32[], f32[3]) parameter(0) n = s32[] get-tuple-element(s), index=0 o = s32[] constant(1)
  x = f32[3] get-tuple-element(s), index=1 t = f32[3] add(x, x) m = s32[] add(n, o)
  ROOT z = (s32[], f32[3]) tuple(m, t) }
ENTRY e { n = s32[] constant(0) x = f32[3] parameter(0) s = (s32[], f32[3]) tuple(n, x)
  w = (s32[], f32[3]) while(s), condition=below, body=body ROOT r = f32[3] get-tuple-element(w), index=1 }
"""


def case(text):
    return Case(compiler.parse(text), (X,))


@pytest.fixture
def prober(monkeypatch, mutants):
    """Makes probers of broken engines, whose processes are this one."""
    assert mutants, "the fixture has this folder searched for engines"
    monkeypatch.setattr(probe, "Worker", Telling)
    return lambda engine, **given: Prober(Setup(engine, **{"factory": "broken_engines:engine", **given}))


@pytest.mark.parametrize(("layout", "verdict"), [("aligned", "bitwise"), ("strided", "wrong")])
def test_inputs_lie_as_they_are_to(layout, verdict, prober):
    with prober("takes-views-for-zeros", layout=layout) as asked:
        judgement = asked.judge(case(NEGATE))
        assert (judgement.verdict, asked.is_by_layout(case(NEGATE), judgement)) == (verdict, layout == "strided")
    with prober("drops", layout=layout) as asked:
        assert not asked.is_by_layout(case(REVERSE), asked.judge(case(REVERSE)))


def test_options_are_set_in_a_spec_and_the_others_stay():
    assert with_options("cpu:opt=0,fusion=off", {"opt": 3, "fuel": 2}) == "cpu:opt=3,fusion=off,fuel=2"
    assert with_options("nvptx:sim", {"check_races": "on"}) == "nvptx:sim,check_races=on"
    assert with_options("cpu", {}) == "cpu"


@pytest.mark.parametrize(
    ("engine", "text", "verdict", "message"),
    [
        ("right", REVERSE, "bitwise", ""),
        ("drops", REVERSE, "wrong", "3 of 3"),
        ("refuses", NEGATE, "unsupported", "opcode negate"),
        ("raises", ABS, "compile-error", "cannot select abs"),
        ("spoils", NEGATE, "wrong", "changed its inputs"),
        ("right", UNKNOWN, "undecided", "reference gives no result"),
    ],
)
def test_what_an_engine_does_is_a_verdict(engine, text, verdict, message, prober):
    with prober(engine) as asked:
        judgement = asked.judge(case(text))
    assert (judgement.verdict, message in judgement.message) == (verdict, True), judgement.message
    assert judgement.is_failure == (verdict in FAILURES)


def test_a_wrong_result_comes_with_what_was_expected_and_how_much_is_wrong(prober):
    with prober("drops") as asked:
        judgement = asked.judge(case(REVERSE))
        assert not asked.agrees(case(REVERSE), judgement.expected, judgement.actual)
        assert asked.agrees(case(REVERSE), judgement.expected, judgement.expected)
    np.testing.assert_array_equal(judgement.expected[0], X[::-1])
    np.testing.assert_array_equal(judgement.actual[0], 2 * X[::-1])
    assert (judgement.mismatches, judgement.wrong) == (3, (0,))


def test_another_engine_is_asked_by_its_spec_and_held_to_what_is_given(prober):
    with prober("drops") as asked:
        assert asked.judge(case(REVERSE), engine="right").verdict == "bitwise"
        assert asked.judge(case(REVERSE), engine="right", expected=(X,)).verdict == "wrong"


def test_a_reference_that_breaks_down_has_a_bug_and_one_that_refuses_has_none(prober, monkeypatch):
    monkeypatch.setattr(probe, "_REFERENCE_FACTORY", "broken_engines:engine")
    with prober("right", reference="raises") as asked:
        assert asked.bug_of_reference(case(ABS)).startswith("RuntimeError")
        assert asked.bug_of_reference(case(NEGATE)) == ""
    with prober("right", reference="refuses") as asked:
        assert asked.bug_of_reference(case(NEGATE)) == ""


def test_of_what_ran_again_the_first_and_the_last_value_are_recorded(prober):
    with prober("right") as asked:
        values = asked.record(case(LOOP))
        refused = asked.record(case(UNKNOWN))
    np.testing.assert_array_equal(values.first["body", "t"], 2 * X)
    np.testing.assert_array_equal(values.last["body", "t"], 4 * X)
    np.testing.assert_array_equal(values.last["e", "r"], 4 * X)
    assert not refused.first
    assert "..." in refused.missing


def test_passes_are_shown_with_their_rewrites_where_an_engine_has_any(prober):
    text = "ENTRY e { x = f32[3] parameter(0) n = f32[3] negate(x) ROOT r = f32[3] negate(n) }"
    with prober("cpu", factory=Setup("cpu").factory) as asked:
        passes = asked.passes(case(text))
        assert asked.passes(case(text), engine="reference") is None
    assert [one.number for one in passes.rewrites] == list(range(1, len(passes.rewrites) + 1))
    assert "negate_negate" in {one.rule for one in passes.rewrites}
    assert "negate" in passes.steps[0].text
    assert "negate" not in passes.steps[-1].text
    assert passes.after(passes.steps[-1].number + 1) == passes.steps[-1].text


def test_after_a_pass_that_changed_nothing_the_module_is_that_of_the_last_that_did():
    passes = Passes((PassStep(1, "cse", 2, "one"), PassStep(4, "dce", 3, "two")), ())
    assert [passes.after(number) for number in (0, 1, 3, 4, 9)] == [None, "one", "one", "two", "two"]


@pytest.mark.parametrize(
    ("verdict", "refusal"), [("bitwise", BenchError), ("undecided", Undecidable), ("unsupported", Undecidable)]
)
def test_the_cause_of_no_failure_is_not_looked_for(verdict, refusal):
    with pytest.raises(refusal, match=f"there is no failure to look into: {verdict}: as it is"):
        require_failure(Judgement(verdict, "as it is"))
    for failure in FAILURES:
        require_failure(Judgement(failure, ""))
