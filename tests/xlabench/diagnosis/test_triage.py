"""What the reference itself breaks down with is its own bug, reduced as one, and nobody's else."""

import math
from dataclasses import replace

import numpy as np
import pytest
from in_process import Telling

import compiler
from compiler.ir.shape_rules import require
from compiler.ops import OPS
from compiler.pipeline import PASSES
from xlabench.cases import inputs
from xlabench.diagnosis import budget as budget_module
from xlabench.diagnosis import probe, triage
from xlabench.diagnosis.budget import Budget, OutOfTime
from xlabench.diagnosis.case import Case, recorded
from xlabench.diagnosis.probe import Judgement, Setup

BUG = "ValueError in window.py:_infer"
TEXT = """ENTRY main { x = f32[4] parameter(0) y = f32[4] tanh(x) z = f32[4] negate(y) w = f32[4] sine(z)
  ROOT r = (f32[4], f32[4]) tuple(w, y) }"""


class Broken:
    """A prober whose reference breaks down with a program that negates."""

    setup = Setup("cpu")
    record = staticmethod(recorded)

    def __init__(self, seconds=math.inf):
        self.budget = Budget(seconds)

    def bug_of_reference(self, case):
        return BUG if any(i.opcode == "negate" for i in case.module.instructions()) else ""

    def judge(self, case):
        return Judgement("undecided", "no reference")


def broken(text, **given):
    module = compiler.parse(text)
    return triage._of_reference(Broken(**given), Case(module, tuple(inputs.generate(module, 1))), 100)


def test_what_the_reference_breaks_down_with_is_reduced_and_named_by_where_it_does():
    found = broken(TEXT)
    assert [i.opcode for i in compiler.parse(found.module_text).instructions()] == ["parameter", "negate"]
    assert (found.cause, found.engine, found.verdict) == (f"reference/{BUG}", "cpu", "compile-error")


def test_a_reduction_ends_when_its_time_is_over():
    found = broken(TEXT, seconds=-1.0)
    assert "sine" in found.module_text
    assert (found.cause, found.probes, found.unfinished) == (f"reference/{BUG}", 0, True)
    assert not broken(TEXT).unfinished


def test_what_it_evaluates_is_no_bug_of_its():
    assert broken(TEXT.replace("negate", "abs")) is None


def test_where_programs_cannot_be_verified_none_is_a_candidate(monkeypatch):
    def verify(_):
        raise ValueError

    monkeypatch.setattr(compiler, "verify", verify)
    assert broken(TEXT).probes == 0


@pytest.mark.slow
def test_an_error_that_is_no_refusal_has_a_place(monkeypatch):
    with triage.Prober(Setup("cpu")) as prober:
        module = compiler.parse("ENTRY main { x = f32[4] parameter(0) ROOT y = f32[4] abs(x) }")
        assert not prober.bug_of_reference(Case(module, ()))  # inputs that do not fit are refused


def test_what_comes_of_how_inputs_lie_is_reduced_as_they_lie_and_put_down_to_that(monkeypatch, mutants):
    assert mutants, "the fixture has this folder searched for engines"
    monkeypatch.setattr(probe, "Worker", Telling)
    setup = Setup("takes-views-for-zeros", factory="broken_engines:engine", layout="strided")
    given = inputs.generate(compiler.parse(TEXT), 1)
    found = triage.triage(setup, TEXT, given, max_probes=60)
    assert (found.verdict, found.cause) == ("wrong", "program/input layout")
    assert len(list(compiler.parse(found.module_text).instructions())) <= 2
    assert triage.triage(replace(setup, layout="aligned"), TEXT, given, max_probes=60) is None


class Slow(Telling):
    """Does jobs until its time is over; each takes a second of a clock."""

    now = 0.0

    def run(self, job, arguments, **times):
        """Take a second."""
        Slow.now += 1.0
        return super().run(job, arguments, **times)


@pytest.fixture
def slow(monkeypatch, mutants):
    """A clock that goes on by a second with each question."""
    assert mutants, "the fixture has this folder searched for engines"
    monkeypatch.setattr(Slow, "now", 0.0)
    monkeypatch.setattr(probe, "Worker", Slow)
    monkeypatch.setattr(budget_module.time, "monotonic", lambda: Slow.now)
    return Setup("takes-views-for-zeros", factory="broken_engines:engine", layout="strided")


@pytest.mark.parametrize("seconds", range(1, 60))
def test_however_early_its_time_is_up_what_was_found_is_kept(seconds, slow):
    given = inputs.generate(compiler.parse(TEXT), 1)
    try:
        found = triage.triage(slow, TEXT, given, max_probes=400, budget=Budget(seconds))
    except OutOfTime:
        assert seconds < 8, "it is confirmed and blamed by then"
        return
    assert (found.verdict, found.cause) == ("wrong", "program/input layout")
    assert found.unfinished == (Slow.now >= seconds)
    assert Slow.now < seconds + 5, "only what is kept is judged later"
    assert not np.array_equal(found.expected[0], found.actual[0])


_LIBRARY_CALL = """ENTRY main { g = f32[1,3,2] parameter(0) w = f32[3,1,2] parameter(1) c = (f32[1,7,1], u8[0])
  custom-call(g, w), window={size=3 stride=2}, dim_labels=b0f_0io->b0f, custom_call_target="__cudnn$convBackwardInput"
  ROOT r = f32[1,7,1] get-tuple-element(c), index=0 }"""


@pytest.mark.parametrize(("engine", "cause"), [("reference", "reference/convolution"), ("cpu", None)])
def test_what_the_reference_refuses_by_a_shape_rule_is_put_down_to_it_as_it_is_where_it_is_asked_about(
    engine, cause, monkeypatch
):
    def refuse(instruction):
        require(instruction.users, "it has no users")

    monkeypatch.setattr(probe, "Worker", Telling)
    monkeypatch.setitem(OPS, "convolution", replace(OPS["convolution"], rule=refuse))
    given = inputs.generate(compiler.parse(_LIBRARY_CALL), 1)
    found = triage.triage(Setup(engine), _LIBRARY_CALL, given, max_probes=9)
    assert (found and found.cause) == cause
    assert found is None or (found.probes, str(compiler.parse(found.module_text))) == (
        0, str(compiler.parse(_LIBRARY_CALL))
    )  # fmt: skip


def test_a_shape_rule_that_is_wrong_in_a_pass_alone_is_not_the_fault_of_the_pass(monkeypatch):
    def only_mine(instruction):
        return None if instruction.name.startswith("made") else instruction.operands[0].shape

    def rewrite(module, _):
        return bool(compiler.ops.build.build(module.entry, "negate", module.entry.parameters, name="made"))

    monkeypatch.setattr(probe, "Worker", Telling)
    monkeypatch.setitem(OPS, "negate", replace(OPS["negate"], rule=only_mine))
    monkeypatch.setitem(PASSES, "dce", rewrite)
    given = inputs.generate(compiler.parse(TEXT), 1)
    found = triage.triage(Setup("cpu"), TEXT, given, max_probes=0)
    assert found.cause == "reference/negate"
