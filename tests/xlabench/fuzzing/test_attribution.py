"""The end of a process is blamed on who wrote over its memory, as checks tell it."""

import pytest

from xlabench.fuzzing.attribution import attribute_crash
from xlabench.fuzzing.case_failure import CaseFailure


def failure(number, engine="cpu", verdict="crash"):
    return CaseFailure(number, engine, verdict, "", "run", "", [], [], [])


def attributed(ended, answers, cases=(3, 4, 5), engines=("cpu",)):
    asked = []

    def again(specs, numbers):
        asked.append((list(specs), list(numbers)))
        return answers.pop(0) if answers else []

    return attribute_crash(ended, engines, cases, again), asked


def test_an_engine_that_ends_alone_is_to_blame_itself():
    ended = failure(5)
    found, asked = attributed(ended, [[failure(5, "cpu:checks=bounds")]])
    assert found is ended or found.number == 5
    assert len(asked) == 1


def test_another_engine_on_the_same_case_is():
    found, _ = attributed(failure(5, "nvptx"), [[failure(5, "cpu:bounds=on")]], engines=("nvptx", "cpu"))
    assert found.engine == "cpu:bounds=on"


def test_one_on_a_case_before_is():
    found, asked = attributed(failure(5), [[], [failure(3, "cpu:bounds=on")]])
    assert (found.number, asked[0][1], asked[1][1]) == (3, [5], [3, 4])


@pytest.mark.parametrize(
    ("ended", "engines"), [(failure(5, verdict="wrong"), ("cpu",)), (failure(5, "reference"), ("reference",))]
)
def test_nothing_is_asked_where_checks_could_not_tell(ended, engines):
    assert attributed(ended, [], engines=engines) == (ended, [])


def test_where_checks_find_nothing_it_stays_with_the_one_that_ended():
    ended = failure(3)
    found, asked = attributed(ended, [[], []])
    assert found is ended
    assert len(asked) == 1
