"""A call of a campaign ends by the clock, or when somebody wants it to."""

import math

from xlabench.fuzzing import deadline as deadline_module
from xlabench.fuzzing.deadline import Deadline


def test_without_a_time_there_is_no_end():
    deadline = Deadline.after(None)
    assert (deadline.is_over, deadline.left_s) == (False, math.inf)


def test_it_is_over_when_the_time_is_up(monkeypatch):
    now = [5.0]
    monkeypatch.setattr(deadline_module.time, "monotonic", lambda: now[0])
    deadline = Deadline.after(10.0)
    assert (deadline.is_over, deadline.left_s) == (False, 10.0)
    now[0] = 15.0
    assert (deadline.is_over, deadline.left_s) == (True, 0.0)


def test_it_is_over_when_somebody_wants_an_end_whatever_the_time():
    wishes = []
    deadline = Deadline.after(1e6, lambda: bool(wishes))
    assert not deadline.is_over
    wishes.append("Ctrl-C")
    assert deadline.is_over
    assert deadline.left_s > 0
