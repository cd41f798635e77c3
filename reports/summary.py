"""What a run came to: the numbers that the page, the chart and `results.json` show, computed once.

The input is `Records.export`.  A speed-up is that of the candidate over the baseline, the first two engines that a run
timed: how many times longer the baseline takes.  Programs without one (a failure, or nothing timed) are listed but
count in no mean, and how many they are is said.  Every time is `stats.typical`, so that a speed-up is the quotient of
two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xlabench.results import FINE, RIGHT, UNJUDGED, VERDICTS
from xlabench.survival import US
from xlabench.timing import stats
from xlabench.timing.change import Measured
from xlabench.timing.stats import Ratio


@dataclass(frozen=True, slots=True)
class Timed:
    """What the samples of one engine on one program come to.

    Attributes:
        engine: its spec.
        seconds: of one call, by `stats.typical`.
        spread: how far the processes lie from each other, the slowest over the fastest, less 1.
        samples: how many there are in all processes.
        processes: how many there are.
    """

    engine: str
    seconds: float
    spread: float
    samples: int
    processes: int


@dataclass(frozen=True, slots=True)
class Program:
    """One program of the suite with everything known about it."""

    name: str
    digest: str
    verdicts: Mapping[str, Mapping[str, Any]]
    bundles: Mapping[str, Mapping[str, Any]]
    timed: Mapping[str, Timed]
    doubts: tuple[str, ...]
    speedup: Ratio | None
    measured: Measured
    kernels: tuple[Mapping[str, Any], ...]
    decisions: Mapping[str, str]
    opened: Mapping[str, str]

    @property
    def failures(self) -> list[Mapping[str, Any]]:
        """The verdicts that are not right, of those that are on results."""
        return [verdict for verdict in self.verdicts.values() if verdict["verdict"] not in FINE]


@dataclass(frozen=True, slots=True)
class Summary:
    """A run as shown to people."""

    run: Mapping[str, Any]
    engines: tuple[str, ...]
    baseline: str
    candidate: str
    others: tuple[str, ...]  # timed as well, without a speed-up
    programs: tuple[Program, ...]
    counts: Mapping[str, int]  # by verdict class, best first, without the classes that do not occur
    geometric_mean: Ratio | None

    @property
    def right(self) -> int:
        """How many verdicts are right."""
        return sum(count for verdict, count in self.counts.items() if verdict in RIGHT)

    @property
    def total(self) -> int:
        """How many verdicts on results there are."""
        return sum(count for verdict, count in self.counts.items() if verdict not in UNJUDGED)

    @property
    def timed(self) -> tuple[str, ...]:
        """The engines that were timed, the baseline first."""
        return (self.baseline, self.candidate, *self.others)

    @property
    def speedup_of(self) -> str:
        """What a speed-up is that of."""
        return f"{self.candidate} over {self.baseline}"


def summarise(exported: Mapping[str, Any]) -> Summary:
    """Compute the summary of one exported run."""
    run = exported["run"]
    baseline, candidate, *others = run["options"]["timed"]
    programs = tuple(_program(case, baseline, candidate, run["seed"]) for case in exported["cases"])
    found = Counter(verdict["verdict"] for program in programs for verdict in program.verdicts.values())
    ratios = [program.speedup for program in programs if program.speedup]
    return Summary(
        run=run,
        engines=_engines(run, programs),
        baseline=baseline,
        candidate=candidate,
        others=tuple(others),
        programs=programs,
        counts={verdict: found[verdict] for verdict in VERDICTS if found[verdict]},
        geometric_mean=stats.geometric_mean_ratio(ratios, seed=run["seed"]) if ratios else None,
    )


def _engines(run: Mapping[str, Any], programs: Sequence[Program]) -> tuple[str, ...]:
    """The engines of the run, before them the reference, and xlabench itself, if they failed on anything."""
    judges = (US, run["reference"])
    return (*(judge for judge in judges if any(judge in program.verdicts for program in programs)), *run["engines"])


def to_json(summary: Summary) -> dict[str, Any]:
    """The derived numbers, to stand beside the records in `results.json`."""
    return {
        "verdicts": dict(summary.counts),
        "baseline": summary.baseline,
        "candidate": summary.candidate,
        "timed": list(summary.timed),
        "geometric_mean_speedup": ratio_json(summary.geometric_mean),
        "speedups": {program.name: ratio_json(program.speedup) for program in summary.programs},
        "seconds": {
            program.name: {engine: timed.seconds for engine, timed in program.timed.items()}
            for program in summary.programs
        },
        "open_sizes": {program.name: dict(program.opened) for program in summary.programs if program.opened},
    }


def ratio_json(ratio: Ratio | None, relevance: float = stats.RELEVANCE) -> dict[str, Any] | None:
    """A ratio with its interval and what may be claimed of it, where a difference below `relevance` is none."""
    if ratio is None:
        return None
    return {
        "estimate": ratio.estimate,
        "low": ratio.low,
        "high": ratio.high,
        "confidence": stats.CONFIDENCE,
        "verdict": ratio.claim(relevance),
    }


def _program(case: Mapping[str, Any], baseline: str, candidate: str, seed: int) -> Program:
    by_engine: dict[str, list[Mapping[str, Any]]] = {}
    for timing in case["timings"]:
        by_engine.setdefault(timing["engine"], []).append(timing)
    return Program(
        name=case["name"],
        digest=case["digest"],
        verdicts=_worst(case["verdicts"]),
        bundles={bundle["engine"]: bundle for bundle in case["bundles"]},
        timed={engine: _timed(engine, timings) for engine, timings in by_engine.items()},
        doubts=_doubts(case["timings"]),
        measured=Measured.of(case),
        speedup=_speedup(by_engine.get(baseline, []), by_engine.get(candidate, []), seed),
        kernels=tuple(case.get("kernels", ())),
        decisions={decided["engine"]: decided["digest"] for decided in case.get("decisions", ())},
        opened={opened["program"]: opened["sizes"] for opened in case.get("opened", ())},
    )


def _worst(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The worst verdict on each engine: one that was right may still have crashed while it was timed."""
    ordered = sorted(verdicts, key=lambda verdict: VERDICTS.index(verdict["verdict"]))
    return {verdict["engine"]: verdict for verdict in ordered}


