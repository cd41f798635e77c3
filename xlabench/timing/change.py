"""What changed from one night to the next: the one place where "slower" and "faster" are decided.

A claim is about an engine's *own time*.  The ratio of two engines cannot carry one: it stands still where both got
slower, and rises where the other did.  But a night's seconds measure the machine as well, so each process also times
*canaries* (`canary`), fixed work of NumPy's, interleaved with the engines.  What is judged is the engine's time over
that of the canary, process by process: the process is what is replicated.

A program is some mixture of what the canaries do, and nobody knows which.  So an engine has changed only where it has
against *every* canary: the interval shown is the hull of the intervals against each.  Where a canary itself has changed
by more than `MOST_DRIFT`, where it is missing, or where the runs are of different machines, nothing is decided and the
reason is said.

Each interval is Student's, of the difference of mean logarithms.  Three processes say little of how far processes
differ, so their variance is drawn towards that of the typical program of the two nights, by as much as
`_PRIOR_FREEDOM` more processes would (a moderated t: Smyth 2004), and that is taken for `_LEAST_SPREAD` at least.  A
night makes some hundred such decisions, and one false alarm in any of them is one too many: the intervals hold together
(Bonferroni) with probability 1 - `FALSE_ALARMS`, so that of a hundred nights in which nothing changed one at most says
otherwise; and only what lies wholly beyond `RELEVANCE` is claimed.  "Same" alarms nobody and needs the engine's own
95 % interval only.

All functions are pure, as those of `stats`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean, median
from typing import Any, NamedTuple, TypeVar

from scipy import special

from xlabench.timing import stats
from xlabench.timing.stats import Ratio

RELEVANCE = 0.05
"""A change of speed below it is called none: where memory happens to lie alone makes some per cent."""
FALSE_ALARMS = 0.01
"""How probable it is at most that a comparison of two runs between which nothing changed claims any change."""
MOST_DRIFT = 1.5
"""A machine that runs a canary so many times slower or faster is another: nothing is decided."""
CLAIMS = ("slower", "faster")
"""The kinds of a decided change."""
_LEAST_SPREAD = 0.01  # between processes; measured: 1 % to 6 %
_UNKNOWN_SPREAD = 0.05  # taken for it where each run has one process of each program, which says nothing of it
_PRIOR_FREEDOM = 4

_Key = TypeVar("_Key")

ByProcess = Mapping[int, float]
"""Seconds of one call, the lower quartile of each process, by its number."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run measured of one program: times by engine, and by canary."""

    engines: Mapping[str, ByProcess]
    canaries: Mapping[str, ByProcess]

    @classmethod
    def of(cls, case: Mapping[str, Any]) -> Measured:
        """Of an exported case; records from before there were canaries have none."""
        return cls(_quartiles(case["timings"], "engine"), _quartiles(case.get("canaries", ()), "canary"))


@dataclass(frozen=True, slots=True)
class TimeChange:
    """An engine's own time on a program in two runs, in seconds of a call.

    Attributes:
        program: its name.
        engine: its spec.
        before: seconds in the earlier run.
        after: seconds in the later run.
        kind: `slower`, `faster`, `same` or `unclear`.
        speed: how many times faster it is, beside the machine, with its interval; None where that cannot be told.
        reason: why it cannot be told; "" where it can.
    """

    program: str
    engine: str
    before: float
    after: float
    kind: str
    speed: Ratio | None = None
    reason: str = ""

    @property
    def factor(self) -> Ratio:
        """How many times slower or faster it is, above 1 in the direction of its kind.

        Raises:
            ValueError: no change of speed is known.
        """
        if self.speed is None:
            raise ValueError(f"no change of speed is known: {self.reason}")
        speed = self.speed
        return Ratio(1 / speed.estimate, 1 / speed.high, 1 / speed.low) if self.kind == "slower" else speed


@dataclass(frozen=True, slots=True)
class SpeedupChange:
    """A speed-up in two runs; no claim about an engine, but whose time moved it.

    Attributes:
        program: its name.
        kind: `candidate changed`, `baseline changed`, `both changed`, `changed` where it is not decided whose time did,
            `same` or `unclear`.
        before: in the earlier run.
        after: in the later run.
        change: how many times the earlier one the later one is.
    """

    program: str
    kind: str
    before: float
    after: float
    change: Ratio


