"""The judge is tried on one operation at a time, all of them by turns, and on a case now and then."""

import numpy as np
import pytest

import compiler
from xlabench.fuzzing import patients
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.values import make_inputs
from xlabench.judging import residuals, self_check

SOLVER = """
ENTRY main { x = f32[4,4] parameter(0)
  ROOT r = (f32[4,4], f32[4], s32[]) custom-call(x), custom_call_target="lapack_ssyevd_ffi",
    backend_config={mode = 86 : ui8, uplo = 76 : ui8} }
"""


@pytest.mark.parametrize("number", [0, 1, 17, 1 << 40])
def test_an_operation_is_a_small_program_of_it_or_none(number):
    module = patients.operation(number)
    assert module is None or len(list(module.instructions())) < 40
    assert str(module) == str(patients.operation(number))


def test_routines_of_lapack_are_tried_and_the_judge_is_right_about_them():
    for number in range(6):
        module = patients.routine(number)
        inputs = make_inputs(module, np.random.default_rng(number))
        self_check.check(module, inputs, np.random.default_rng(number), is_tame=True)


def test_a_judge_that_takes_any_factor_is_found_out(monkeypatch):
    monkeypatch.setattr(residuals, "RELATIONS", dict.fromkeys(residuals.RELATIONS, lambda _: [((0,), 0.0)]))
    module = compiler.parse(SOLVER)
    inputs = make_inputs(module, np.random.default_rng(0))
    with pytest.raises(self_check.JudgeError, match="is within"):
        self_check.check(module, inputs, np.random.default_rng(0))


def test_different_numbers_are_different_operations():
    found = {str(patients.operation(number)) for number in range(30)}
    assert len(found) > 15


def test_each_opcode_is_tried_on_tame_numbers_every_other_time():
    opcodes = len(patients._types())
    turns = [{number * patients._SPREAD % opcodes for number in range(2 * opcodes) if patients.is_tame(number) == tame}
             for tame in (True, False)]  # fmt: skip
    assert turns == [set(range(opcodes))] * 2


def test_every_excuse_has_its_turn(monkeypatch):
    asked = []
    monkeypatch.setattr(patients.excuse_check, "check", lambda number, _: asked.append(number))
    monkeypatch.setattr(patients, "_patients", lambda _: [])
    module = compiler.parse("ENTRY main { ROOT x = f32[] parameter(0) }")
    for number in range(patients.EXCUSES_EVERY * len(patients.excuse_check.KNOWN)):
        patients.examine(Case(number, module, [np.float32(1)]))
    assert asked == list(range(len(patients.excuse_check.KNOWN)))
