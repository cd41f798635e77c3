"""Two engines have one bug where each fails on the other's program, or on one that names what both blame."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import compiler
from xlabench.bundles import bundle, saving
from xlabench.diagnosis.budget import Budget, OutOfTime
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Judgement, Setup
from xlabench.fuzzing import sharing
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.causes import Shown
from xlabench.fuzzing.findings import Findings
from xlabench.fuzzing.followed_up import FollowedUp
from xlabench.fuzzing.sharing import Showing, is_one_bug

_ENGINES = ("cpu", "nvptx:sim")
_GENERAL = ("program/memory or control flow", "kernel/any elementwise")


def _showing(engine, opcode, cause):
    text = f"ENTRY main {{ x = f32[4] parameter(0) ROOT z = f32[4] {opcode}(x) }}"
    case = Case(compiler.parse(text), (np.ones(4, np.float32),))
    return Showing(Shown((engine,), "wrong", (), cause), engine, case, "aligned")


def _is_one(monkeypatch, known, found, verdicts):
    class Engine:
        def __init__(self, setup, _budget):
            self.engine = setup.engine

        def judge(self, case):
            verdict = verdicts[self.engine, case.module.entry.root.opcode]
            if verdict == "late":
                raise OutOfTime
            return Judgement(verdict, "")

        __enter__, __exit__ = (lambda self: self), (lambda *_: None)

    monkeypatch.setattr(sharing, "Prober", Engine)
    return is_one_bug(known, found, lambda engine, _layout: Setup(engine), Budget())


@pytest.mark.parametrize("verdicts", list(itertools.product(("wrong", "within", "late"), repeat=2)))
@pytest.mark.parametrize("causes", list(itertools.permutations(("kernel/tanh", *_GENERAL), 2)))
def test_where_no_opcode_is_in_common_each_engine_fails_on_the_program_of_the_other(causes, verdicts, monkeypatch):
    known, found = (_showing(*one) for one in zip(_ENGINES, ("acosh", "tanh"), causes, strict=True))
    asked = dict(zip((("nvptx:sim", "acosh"), ("cpu", "tanh")), verdicts, strict=True))
    assert _is_one(monkeypatch, known, found, asked) == (verdicts == ("wrong", "wrong"))


@pytest.mark.parametrize("verdict", ["wrong", "within", "late"])
def test_where_one_opcode_is_blamed_its_program_is_enough(verdict, monkeypatch):
    known, found = (_showing(engine, "tanh", "kernel/tanh") for engine in _ENGINES)
    asked = {("nvptx:sim", "tanh"): verdict}
    assert _is_one(monkeypatch, known, found, asked) == (verdict == "wrong")


SWALLOWING = {
    "a judge that is wrong about one program": ("program/memory or control flow", ("acosh",)),
    "a bug of all kernels of one engine": ("kernel/any elementwise", ("acosh", "tanh", "negate")),
    "a bug of two engines": ("program/memory or control flow", ("acosh", "tanh", "negate")),
}
"""What is known of the CPU by a program of `acosh`, and the opcodes of the programs that fail on it."""


@pytest.mark.parametrize("verdict", ["wrong", "crash", "compile-error"])
@pytest.mark.parametrize("what", SWALLOWING)
def test_what_fails_on_any_engine_swallows_nothing_that_another_one_alone_shows(what, verdict, tmp_path, monkeypatch):
    """While two programs that each fail on both are one bundle."""
    cause, failing = SWALLOWING[what]
    others = ("acosh", "tanh")  # which fail on the other engine

    class Engine:
        def __init__(self, setup, _budget):
            self.opcodes = failing if setup.engine == "cpu" else others

        def judge(self, case):
            (opcode,) = {i.opcode for i in case.module.instructions()} - {"parameter"}
            return Judgement(verdict if opcode in self.opcodes else "within", "")

        __enter__, __exit__ = (lambda self: self), (lambda *_: None)

    class Blamed(Findings):
        def _triaged(self, failure, _budget):
            return FollowedUp(failure, cause if "acosh" in failure.module_text else "kernel/tanh", 1)

    def load(folder):
        kept = _opcode("acosh", verdict)
        return replace(kept, engine="cpu")

    monkeypatch.setattr(sharing, "Prober", Engine)
    monkeypatch.setattr(saving, "save", lambda _failure, folder, **_: saving.Saved(folder, verified=True))
    monkeypatch.setattr(bundle, "load", load)
    findings = Blamed(tmp_path, max_probes=9)
    for number, (engine, opcode) in enumerate((("cpu", "acosh"), ("nvptx:sim", "tanh"), ("nvptx:sim", "acosh"))):
        findings.add(replace(_opcode(opcode, verdict), number=number, engine=engine))
    is_one = "tanh" in failing
    assert [found.cases for found in findings.all] == ([(0, 1, 2)] if is_one else [(0, 2), (1,)])


def _opcode(opcode, verdict):
    text = f"ENTRY main {{ x = f32[4] parameter(0) ROOT z = f32[4] {opcode}(x) }}"
    key = {"wrong": "0", "crash": "run"}.get(verdict, f"RuntimeError in {opcode}.py:emit: it cannot")
    given = [np.ones(4, np.float32)]
    return CaseFailure(0, "cpu", verdict, "", key, text, given, given, [])
