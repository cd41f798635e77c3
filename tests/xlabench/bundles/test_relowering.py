"""A graph is replayed against what it is lowered to now."""

from dataclasses import replace

import pytest
from graph_cases import program, two_ways
from one_program import PROGRAM, X

import compiler
from compiler.tf2xla import RECORDS
from xlabench.bundles import bundle, saving
from xlabench.bundles.failure import Failure
from xlabench.bundles.relowering import lowered_now
from xlabench.tensorflow.runtime import programs

ADD = RECORDS["AddV2"]


def _subtracts_constants(operation):
    x, y = operation["x"], operation["y"]
    return ADD.lower(operation) if operation.library.value(y) is None else x - y


def _verdict(folder):
    return bundle.replay_job({"folder": str(folder)}, lambda _: None)["verdict"]


@pytest.mark.parametrize("engine", ["ops", "clusters:min=1"])
def test_a_lowering_that_was_mended_shows_no_more(tmp_path, monkeypatch, engine):
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    with monkeypatch.context() as planted:
        planted.setitem(RECORDS, "AddV2", replace(ADD, lower=_subtracts_constants))
        case = program(two_ways(chosen=True))
        expected = compiler.interpret(case.module, *case.inputs)
        failure = Failure(case.text(), case.inputs, expected, expected, engine, "reference", None, "wrong", "")
        for name, data in saving._contents(failure).items():
            (tmp_path / name).write_bytes(data)
        assert engine != "ops" or _verdict(tmp_path) == "wrong"
    programs._PROGRAMS.clear()
    assert _verdict(tmp_path) == "bitwise"


def test_what_is_lowered_as_it_was_stays():
    case = program(two_ways(chosen=True))
    assert lowered_now("ops", "reference", case.text(), case.inputs) == {}
    assert lowered_now("cpu", "reference", PROGRAM, [X]) == {}
