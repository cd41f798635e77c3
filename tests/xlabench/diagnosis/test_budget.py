"""A finding has a deadline: what it cuts off is no answer, and smaller programs have less time than the original."""

import pytest

from xlabench.diagnosis import budget as budget_module
from xlabench.diagnosis.budget import FOLLOW_UP_S, Bounded, Budget, OutOfTime
from xlabench.worker import Outcome


class Job:
    """A worker whose jobs take so many seconds of a clock, and which ends them when their time is up."""

    def __init__(self, monkeypatch):
        self.now, self.takes, self.limits = 1000.0, 0.0, []
        monkeypatch.setattr(budget_module.time, "monotonic", lambda: self.now)

    def run(self, _job, _arguments, *, timeout_s):
        self.limits.append(timeout_s)
        self.now += min(self.takes, timeout_s)
        return Outcome("timeout" if self.takes >= timeout_s else "answered")


@pytest.fixture
def job(monkeypatch):
    return Job(monkeypatch)


def ask(job, budget, takes=1.0, timeout_s=60.0):
    job.takes = takes
    return Bounded(job, budget).run("job", {}, timeout_s=timeout_s).ending


def test_without_seconds_there_is_no_end(job):
    budget = Budget()
    with budget.for_smaller("wrong"):
        assert [ask(job, budget, takes) for takes in (1.0, 1e9)] == ["answered", "timeout"]
    assert (job.limits, budget.is_spent) == ([60.0, 60.0], False)


@pytest.mark.parametrize(("timeout_s", "seconds"), [(10.0, FOLLOW_UP_S), (60.0, FOLLOW_UP_S), (600.0, 3000.0)])
def test_a_finding_has_time_for_some_questions_that_take_all_of_theirs(job, timeout_s, seconds):
    budget = Budget.of_a_finding(timeout_s)
    while not budget.is_spent:
        assert ask(job, budget, takes=1e9, timeout_s=timeout_s) == "timeout"
    assert job.now == 1000.0 + seconds


def test_what_the_deadline_cuts_off_is_no_answer_and_nothing_is_asked_behind_it(job):
    budget = Budget(100.0)
    assert [ask(job, budget, 1e9), ask(job, budget, 30.0)] == ["timeout", "answered"]
    for _ in range(2):
        with pytest.raises(OutOfTime):
            ask(job, budget, 1e9)
    assert (job.limits, budget.is_spent) == ([60.0, 40.0, 10.0], True)


def test_smaller_programs_have_a_few_times_as_long_as_the_slowest_question_that_ended(job):
    budget = Budget(1000.0)
    assert [ask(job, budget, takes) for takes in (0.5, 3.0, 1e9, 2.0)] == [
        "answered",
        "answered",
        "timeout",
        "answered",
    ]
    with budget.for_smaller("wrong"):
        assert ask(job, budget, 1e9) == "timeout"
        ask(job, budget, 11.0)
    ask(job, budget)
    assert job.limits[4:] == [12.0, 12.0, 60.0]


def test_they_have_some_seconds_and_never_longer_than_the_original(job):
    budget = Budget(1000.0)
    ask(job, budget, 0.1)
    with budget.for_smaller("crash"):
        ask(job, budget)
        ask(job, budget, timeout_s=2.0)
    assert job.limits[1:] == [5.0, 2.0]


def test_what_does_not_end_has_all_its_time_however_small(job):
    budget = Budget(1000.0)
    ask(job, budget)
    with budget.for_smaller("timeout"):
        assert ask(job, budget, 1e9) == "timeout"
    assert job.limits[-1] == 60.0


def test_what_is_kept_is_judged_however_late(job):
    budget = Budget(-1.0)
    with budget.for_the_last():
        assert ask(job, budget, 1e9) == "timeout"
    with pytest.raises(OutOfTime):
        ask(job, budget)
    assert job.limits == [60.0]
