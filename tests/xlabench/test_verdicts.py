"""What came of an engine is a verdict with the message of those that may say something, and else what it printed."""

import math

import pytest

from xlabench.cases.suite import Variant
from xlabench.verdicts import of_no_results
from xlabench.worker import Outcome


@pytest.fixture
def variant(tmp_path):
    return Variant(tmp_path / "m.hlo", "smaller")


def test_an_error_of_the_compiler_says_all_there_is_to_know(variant):
    outcome = Outcome("raised", "compile", error="CompilerError ParseError", message="bad text", output="noise")
    verdict = of_no_results("cpu", variant, outcome)
    assert (verdict.verdict, verdict.message, verdict.stage) == ("compile-error", "bad text", "compile")
    assert verdict.reduced == "smaller"


def test_of_a_crash_what_was_printed_is_kept(variant):
    verdict = of_no_results("cpu", variant, Outcome("died", "run", message="signal 11", output="a trace\n"))
    assert (verdict.verdict, verdict.message) == ("crash", "signal 11\na trace")


def test_what_only_assembles_has_done_all(variant):
    outcome = Outcome("answered", "compile", {"proven": "3 kernels assembled", "compile_s": 0.5})
    verdict = of_no_results("nvptx:ptxas", variant, outcome)
    assert (verdict.verdict, verdict.message) == ("assembled", "3 kernels assembled")
    assert math.isclose(verdict.compile_s, 0.5)
