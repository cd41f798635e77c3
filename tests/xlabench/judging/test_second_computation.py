"""Rules by which errors go through operations are right about all of them, and found out where they are not."""

import dataclasses

import numpy as np
import pytest

from compiler import wide
from compiler.ops import Trait, having
from compiler.wide.numbers import Wide
from xlabench.judging import second_computation
from xlabench.judging.second_computation import COMPLEX, REAL, check, rows
from xlabench.judging.self_check import JudgeError

ROWS = rows()


@pytest.mark.parametrize("kind", dict.fromkeys(kind for _, kind in ROWS))
def test_no_rule_is_too_tight_or_too_wide(kind):
    for row in [row for row in ROWS if row[1] == kind]:
        for seed in range(3):
            check(row, np.random.default_rng(seed))


def test_whatever_is_approximate_has_a_row():
    assert {opcode for opcode, _ in ROWS} == {*REAL, *COMPLEX}
    assert having(Trait.APPROXIMATE) & wide.elementwise.RULES.keys() - {"erf-inv"} <= {*REAL, *COMPLEX}


def found(monkeypatch, row, change):
    """Whether it is found that a rule's errors are others."""
    rule = wide.RULES[row[0]]

    def other(instruction, operands, context):
        made = rule(instruction, operands, context)
        is_asked = bool(instruction.attributes) or instruction.name == "r"
        return dataclasses.replace(made, error=change(made.error, operands)) if is_asked else made

    monkeypatch.setitem(wide.RULES, row[0], other)
    try:
        for seed in range(3):
            check(row, np.random.default_rng(seed))
    except JudgeError:
        return True
    return False


CHANGES = {
    "none": lambda error, _: np.zeros_like(error),
    "a tenth": lambda error, _: error / 10,
    "thirty times": lambda error, _: error * 30,
    "the first operand's": lambda error, operands: np.where(error > 0, np.minimum(operands[0].error, error) / 3, error),
}
"""How errors may be wrong."""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["f32", "c64", "f64"])
def test_errors_that_are_wrong_are_found(monkeypatch, kind, change):
    kept = [row for row in ROWS if row[1] == kind and row[0] not in _STEPS]
    missed = [row for row in kept if not found(monkeypatch, row, CHANGES[change])]
    assert not missed


_STEPS = {"sign", "floor", "ceil", "round-nearest-even", "round-nearest-afz", "compare"}
"""What makes the same of most of what an operand may be."""


def test_a_decision_that_is_taken_for_known_is_found(monkeypatch):
    assert found(monkeypatch, ("compare", "f32"), lambda error, _: np.zeros_like(error))


def test_a_decision_that_is_never_known_is_found(monkeypatch):
    assert found(monkeypatch, ("compare", "f32"), lambda error, _: np.full_like(error, np.inf))


def test_a_number_off_is_found(monkeypatch):
    rule = wide.RULES["tanh"]

    def off(instruction, operands, context):
        made = rule(instruction, operands, context)
        return Wide(made.value + 0.25, made.error)

    monkeypatch.setitem(wide.RULES, "tanh", off)
    with pytest.raises(JudgeError, match="is right of"):
        check(("tanh", "f32"), np.random.default_rng(0))


def test_operands_are_exact_and_not():
    values, added = second_computation.blurred("f32", (-6.0, 6.0), 16, np.random.default_rng(0))
    assert values.shape == added.shape
    assert 0 < (added == 0).sum() < len(added)