def _timed(engine: str, timings: Sequence[Mapping[str, Any]]) -> Timed:
    processes = [timing["samples"] for timing in timings]
    quartiles = [stats.lower_quartile(samples) for samples in processes]
    spread = max(quartiles) / min(quartiles) - 1
    return Timed(engine, stats.typical(processes), spread, sum(map(len, processes)), len(processes))


def _speedup(baseline: Sequence[Mapping[str, Any]], candidate: Sequence[Mapping[str, Any]], seed: int) -> Ratio | None:
    sides = [{timing["process"]: timing["samples"] for timing in timings} for timings in (baseline, candidate)]
    return stats.paired_speedup(*sides, seed=seed)


def _doubts(timings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each kind of doubt once: about which engines, and in how many of the processes."""
    processes = {timing["process"] for timing in timings}
    engines = {timing["engine"] for timing in timings}
    about: dict[str, set[str]] = {}
    seen: dict[str, set[int]] = {}
    for timing in timings:
        for kind, _ in timing["doubts"]:
            about.setdefault(kind, set()).add(timing["engine"])
            seen.setdefault(kind, set()).add(timing["process"])
    said = ["only one process"] if len(processes) == 1 else []
    for kind in sorted(about):
        of = "" if about[kind] == engines else f" on {', '.join(sorted(about[kind]))}"
        said.append(f"{kind}{of}, {len(seen[kind])} of {len(processes)} processes")
    return tuple(said)
