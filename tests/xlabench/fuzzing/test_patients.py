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


def test_of_random_numbers_the_judge_has_nothing_to_say():
    assert not {"rng", "custom-call"} & patients._types().keys()


@pytest.mark.parametrize("opcodes", [120, 121])
def test_each_opcode_is_tried_on_tame_numbers_every_other_time(opcodes, monkeypatch):
    monkeypatch.setattr(patients, "_types", lambda: dict.fromkeys(range(opcodes)))
    turns = [{number * patients._SPREAD % opcodes for number in range(2 * opcodes) if patients.is_tame(number) == tame}
             for tame in (True, False)]  # fmt: skip
    assert turns == [set(range(opcodes))] * 2


def program_of(instructions):
    lines = "".join(f"y{k} = f32[] negate(x) " for k in range(instructions - 2))
    return compiler.parse(f"ENTRY main {{ x = f32[] parameter(0) {lines} ROOT r = f32[] negate(x) }}")


@pytest.mark.parametrize("times", [1, 2, 4, 20])
def test_what_is_tried_has_its_turn_and_beside_small_programs_as_many_times_less_often(times, monkeypatch):
    asked = {"excuse": [], "routine": [], "operation": []}
    monkeypatch.setattr(patients.excuse_check, "check", lambda number, _: asked["excuse"].append(number))
    monkeypatch.setattr(patients, "routine", lambda number: asked["routine"].append(number))
    monkeypatch.setattr(patients, "operation", lambda number: asked["operation"].append(number))
    monkeypatch.setattr(patients, "CASES_EVERY", 1 << 40)
    module = program_of(patients.USUAL_INSTRUCTIONS // times)
    turns, every = 10, {"excuse": patients.EXCUSES_EVERY, "routine": patients.ROUTINES_EVERY}
    for number in range(1, times * turns * 8):
        patients.examine(Case(number, module, [np.float32(1)]))
    for kind, numbers in asked.items():
        counted = every.get(kind, patients.OPERATIONS_EVERY)
        last = (times * turns * 8 - 1) // (counted * times)
        per_turn = patients.OPERATIONS if kind == "operation" else 1
        assert numbers == list(range(per_turn, (last + 1) * per_turn))
