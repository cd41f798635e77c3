"""What is different since an earlier run of the same suite: verdicts, every engine's own time, and speed-ups.

What is slower or faster is said of an engine's own time only, as `xlabench.timing.change` judges it beside the machine;
of a speed-up, which is the ratio of two engines, only whose time moved it.  A program whose text or recipe changed is
another program, and is not compared; nor is a speed-up with that of other engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reports.summary import Program, Summary, ratio_json
from xlabench.results import FINE
from xlabench.survival import US
from xlabench.timing import change, stats
from xlabench.timing.change import CLAIMS, RELEVANCE, SpeedupChange, TimeChange
from xlabench.timing.stats import Ratio

MOVED = ("baseline changed", "changed")
"""The kinds of a change of speed-up of which the candidate's own time does not tell."""
_TELLING = 5
_HARDWARE = ("machine", "cpu", "usable_cores")
_MACHINE = (*_HARDWARE, "python")
_FINE = "no error"
_UNHEARD: Mapping[str, Any] = {"verdict": _FINE}
"""Of xlabench itself there is a verdict only where it failed."""


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
        if self.before in (*FINE, _FINE):
            return "failing"
        return "mended" if self.after in (*FINE, _FINE) else "different"


@dataclass(frozen=True, slots=True)
class CompiledDifferently:
    """Something else was decided about a program than before: it is other code, slower, faster or as fast."""

    program: str
    engine: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that is different; programs are named in the order of the later run."""

    earlier: Summary
    later: Summary
    verdicts: tuple[VerdictChange, ...]
    times: tuple[TimeChange, ...]
    speedups: tuple[SpeedupChange, ...]
    compiled: tuple[CompiledDifferently, ...]
    only_earlier: tuple[str, ...]
    only_later: tuple[str, ...]
    rewritten: tuple[str, ...]
    machine: tuple[tuple[str, str, str], ...]
    canaries: Mapping[str, float]
    """How many times faster the machine ran each canary in the later run."""

    @property
    def means(self) -> dict[str, Ratio]:
        """The mean change of speed of each engine of which one is known."""
        found: dict[str, list[Ratio]] = {}
        for one in self.times:
            if one.speed:
                found.setdefault(one.engine, []).append(one.speed)
        seed = self.later.run["seed"]
        return {engine: stats.geometric_mean_ratio(speeds, seed=seed) for engine, speeds in found.items()}

    @property
    def slower(self) -> tuple[TimeChange, ...]:
        """The decided slowdowns, in the order of the programs."""
        return tuple(one for one in self.times if one.kind == "slower")

    def count(self, kind: str) -> int:
        """How many verdicts and times changed in a way."""
        kinds = [verdict.kind for verdict in self.verdicts] + [time.kind for time in self.times]
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
            said.append(f"{slower} times are slower and none faster: see whether the machine, or what measures, is")
        reasons = [one.reason for one in self.times if one.reason]
        said += [f"not decided, for {reasons.count(reason)} times: {reason}" for reason in dict.fromkeys(reasons)]
        if self.earlier.speedup_of != self.later.speedup_of:
            said.append(f"the speed-up was that of {self.earlier.speedup_of}, is that of {self.later.speedup_of}")
        if not self.times and any(program.timed for program in self.later.programs):
            said.append("the runs timed other engines, or other programs: no time is compared")
        return tuple(said)


def compare(earlier: Summary, later: Summary) -> Changes:
    """What is different in the later run."""
    before = {program.name: program for program in earlier.programs}
    after = {program.name: program for program in later.programs}
    both = [name for name in after if name in before]
    same = [(before[name], after[name]) for name in both if before[name].digest == after[name].digest]
    sides = {old.name: old.measured for old, _ in same}, {new.name: new.measured for _, new in same}
    facts = tuple(_machine(earlier.run["environment"], later.run["environment"]))
    times = change.times(*sides, obstacle=_obstacle(facts))
    timed_alike = earlier.speedup_of == later.speedup_of
    return Changes(
        earlier,
        later,
        tuple(found for old, new in same for found in _verdicts(old, new)),
        times,
        change.speedups(*sides, (later.baseline, later.candidate), times) if timed_alike else (),
        tuple(found for old, new in same for found in _compiled(old, new)),
        tuple(name for name in before if name not in after),
        tuple(name for name in after if name not in before),
        tuple(name for name in both if before[name].digest != after[name].digest),
        facts,
        change.machine(*sides),
    )


def _verdicts(old: Program, new: Program) -> Iterator[VerdictChange]:
    """Right is right: bits that became a distance within the bound are no change."""
    for engine, after in new.verdicts.items():
        before = old.verdicts.get(engine, _UNHEARD if engine == US else after)
        kinds = before["verdict"], after["verdict"]
        if kinds[0] != kinds[1] and not FINE.issuperset(kinds):
            yield VerdictChange(new.name, engine, *kinds, after["message"])
    if US in old.verdicts and US not in new.verdicts:
        yield VerdictChange(new.name, US, old.verdicts[US]["verdict"], _FINE, "")


def _compiled(old: Program, new: Program) -> Iterator[CompiledDifferently]:
    """The engines whose compiler decided otherwise; of runs that did not note it nothing is known."""
    for engine, digest in new.decisions.items():
        if old.decisions.get(engine, digest) != digest:
            yield CompiledDifferently(new.name, engine)


def _machine(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Facts of the environment that are not as they were; what is not known of a run is ""."""
    facts = [{**{name: e.get(name) for name in _MACHINE}, **e.get("versions", {})} for e in (earlier, later)]
    for name in sorted(facts[0].keys() | facts[1].keys()):
        before, after = (str(of_run.get(name) or "") for of_run in facts)
        if before != after:
            yield name, before, after


