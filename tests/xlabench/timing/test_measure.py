"""The timing protocol, on a clock that the test moves."""

import gc

import pytest

from xlabench.timing import measure
from xlabench.timing.measure import Plan


class Clock:
    """Time that passes only inside the subjects."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def __call__(self):
        return self.now

    def subject(self, name, *durations):
        """A callable that takes the given durations in turn, the last one for ever."""
        pending = list(durations)

        def call():
            self.log.append(name)
            self.now += pending.pop(0) if len(pending) > 1 else pending[0]

        return call


def run(clock, subjects, **plan):
    return measure.interleave(subjects, plan=Plan(**{"budget_s": 1e9, **plan}), clock=clock)


@pytest.mark.slow
def test_samples_are_seconds_per_call():
    clock = Clock()
    measured = run(clock, {"a": clock.subject("a", 0.001), "b": clock.subject("b", 0.25)}, rounds=10)
    assert [series.name for series in measured.series] == ["a", "b"]
    assert measured.series[0].samples == pytest.approx([0.001] * 10)
    assert measured.series[1].samples == pytest.approx([0.25] * 10)
    assert measured.doubts == ()


@pytest.mark.slow
def test_batches_last_as_long_as_the_plan_asks():
    clock = Clock()
    measured = run(clock, {"fast": clock.subject("fast", 1e-6), "slow": clock.subject("slow", 1.0)}, batch_s=0.004)
    fast, slow = measured.series
    assert 4000 <= fast.calls <= 40_000
    assert slow.calls == 1


@pytest.mark.slow
def test_every_round_runs_each_subject_once_in_changing_order():
    clock = Clock()
    run(clock, {"a": clock.subject("a", 1.0), "b": clock.subject("b", 1.0)}, rounds=40)
    rounds = [tuple(clock.log[i : i + 2]) for i in range(len(clock.log) - 80, len(clock.log), 2)]
    assert set(rounds) == {("a", "b"), ("b", "a")}


@pytest.mark.slow
def test_the_budget_ends_the_rounds_but_not_before_the_minimum():
    clock = Clock()
    measured = run(clock, {"a": clock.subject("a", 1.0)}, rounds=100, min_rounds=5, budget_s=0.5)
    assert len(measured.series[0].samples) == 5
    assert [doubt.kind for doubt in measured.doubts] == ["few-rounds"]


@pytest.mark.slow
def test_slow_first_calls_do_not_reach_the_samples():
    clock = Clock()
    measured = run(clock, {"a": clock.subject("a", 5.0, 1.0, 0.1)}, warmup_s=100.0)
    assert max(measured.series[0].samples) == pytest.approx(0.1)


@pytest.mark.slow
def test_a_subject_that_never_settles_is_reported():
    clock = Clock()
    falling = [1.5**-n for n in range(200)]
    measured = run(clock, {"a": clock.subject("a", *falling)}, warmup_s=2.9, rounds=10)
    assert "unsettled" in {doubt.kind for doubt in measured.doubts}


@pytest.mark.parametrize(
    ("samples", "kind"),
    [([1.0] * 10 + [2.0] * 10, "drift"), ([1.0, 2.0] * 10, "noisy"), ([1.0] * 3, "few-rounds")],
)
def test_doubtful_samples_are_named(samples, kind):
    doubts = measure.judge(measure.Series("a", tuple(samples), 1))
    assert kind in {doubt.kind for doubt in doubts}


@pytest.mark.slow
def test_the_collector_is_off_only_while_measuring():
    clock, seen = Clock(), []
    tick = clock.subject("a", 1.0)
    run(clock, {"a": lambda: (tick(), seen.append(gc.isenabled()))}, rounds=2)
    assert gc.isenabled()
    assert not any(seen)


@pytest.mark.slow
def test_a_clock_that_stands_still_is_survived():
    measured = measure.interleave({"a": lambda: None}, plan=Plan(rounds=3), clock=iter(range(10**6)).__next__)
    assert len(measured.series[0].samples) == 3


def test_the_busy_time_of_the_machine_grows():
    before = measure.busy_s()
    while measure.busy_s() == before:
        sum(range(10_000))