@dataclass(slots=True)
class _Contrast:
    """Logarithms of a speed in the processes of the two runs."""

    before: Sequence[float]
    after: Sequence[float]
    freedom: int = field(init=False)
    variance: float = field(init=False)

    def __post_init__(self) -> None:
        self.freedom = len(self.before) + len(self.after) - 2
        squares = math.fsum((x - fmean(side)) ** 2 for side in (self.before, self.after) for x in side)
        self.variance = squares / self.freedom if self.freedom else 0.0

    def interval(self, typical: float, error: float) -> Ratio:
        """The change with its interval, wrong with probability `error`; `typical` is the variance to be drawn to."""
        freedom = self.freedom + _PRIOR_FREEDOM
        variance = (self.freedom * self.variance + _PRIOR_FREEDOM * typical) / freedom
        reach = _student(freedom, error) * math.sqrt(variance * (1 / len(self.before) + 1 / len(self.after)))
        middle = fmean(self.after) - fmean(self.before)
        return Ratio(*(math.exp(middle + step) for step in (0.0, -reach, reach)))


@cache
def _student(freedom: int, error: float) -> float:
    """The quantile of a two-sided interval."""
    return float(special.stdtrit(freedom, 1 - error / 2))


def times(
    before: Mapping[str, Measured], after: Mapping[str, Measured], *, obstacle: str = ""
) -> tuple[TimeChange, ...]:
    """How the own time of every engine changed on every program that both runs timed it on.

    Args:
        before: the earlier run, by program.
        after: the later run.
        obstacle: why nothing can be decided between these two runs, such as two machines; "" where it can.
    """
    found: dict[tuple[str, str], tuple[float, float]] = {}
    reasons: dict[tuple[str, str], str] = {}
    contrasts: dict[tuple[str, str], dict[str, _Contrast]] = {}
    for program, old, new in _pairs(before, after):
        reason = obstacle or _drift(old, new)
        for engine in new.engines:
            if engine in old.engines:
                key = program, engine
                found[key] = _typical(old.engines[engine]), _typical(new.engines[engine])
                against = {} if reason else _against_canaries(engine, old, new)
                if against:
                    contrasts[key] = against
                else:
                    reasons[key] = reason or "an engine and its canaries were timed in no process together"
    decided = _decide(contrasts)
    return tuple(
        TimeChange(*key, *seconds, *decided[key])
        if key in decided
        else TimeChange(*key, *seconds, "unclear", reason=reasons[key])
        for key, seconds in found.items()
    )


def speedups(
    before: Mapping[str, Measured],
    after: Mapping[str, Measured],
    timed: tuple[str, str],
    changed: Iterable[TimeChange],
) -> tuple[SpeedupChange, ...]:
    """How the speed-up of a candidate over a baseline changed, on every program, and whose own time moved it.

    Args:
        before: the earlier run, by program.
        after: the later run.
        timed: the baseline and the candidate.
        changed: what `times` says of the same two runs.
    """
    kinds = {(one.program, one.engine): one.kind for one in changed}
    contrasts: dict[str, dict[str, _Contrast]] = {}
    for program, old, new in _pairs(before, after):
        sides = [_logs(*(run.engines.get(engine, {}) for engine in timed)) for run in (old, new)]
        if all(sides):
            contrasts[program] = {"": _Contrast(*sides)}
    found = []
    for program, (kind, ratio) in _decide(contrasts).items():
        only = contrasts[program][""]
        moved = [engine for engine in timed if kinds.get((program, engine)) in CLAIMS]
        steps = [math.exp(fmean(side)) for side in (only.before, only.after)]
        found.append(SpeedupChange(program, _mover(moved, timed, kind), steps[0], steps[1], ratio))
    return tuple(found)


def machine(before: Mapping[str, Measured], after: Mapping[str, Measured]) -> dict[str, float]:
    """How many times faster the machine ran each canary in the later run: the geometric mean over the programs."""
    found: dict[str, list[float]] = {}
    for _, old, new in _pairs(before, after):
        for name, factor in _drifts(old, new).items():
            found.setdefault(name, []).append(factor)
    return {name: stats.geometric_mean(factors) for name, factors in found.items()}


