import pytest

from compiler import diagnostics
from xlabench import errors
from xlabench.errors import BenchError, CompileFailure, ExitCode, RunFailure, TimeoutFailure, Undecidable


@pytest.mark.parametrize(
    ("error", "code"),
    [(BenchError, 2), (CompileFailure, 3), (RunFailure, 4), (TimeoutFailure, 5), (Undecidable, 125)],
)
def test_each_error_of_the_harness_has_its_exit_code(error, code):
    assert errors.exit_code_of(error("why")) == code


def test_the_names_of_compiler_errors_are_those_of_the_compiler():
    assert all(issubclass(getattr(diagnostics, name), Exception) for name in errors._COMPILER_ERRORS)


def test_an_unsupported_opcode_cannot_be_decided():
    error = diagnostics.UnsupportedError("fft", "the CPU back end")
    assert errors.exit_code_of(error) == ExitCode.UNDECIDABLE
    assert errors.verdict_of(error) == "unsupported"
    assert errors.verdict_of(error, takes_all=True) == "compile-error"


def test_bad_input_is_no_verdict_on_an_engine():
    assert errors.verdict_of(diagnostics.InputError("two inputs")) is None


def test_a_bug_of_ours_has_no_exit_code():
    assert errors.exit_code_of(AssertionError("ours")) is None
