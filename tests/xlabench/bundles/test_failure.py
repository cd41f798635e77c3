"""A failure whose parts do not belong together is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from xlabench.bundles.failure import Failure, check
from xlabench.errors import BenchError

TEXT = "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] negate(x) }"
X = np.ones(3, np.float32)


def failure(result):
    return Failure(TEXT, [X], [result], [], "cpu", "reference", None, "crash", "")


def test_results_are_those_of_the_program():
    check(failure(-X), Path("b"))
    with pytest.raises(BenchError, match="result 0 is float64"):
        check(failure(np.ones(3)), Path("b"))


@pytest.mark.parametrize("verdict", ["crash", "timeout", "compile-error", "flaky", "wrong"])
def test_there_are_no_results_only_where_nobody_had_an_answer_and_none_is_wrong_then(verdict):
    unanswered = Failure(TEXT, [X], [], [], "cpu", "reference", None, verdict, "", is_unanswered=True)
    with pytest.raises(BenchError, match="0 results, but"):
        check(replace(unanswered, is_unanswered=False), Path("b"))
    with pytest.raises(BenchError, match="there are results, but the manifest says that nobody had an answer"):
        check(replace(unanswered, expected=[-X]), Path("b"))
    if verdict == "wrong":
        with pytest.raises(BenchError, match="no result can be wrong"):
            check(unanswered, Path("b"))
    else:
        check(unanswered, Path("b"))


def test_of_a_program_that_gives_nothing_there_are_no_results_whoever_answered():
    nothing = Failure("ENTRY e { ROOT r = () tuple() }", [], [], [], "cpu", "reference", None, "wrong", "")
    for is_unanswered in (False, True):
        check(replace(nothing, is_unanswered=is_unanswered), Path("b"))
