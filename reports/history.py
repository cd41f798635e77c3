"""The history chart: the speed-up of every program over the nights of a suite, and their geometric mean.

Estimates only: the interval of a night is in its own report, and a line that wanders shows how far nights differ by
themselves.  A program is followed as long as its text and recipe are those of the latest night, and the mean is over
the programs that were timed in every night shown, or its steps would be those of the selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from reports import figure
from reports.changes import Changes
from xlabench.results import FINE
from xlabench.timing import stats

NIGHTS = 60
"""How many nights a chart goes back."""
FEWEST_NIGHTS = 3
_COLOURS = {"slower": "#c0392b", "faster": "#1a7f4b"}
_OTHER, _MEAN = "#c3cbd4", "#2b59c3"
_MOST_DATES = 8
_BESIDE: dict[int, dict[str, Any]] = {
    side: {"xytext": (7 * side, 0), "textcoords": "offset points", "ha": align, "va": "center", "fontsize": 9}
    for side, align in ((1, "left"), (-1, "right"))
}
"""Where a line's name stands: behind its end (1) or before its beginning (-1)."""
_TIMES = "\N{MULTIPLICATION SIGN}"

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Night:
    """One run as a point of each line: speed-ups by name and digest of the program."""

    started: str
    speedups: Mapping[Key, float]
    failures: int

    @classmethod
    def of(cls, exported: Mapping[str, Any], timed: Sequence[str]) -> Night:
        """The point of an exported run; `timed` are the engines whose ratio is shown."""
        found = {(case["name"], case["digest"]): _estimate(case["timings"], timed) for case in exported["cases"]}
        verdicts = [verdict["verdict"] for case in exported["cases"] for verdict in case["verdicts"]]
        return cls(
            exported["run"]["started_at"][:10],
            {program: ratio for program, ratio in found.items() if ratio is not None},
            sum(1 for verdict in verdicts if verdict not in FINE),
        )


def charts(exports: Sequence[Mapping[str, Any]], changed: Changes) -> dict[str, bytes]:
    """The chart of runs, the oldest first, as an SVG and a PNG file by extension; nothing for few nights."""
    timed = exports[-1]["run"]["options"]["timed"][:2]
    nights = [Night.of(exported, timed) for exported in exports[-NIGHTS:]]
    if len(nights) < FEWEST_NIGHTS or not nights[-1].speedups:
        return {}
    return figure.files(lambda: _draw(nights, changed))


def _estimate(timings: Sequence[Mapping[str, Any]], timed: Sequence[str]) -> float | None:
    """The ratio of the times that `stats.typical` gives."""
    sides = [[timing["samples"] for timing in timings if timing["engine"] == engine] for engine in timed]
    return stats.typical(sides[0]) / stats.typical(sides[1]) if all(sides) else None


def _draw(nights: Sequence[Night], changed: Changes) -> Figure:
    drawn = Figure(figsize=(10, 4.6), layout="constrained")
    axes = drawn.add_subplot()
    found = changed.later
    axes.set_title(f"Speed-up of {found.speedup_of}, the last {len(nights)} nights", loc="left")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}{_TIMES}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y")
    dated = range(0, len(nights), -(-len(nights) // _MOST_DATES))
    axes.set_xticks(dated, [nights[number].started for number in dated])
    own = {time.program: time.kind for time in changed.times if time.engine == found.candidate}
    _lines(axes, nights, own)
    _failures(axes, nights)
    axes.margins(x=0.16)
    return drawn


def _lines(axes: Axes, nights: Sequence[Night], kinds: Mapping[str, str]) -> None:
    """A line for each program, with a name where the candidate changed in the latest night, and one for the mean."""
    programs = list(nights[-1].speedups)
    for program in programs:
        colour = _COLOURS.get(kinds.get(program[0], ""), _OTHER)
        axes.plot(*_points(nights, program), color=colour, linewidth=1.1, marker=".", markersize=4, zorder=1)
        if colour != _OTHER:
            axes.annotate(program[0], (len(nights) - 1, nights[-1].speedups[program]), color=colour, **_BESIDE[1])
    always = [program for program in programs if all(program in night.speedups for night in nights)]
    if always:
        means = [stats.geometric_mean([night.speedups[program] for program in always]) for night in nights]
        axes.plot(range(len(nights)), means, color=_MEAN, linewidth=2.4, zorder=2)
        axes.annotate(f"geometric mean of {len(always)}", (0, means[0]), color=_MEAN, **_BESIDE[-1])


def _points(nights: Sequence[Night], program: Key) -> tuple[list[int], list[float]]:
    at = [number for number, night in enumerate(nights) if program in night.speedups]
    return at, [nights[number].speedups[program] for number in at]


def _failures(axes: Axes, nights: Sequence[Night]) -> None:
    """How many verdicts were not right, above the nights in which there were any."""
    for number, night in enumerate(nights):
        if night.failures:
            axes.annotate(
                f"{night.failures} failed",
                (number, 1),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="bottom",
                color=_COLOURS["slower"],
                fontsize=9,
            )
