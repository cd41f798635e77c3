"""Two engines have one bug where each fails on the other's program, or on one that names what both blame."""

import itertools

import numpy as np
import pytest

import compiler
from xlabench.diagnosis.budget import Budget, OutOfTime
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Judgement, Setup
from xlabench.fuzzing import sharing
from xlabench.fuzzing.causes import Shown
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
