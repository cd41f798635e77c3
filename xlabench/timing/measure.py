"""Interleaved timing: the protocol that makes two engines comparable on a machine that is not ours alone.

All subjects are warmed up until two successive windows agree, each gets a batch size whose duration the timer resolves
with ease, and then every round runs one batch of each in a fresh random order, so that drift of the machine hits all
alike.  One round gives one sample per subject: seconds per call.  What makes a result doubtful is returned as data
beside the samples, never printed and never silently repaired.

The clock is an argument; tests script it.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from xlabench.timing import stats

Clock = Callable[[], float]
Subject = Callable[[], object]

_SETTLED = 0.1  # two warm-up windows agree when they differ by less
_NOISY = 0.1  # a relative spread above this is worth a word
_DRIFT = 0.1
_FEW_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure; the budget ends the rounds early, but never before `min_rounds`."""

    rounds: int = 30
    min_rounds: int = 5
    batch_s: float = 0.004
    warmup_s: float = 0.3
    budget_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one subject in seconds per call, in the order of the rounds."""

    name: str
    samples: tuple[float, ...]
    calls: int  # in each batch


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason to trust a measurement less; `subject` is empty when it concerns all of them."""

    kind: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """The series by subject, in the order given, and what speaks against them."""

    series: tuple[Series, ...]
    doubts: tuple[Doubt, ...]


def interleave(
    subjects: Mapping[str, Subject], *, plan: Plan | None = None, seed: int = 0, clock: Clock = time.perf_counter
) -> Measurement:
    """Time the subjects in interleaved rounds of random order.

    Args:
        subjects: what is timed, by name.
        plan: how many rounds, and how long.
        seed: of the order.
        clock: what reads the time, in seconds.
    """
    plan = plan or Plan()
    order = random.Random(seed)
    doubts: list[Doubt] = []
    samples: dict[str, list[float]] = {name: [] for name in subjects}
    with _no_collector():
        calls = {name: _warm_up(name, subject, plan, clock, doubts) for name, subject in subjects.items()}
        start = clock()
        for done in range(plan.rounds):
            if done >= plan.min_rounds and clock() - start > plan.budget_s:
                break
            for name in order.sample(list(subjects), len(subjects)):
                samples[name].append(_batch(subjects[name], calls[name], clock))
    series = tuple(Series(name, tuple(values), calls[name]) for name, values in samples.items())
    for one in series:
        doubts += judge(one)
    return Measurement(series, tuple(doubts))


def busy_s() -> float:
    """CPU seconds that the whole machine has spent on anything since it started, steal included; 0 when unknown."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0.0
    user, nice, system, _idle, _iowait, *rest = map(int, line.split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def judge(series: Series) -> list[Doubt]:
    """What the samples alone say against themselves."""
    values = series.samples
    typical = stats.median(values)
    found: list[tuple[str, str]] = []
    if len(values) < _FEW_ROUNDS:
        found.append(("few-rounds", f"only {len(values)} rounds fitted into the time budget"))
    spread = stats.mad(values) / typical if typical > 0 else 0.0
    if spread > _NOISY:
        found.append(("noisy", f"samples spread by {spread:.0%} of their median"))
    half = len(values) // 2
    if half >= _FEW_ROUNDS // 2:
        early, late = stats.lower_quartile(values[:half]), stats.lower_quartile(values[-half:])
        drift = late / early - 1 if early > 0 else 0.0
        if abs(drift) > _DRIFT:
            found.append(("drift", f"the second half of the samples differs from the first by {drift:+.0%}"))
    return [Doubt(kind, series.name, message) for kind, message in found]


@contextmanager
def _no_collector() -> Iterator[None]:
    """Keep the garbage collector out of the samples; what it would have done is done before."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _warm_up(name: str, subject: Subject, plan: Plan, clock: Clock, doubts: list[Doubt]) -> int:
    """Call until two windows agree, doubling the batch until it lasts long enough; return the calls per batch."""
    start, calls, before = clock(), 1, 0.0
    while True:
        per_call = _batch(subject, calls, clock)
        long_enough = per_call * calls >= plan.batch_s
        settled = long_enough and abs(per_call - before) <= _SETTLED * max(per_call, before)
        if settled or (before and clock() - start > plan.warmup_s):
            break
        before = per_call
        calls = calls if long_enough else _next_batch(calls, per_call, plan.batch_s)
    if not settled:
        doubts.append(Doubt("unsettled", name, f"still changing after {plan.warmup_s:g} s of warm-up"))
    return calls


def _next_batch(calls: int, per_call: float, batch_s: float) -> int:
    """Aim a little past the wanted duration, growing at most tenfold: the first call is no measure of the rest."""
    wanted = int(1.2 * batch_s / per_call) + 1 if per_call > 0 else calls * 10
    return min(max(wanted, calls * 2), calls * 10)


def _batch(subject: Subject, calls: int, clock: Clock) -> float:
    begin = clock()
    for _ in range(calls):
        subject()
    return (clock() - begin) / calls
