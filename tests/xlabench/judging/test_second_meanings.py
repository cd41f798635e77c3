"""Rules by which errors go from many elements to many are right about all of them, and found out where they are not."""

import dataclasses

import numpy as np
import pytest

from compiler import wide
from compiler.wide.numbers import Wide
from xlabench.judging.second_meanings import check, rows
from xlabench.judging.self_check import JudgeError
from xlabench.judging.written_out import FORMS, MOVED, ORDERED, SUMMED

ROWS = rows()


@pytest.mark.parametrize("kind", dict.fromkeys(kind for _, kind in ROWS))
def test_no_rule_is_too_tight_or_too_wide(kind):
    for row in [row for row in ROWS if row[1] == kind]:
        for seed in range(5):
            check(row, np.random.default_rng(seed))


def test_every_form_is_tried():
    assert {name for name, _ in ROWS} == {*FORMS}


def found(monkeypatch, name, change, seeds=3):
    """Whether it is found that the results of a rule are others."""
    form, rule = FORMS[name], wide.RULES[FORMS[name].opcode]

    def other(instruction, operands, context):
        made = rule(instruction, operands, context)
        return tuple(map(change, made)) if isinstance(made, tuple) else change(made)

    monkeypatch.setitem(wide.RULES, form.opcode, other)
    try:
        for kind in [kind for one, kind in ROWS if one == name]:
            for seed in range(seeds):
                check((name, kind), np.random.default_rng(seed))
    except JudgeError:
        return True
    return False


def turned(array):
    """The elements in another order."""
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


@pytest.mark.parametrize("name", FORMS)
def test_errors_that_are_left_out_are_found(monkeypatch, name):
    assert found(monkeypatch, name, lambda made: dataclasses.replace(made, error=np.zeros_like(made.error)))


@pytest.mark.parametrize("name", SUMMED)
def test_errors_that_are_too_large_are_found(monkeypatch, name):
    assert found(monkeypatch, name, lambda made: dataclasses.replace(made, error=30 * made.error))


@pytest.mark.parametrize("name", FORMS)
def test_values_that_are_others_are_found(monkeypatch, name):
    assert found(monkeypatch, name, lambda made: Wide(made.value + 1, made.error))


@pytest.mark.parametrize("name", MOVED)
def test_errors_that_do_not_go_along_with_their_elements_are_found(monkeypatch, name):
    assert found(monkeypatch, name, lambda made: dataclasses.replace(made, error=turned(made.error)))


@pytest.mark.parametrize("name", ORDERED)
def test_an_order_that_is_never_known_is_found(monkeypatch, name):
    assert found(monkeypatch, name, lambda made: dataclasses.replace(made, error=np.full_like(made.error, np.inf)))
