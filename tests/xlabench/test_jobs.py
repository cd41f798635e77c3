"""Arrays travel through files as they are, and what an engine did is put into words and verdicts."""

import ml_dtypes
import numpy as np
import pytest

import compiler
from xlabench import jobs, repeats
from xlabench.worker import Outcome

ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1],
    np.zeros((0, 5), np.int8),
    np.array([True]),
    np.array([1.5, np.nan], ml_dtypes.bfloat16),
    np.array([1, -2], ml_dtypes.int4),
    np.array(1 + 2j, np.complex128),
]


def test_arrays_of_any_type_come_back_to_the_bit(tmp_path):
    jobs.write_arrays(tmp_path / "a", ARRAYS)
    again = jobs.read_arrays(tmp_path / "a")
    assert repeats.same_bytes(ARRAYS, again)
    assert [one.dtype for one in again] == [one.dtype for one in ARRAYS]
    jobs.write_arrays(tmp_path / "none", [])
    assert jobs.read_arrays(tmp_path / "none") == []


def test_a_file_that_was_cut_off_is_not_read(tmp_path):
    jobs.write_arrays(tmp_path / "a", ARRAYS)
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"buffer|reshape"):
        jobs.read_arrays(tmp_path / "a")


def test_long_arrays_of_a_program_travel_as_bytes(tmp_path):
    module = compiler.parse("ENTRY e { ROOT c = f32[2000] constant({...}) }")
    compiler.settle_elided(module, 0)
    jobs.write_program(tmp_path / "program", module)
    assert "{...}" in (tmp_path / "program").read_text()
    assert jobs.read_program(tmp_path / "program") == module
    jobs.write_program(tmp_path / "program", text := compiler.to_text(module))  # to the letter, nothing beside it
    assert jobs.read_program(tmp_path / "program") == text
    assert jobs.module_of(text) == module


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Outcome("answered", "run"), "assembled"),
        (Outcome("died", "run"), "crash"),
        (Outcome("timeout", "compile"), "timeout"),
        (Outcome("raised", "compile", error="CompilerError UnsupportedError"), "unsupported"),
        (Outcome("raised", "compile cpu", error="CompilerError"), "compile-error"),
        (Outcome("raised", "run", error="ValueError"), "crash"),
    ],
)
def test_an_engine_without_results_gets_a_verdict_by_how_and_where_it_ended(outcome, verdict):
    assert jobs.without_results(outcome) == verdict
    strict = jobs.without_results(outcome, takes_all=True)
    assert strict == ("compile-error" if verdict == "unsupported" else verdict)


def test_what_no_engine_may_do_comes_before_what_it_gave():
    assert jobs.of_calls([], "", "bitwise", "all well") == ("bitwise", "all well")
    assert jobs.of_calls([0, 2], "often", "bitwise", "all well")[0] == "wrong"
    verdict, message = jobs.of_calls([], repeats.flakiness(3), "bitwise", "all well")
    assert verdict == "flaky"
    assert "3 of 20 more calls" in message
    assert jobs.of_calls([], "", "within", "near", otherwise="strided") == ("wrong", "strided; near")