def _obstacle(facts: Sequence[tuple[str, str, str]]) -> str:
    """Why the seconds of two runs say nothing of each other, or ""."""
    differing = {name: f"{name} was {before or 'unknown'}, is {after or 'unknown'}" for name, before, after in facts}
    other = [differing[name] for name in _HARDWARE if name in differing]
    if other:
        return f"another machine ({'; '.join(other)})"
    return f"the canaries are NumPy's, and {differing['numpy']}" if "numpy" in differing else ""


def to_text(changes: Changes) -> Iterator[str]:
    """The changes in lines, what is worse first."""
    for verdict in sorted(changes.verdicts, key=lambda found: found.kind != "failing"):
        said = f": {verdict.message.partition(chr(10))[0]}" if verdict.message else ""
        step = f"{verdict.before} before, {verdict.after} now"
        yield f"{verdict.kind}: {verdict.program} on {verdict.engine}, {step}{said}"
    for kind in CLAIMS:
        for time in changes.times:
            if time.kind == kind:
                steps = f"{in_seconds(time.before)} before, {in_seconds(time.after)} now"
                yield f"{kind}: {time.program} on {time.engine}, {steps}, {in_words(time.factor)} {kind}"
    for speedup in changes.speedups:
        if speedup.kind in MOVED:
            steps = f"{speedup.before:.2f}x before, {speedup.after:.2f}x now"
            whose = "; whose time did is not decided" if speedup.kind == "changed" else ""
            yield f"{speedup.kind}: {speedup.program}, speed-up of {changes.later.speedup_of} {steps}{whose}"
    for engine in dict.fromkeys(found.engine for found in changes.compiled):
        others = [found.program for found in changes.compiled if found.engine == engine]
        yield f"compiled differently: {len(others)} on {engine}: {', '.join(others)}"
    for name, programs in (
        ("only in the earlier run", changes.only_earlier),
        ("only in the later run", changes.only_later),
        ("another text or recipe, not compared", changes.rewritten),
    ):
        if programs:
            yield f"{name}: {', '.join(programs)}"
    yield from _overview(changes)
    yield from (f"note: {doubt}" for doubt in changes.doubts)


def _overview(changes: Changes) -> Iterator[str]:
    """How each engine's times changed in all, and how the machine's did."""
    for engine, mean in changes.means.items():
        kinds = [time.kind for time in changes.times if time.engine == engine]
        counts = ", ".join(f"{kinds.count(kind)} {said}" for kind, said in _COUNTED.items())
        yield f"{engine}: {counts}; {in_words(mean)} as fast as before in the geometric mean, beside the machine"
    if changes.canaries:
        said = ", ".join(f"{name} {factor:.2f}x" for name, factor in changes.canaries.items())
        yield f"machine: as fast as before on the canaries: {said}"


_COUNTED = {"slower": "slower", "faster": "faster", "same": "the same", "unclear": "unclear"}


def in_words(ratio: Ratio) -> str:
    """A ratio with its interval."""
    return f"{ratio.estimate:.2f}x ({ratio.low:.2f} to {ratio.high:.2f})"


def in_seconds(seconds: float) -> str:
    """A time with three digits and its unit."""
    scale, unit = next((pair for pair in _UNITS if seconds >= pair[0]), _UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"


_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def to_json(changes: Changes) -> dict[str, Any]:
    """The changes as JSON data; seconds are of one call, and a speed above 1 is faster."""
    return {
        "earlier": {name: changes.earlier.run[name] for name in ("id", "suite", "started_at")},
        "later": {name: changes.later.run[name] for name in ("id", "suite", "started_at")},
        "is_regression": changes.is_regression,
        "verdicts": [
            {name: getattr(change, name) for name in ("program", "engine", "kind", "before", "after", "message")}
            for change in changes.verdicts
        ],
        "times": [
            {
                **{name: getattr(time, name) for name in ("program", "engine", "kind", "reason")},
                "before_s": time.before,
                "after_s": time.after,
                "speed": _speed_json(time),
            }
            for time in changes.times
        ],
        "speedups": [
            {
                **{name: getattr(speedup, name) for name in ("program", "kind", "before", "after")},
                "change": asdict(speedup.change),
            }
            for speedup in changes.speedups
        ],
        "compiled_differently": [asdict(found) for found in changes.compiled],
        "mean_speeds": {engine: ratio_json(mean, RELEVANCE) for engine, mean in changes.means.items()},
        "canary_speeds": dict(changes.canaries),
        "only_earlier": list(changes.only_earlier),
        "only_later": list(changes.only_later),
        "rewritten": list(changes.rewritten),
        "doubts": list(changes.doubts),
    }


def _speed_json(time: TimeChange) -> dict[str, float] | None:
    return asdict(time.speed) if time.speed else None
