"""What is different since an earlier run of the same suite: verdicts, and speed-ups, as a ratio of ratios.

The two sides of a speed-up are timed together, so that what the machine went through in a night is in neither number:
a speed-up that changed says something of the engines.  A program whose text or recipe changed is another program, and
a run that timed other engines has other speed-ups; neither is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports.summary import Program, Summary, ratio_json
from xlabench.results import FINE
from xlabench.timing import stats
from xlabench.timing.stats import Ratio

RELEVANCE = 0.05
"""A change of speed below it is called none: where memory happens to lie alone makes some per cent."""
_TELLING = 5
_MACHINE = ("machine", "cpu", "usable_cores", "python")


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """Another verdict of an engine than before."""

    program: str
    engine: str
    before: str
    after: str
    message: str

    @property
    def kind(self) -> str:
        """`failing` where it was as it should be, `mended` where it is so now, `different` otherwise."""
        if self.before in FINE:
            return "failing"
        return "mended" if self.after in FINE else "different"


@dataclass(frozen=True, slots=True)
class SpeedChange:
    """The speed-ups of a program in both runs; `change` is above 1 where the later one is larger."""

    program: str
    before: Ratio
    after: Ratio
    change: Ratio

    @property
    def kind(self) -> str:
        """`faster`, `slower`, `same` or `unclear`."""
        return self.change.claim(RELEVANCE)


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that is different; programs are named in the order of the later run."""

    earlier: Summary
    later: Summary
    verdicts: tuple[VerdictChange, ...]
    speeds: tuple[SpeedChange, ...]
    only_earlier: tuple[str, ...]
    only_later: tuple[str, ...]
    rewritten: tuple[str, ...]
    machine: tuple[tuple[str, str, str], ...]

    @property
    def geometric_mean(self) -> Ratio | None:
        """The mean change of speed."""
        found = [speed.change for speed in self.speeds]
        return stats.geometric_mean_ratio(found, seed=self.later.run["seed"]) if found else None

    def count(self, kind: str) -> int:
        """How many changes are of a kind."""
        kinds = [change.kind for change in self.verdicts] + [change.kind for change in self.speeds]
        return kinds.count(kind)

    @property
    def is_regression(self) -> bool:
        """Whether something was better in the earlier run."""
        return self.count("failing") + self.count("slower") > 0

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against blaming the engines, in sentences."""
        suites = self.earlier.run["suite"], self.later.run["suite"]
        said = [f"suite {suites[0]} is compared with suite {suites[1]}"] if suites[0] != suites[1] else []
        said += [f"{name} was {before or 'unknown'}, is {after or 'unknown'}" for name, before, after in self.machine]
        slower, faster = self.count("slower"), self.count("faster")
        if slower >= _TELLING and not faster:
            said.append(f"{slower} programs are slower and none faster: see whether the machine, or what measures, is")
        if not self.speeds and self.earlier.geometric_mean and self.later.geometric_mean:
            said.append("the runs timed other engines, or other programs: no speed is compared")
        return tuple(said)


def compare(earlier: Summary, later: Summary) -> Changes:
    """What is different in the later run."""
    before = {program.name: program for program in earlier.programs}
    after = {program.name: program for program in later.programs}
    both = [name for name in after if name in before]
    same = [(before[name], after[name]) for name in both if before[name].digest == after[name].digest]
    timed_alike = (earlier.baseline, earlier.candidate) == (later.baseline, later.candidate)
    return Changes(
        earlier,
        later,
        tuple(change for old, new in same for change in _verdicts(old, new)),
        tuple(change for old, new in same if timed_alike for change in _speed(old, new)),
        tuple(name for name in before if name not in after),
        tuple(name for name in after if name not in before),
        tuple(name for name in both if before[name].digest != after[name].digest),
        tuple(_machine(earlier.run["environment"], later.run["environment"])),
    )


def _verdicts(old: Program, new: Program) -> Iterator[VerdictChange]:
    """Right is right: bits that became a distance within the bound are no change."""
    for engine, after in new.verdicts.items():
        before = old.verdicts.get(engine, after)
        kinds = before["verdict"], after["verdict"]
        if kinds[0] != kinds[1] and not FINE.issuperset(kinds):
            yield VerdictChange(new.name, engine, *kinds, after["message"])


def _speed(old: Program, new: Program) -> Iterator[SpeedChange]:
    if old.speedup and new.speedup:
        yield SpeedChange(new.name, old.speedup, new.speedup, stats.change(old.speedup, new.speedup))


def _machine(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Facts of the environment that are not as they were; what is not known of a run is ""."""
    facts = [{**{name: e.get(name) for name in _MACHINE}, **e.get("versions", {})} for e in (earlier, later)]
    for name in sorted(facts[0].keys() | facts[1].keys()):
        before, after = (str(of_run.get(name) or "") for of_run in facts)
        if before != after:
            yield name, before, after


def to_text(changes: Changes) -> Iterator[str]:
    """The changes in lines, what is worse first."""
    for verdict in sorted(changes.verdicts, key=lambda change: change.kind != "failing"):
        said = f": {verdict.message.partition(chr(10))[0]}" if verdict.message else ""
        step = f"{verdict.before} before, {verdict.after} now"
        yield f"{verdict.kind}: {verdict.program} on {verdict.engine}, {step}{said}"
    for kind in ("slower", "faster"):
        for speed in changes.speeds:
            if speed.kind == kind:
                was, now = f"{speed.before.estimate:.2f}x before", f"{speed.after.estimate:.2f}x now"
                yield f"{kind}: {speed.program}, {was}, {now}, changed by {_in_words(speed.change)}"
    for name, programs in (
        ("only in the earlier run", changes.only_earlier),
        ("only in the later run", changes.only_later),
        ("another text or recipe, not compared", changes.rewritten),
    ):
        if programs:
            yield f"{name}: {', '.join(programs)}"
    mean = changes.geometric_mean
    if mean:
        rest = f"{changes.count('same')} the same, {changes.count('unclear')} unclear"
        yield f"speed-ups of {len(changes.speeds)} programs changed by {_in_words(mean)} in the geometric mean; {rest}"
    yield from (f"note: {doubt}" for doubt in changes.doubts)


def _in_words(ratio: Ratio) -> str:
    return f"{ratio.estimate:.3f}x ({ratio.low:.3f} to {ratio.high:.3f})"


def to_json(changes: Changes) -> dict[str, Any]:
    """The changes as JSON data."""
    return {
        "earlier": {name: changes.earlier.run[name] for name in ("id", "suite", "started_at")},
        "later": {name: changes.later.run[name] for name in ("id", "suite", "started_at")},
        "is_regression": changes.is_regression,
        "verdicts": [
            {name: getattr(change, name) for name in ("program", "engine", "kind", "before", "after", "message")}
            for change in changes.verdicts
        ],
        "speeds": [
            {
                "program": speed.program,
                "kind": speed.kind,
                "before": ratio_json(speed.before),
                "after": ratio_json(speed.after),
                "change": ratio_json(speed.change, RELEVANCE),
            }
            for speed in changes.speeds
        ],
        "geometric_mean_change": ratio_json(changes.geometric_mean, RELEVANCE),
        "only_earlier": list(changes.only_earlier),
        "only_later": list(changes.only_later),
        "rewritten": list(changes.rewritten),
        "doubts": list(changes.doubts),
    }