def looks_slower(before: Measured, after: Measured) -> bool:
    """Whether an engine looks slower by one program alone, which is reason enough to time that once more."""
    return any(one.kind == "slower" for one in times({"": before}, {"": after}))


def _mover(moved: Sequence[str], timed: tuple[str, str], kind: str) -> str:
    """What is said of a speed-up of which these sides changed, while the ratio by itself is of a kind."""
    if len(moved) == len(timed):
        return "both changed"
    if moved:
        return f"{'baseline' if moved[0] == timed[0] else 'candidate'} changed"
    return "changed" if kind in CLAIMS else kind


def _decide(tests: Mapping[_Key, Mapping[str, _Contrast]]) -> dict[_Key, tuple[str, Ratio]]:
    """The kind and the interval of each test, which has changed where each of its contrasts has."""
    typical = {}
    for name in {name for contrasts in tests.values() for name in contrasts}:
        variances = [one.variance for test in tests.values() if (one := test.get(name)) is not None and one.freedom]
        typical[name] = max(_LEAST_SPREAD**2, median(variances) if variances else _UNKNOWN_SPREAD**2)
    decided = {}
    for key, contrasts in tests.items():
        shown, own = (
            _hull([one.interval(typical[name], error) for name, one in contrasts.items()])
            for error in (FALSE_ALARMS / len(tests), 1 - stats.CONFIDENCE)
        )
        kind = shown.claim(RELEVANCE)
        if kind not in CLAIMS:
            kind = "same" if own.claim(RELEVANCE) == "same" else "unclear"
        decided[key] = kind, shown
    return decided


def _hull(ratios: Sequence[Ratio]) -> Ratio:
    middle = stats.geometric_mean([ratio.estimate for ratio in ratios])
    return Ratio(middle, min(ratio.low for ratio in ratios), max(ratio.high for ratio in ratios))


class _Pair(NamedTuple):
    """A program in two nights."""

    program: str
    old: Measured
    new: Measured


def _pairs(before: Mapping[str, Measured], after: Mapping[str, Measured]) -> Iterator[_Pair]:
    return (_Pair(program, before[program], new) for program, new in after.items() if program in before)


def _against_canaries(engine: str, old: Measured, new: Measured) -> dict[str, _Contrast]:
    """The engine's speed beside each canary that both runs know."""
    found = {}
    for name in (name for name in new.canaries if name in old.canaries):
        sides = [_logs(run.canaries[name], run.engines[engine]) for run in (old, new)]
        if all(sides):
            found[name] = _Contrast(*sides)
    return found


def _drift(old: Measured, new: Measured) -> str:
    """Why the machine was too different to decide anything, or ""."""
    found = _drifts(old, new)
    if not found:
        return "no canary was timed in both runs, so the machine may have changed"
    name, factor = max(found.items(), key=lambda pair: abs(math.log(pair[1])))
    if 1 / MOST_DRIFT <= factor <= MOST_DRIFT:
        return ""
    way = "slower" if factor < 1 else "faster"
    return f"the machine itself was more than {MOST_DRIFT:g}x {way} on the canary {name!r}"


def _drifts(old: Measured, new: Measured) -> dict[str, float]:
    """How many times faster each canary was, in their order."""
    return {
        name: _typical(old.canaries[name]) / _typical(seconds)
        for name, seconds in new.canaries.items()
        if name in old.canaries
    }


def _logs(numerator: ByProcess, denominator: ByProcess) -> list[float]:
    """Logarithms of the ratio in each process that knows both."""
    return [
        math.log(seconds / denominator[process]) for process, seconds in numerator.items() if process in denominator
    ]


def _typical(seconds: ByProcess) -> float:
    return stats.geometric_mean(list(seconds.values()))


def _quartiles(rows: Iterable[Mapping[str, Any]], owner: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        seconds = stats.lower_quartile(row["samples"])
        if seconds > 0:  # a clock that stood still has measured nothing
            found.setdefault(row[owner], {})[row["process"]] = seconds
    return found
