"""Where an engine and one that shares no code with it say the same, it is the reference that is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.diagnosis import witness
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Judgement
from xlabench.fuzzing.causes import same_cause

CASE = Case(compiler.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] sign(x) }"), (np.ones(2, np.float32),))
RIGHT, WRONG = (np.full(2, value, np.float32) for value in (1, -1))


class Witness:
    """Somebody who has an answer of his own."""

    def __init__(self, verdict, actual):
        self.verdict, self.actual, self.asked = verdict, actual, []

    def judge(self, case, *, engine="", expected=None):
        self.asked.append(engine)
        return Judgement(self.verdict, "", expected, (self.actual,))


@pytest.mark.parametrize(
    ("stage", "verdict", "told", "expected"),
    [
        ("kernel", "wrong", RIGHT, "reference/sign"),
        ("kernel", "bitwise", WRONG, "kernel/sign"),
        ("kernel", "wrong", np.zeros(2, np.float32), "kernel/sign"),
        ("kernel", "unsupported", RIGHT, "kernel/sign"),
        ("pass", "wrong", RIGHT, "pass/sign"),
    ],
)
@pytest.mark.parametrize("engine", ["cpu:opt=0", "xla"])
def test_who_stands_alone_is_to_blame(stage, verdict, told, expected, engine, monkeypatch):
    monkeypatch.setattr(witness, "find_spec", lambda _: object())
    found, asked = Blame(stage, "sign", "wrong"), Witness(verdict, told)
    judgement = Judgement("wrong", "", (WRONG,), (RIGHT,))
    assert witness.cause(asked, CASE, judgement, found, engine) == expected
    assert asked.asked == ([] if stage == "pass" else ["xla" if engine.startswith("cpu") else "cpu"])


def test_a_witness_with_a_known_bug_says_nothing(monkeypatch):
    """XLA cuts the bound of an index to the index's eight bits."""
    monkeypatch.setattr(witness, "find_spec", lambda _: object())
    text = """product { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] multiply(a, b) }
    ENTRY e { x = f32[129] parameter(0) i = s8[1] parameter(1) u = f32[] parameter(2)
      ROOT r = f32[129] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
        scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=product }"""
    inputs = (np.ones(129, np.float32), np.ones(1, np.int8), np.float32(0))
    found, expected = Blame("kernel", "scatter", "wrong"), np.where(np.arange(129) == 1, np.float32(0), inputs[0])
    judgement = Judgement("wrong", "", (expected,), (inputs[0],))
    asked = Witness("wrong", inputs[0])
    assert witness.cause(asked, Case(compiler.parse(text), inputs), judgement, found, "cpu") == "kernel/scatter"


def test_nobody_is_asked_where_nobody_is_there(monkeypatch):
    monkeypatch.setattr(witness, "find_spec", lambda _: None)
    found, asked = Blame("kernel", "sign", "wrong"), Witness("wrong", RIGHT)
    assert witness.cause(asked, CASE, Judgement("wrong", "", (WRONG,), (RIGHT,)), found, "cpu") == "kernel/sign"
    assert not asked.asked


def test_a_meaning_is_one_finding_however_much_is_beside_it():
    assert same_cause("reference/sign", "reference/add+sign")
    assert not same_cause("reference/sign", "kernel/sign")
