"""Runs are told of: before them with inputs, after them with results too; one that fails only before."""

import pytest

from compiler.backends.recorded import RecordedExecutable


class Inner:
    module, phases = None, None

    def __call__(self, *inputs):
        return [1 / one for one in inputs]

    def profile(self, *inputs):
        return ["times"]


@pytest.fixture
def told():
    return []


def recorded(told, **which):
    hooks = {
        "before": lambda inputs: told.append(("before", inputs)),
        "after": lambda inputs, results: told.append(("after", inputs, results)),
    }
    return RecordedExecutable(Inner(), **{name: hooks[name] for name in which})


def test_both_are_told_in_order(told):
    assert recorded(told, before=1, after=1)(2, 4) == [0.5, 0.25]
    assert told == [("before", (2, 4)), ("after", (2, 4), [0.5, 0.25])]


def test_nobody_need_listen(told):
    assert recorded(told)(2) == [0.5]


def test_a_run_that_fails_was_told_of_before(told):
    with pytest.raises(ZeroDivisionError):
        recorded(told, before=1, after=1)(0)
    assert told == [("before", (0,))]


def test_a_profile_is_no_run_that_anybody_is_told_of(told):
    assert recorded(told, before=1, after=1).profile(2) == ["times"]
    assert told == []
