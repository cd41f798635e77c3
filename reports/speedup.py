"""The speed-up chart: one horizontal bar per program, its confidence interval, and the geometric mean.

Ratios belong on a logarithmic axis: twice as fast and half as fast are then equally far from 1, where every bar begins.
The colour says whether the interval excludes "no difference"; the legend says so in words.  Programs without a
speed-up are named below the bars with the reason, since a chart that drops its failures flatters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports import figure
from reports.summary import Program, Summary

_COLOURS = {"faster": "#1a7f4b", "slower": "#c0392b", "same": "#7f8c9a", "unclear": "#d9a441"}
_WORDS = {
    "faster": "faster by more than 1%",
    "slower": "slower by more than 1%",
    "same": "no difference beyond 1%",
    "unclear": "cannot tell",
}
_TIMES = "\N{MULTIPLICATION SIGN}"
_BAR_INCHES = 0.34
_FRAME_INCHES = 2.1


def charts(summary: Summary) -> dict[str, bytes]:
    """The chart as the bytes of an SVG and of a PNG file, by extension."""
    return figure.files(lambda: _draw(summary))


def _draw(summary: Summary) -> Figure:
    timed = sorted((p for p in summary.programs if p.speedup), key=lambda p: (p.speedup.estimate, p.name))  # type: ignore[union-attr]
    rows = max(len(timed), 3)
    figure = Figure(figsize=(10, _FRAME_INCHES + _BAR_INCHES * rows), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(f"Speed-up of {summary.speedup_of}, suite {summary.run['suite']}", loc="left")
    if not timed:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no program of this run was timed", ha="center", va="center", transform=axes.transAxes)
    else:
        _scale(axes, timed)
        _bars(axes, timed)
        _mean(axes, summary)
    figure.supxlabel(_footnote(summary, timed), x=0.01, ha="left", fontsize=9, color="#52606d")
    return figure


def _scale(axes: Axes, timed: Sequence[Program]) -> None:
    """A base-2 axis that leaves room for the labels right of the longest whisker."""
    ratios = [p.speedup for p in timed if p.speedup]
    low = math.floor(math.log2(min(0.8, *(r.low for r in ratios))) - 0.1)
    high = math.log2(max(2.0, *(r.high for r in ratios)))
    axes.set_xscale("log", base=2)
    axes.set_xlim(
        2.0 ** max(low, math.log2(min(r.low for r in ratios)) - 0.5, -10), 2.0 ** (high + 0.16 * (high - low))
    )
    axes.xaxis.set_major_locator(FixedLocator([2.0**k for k in range(low, math.ceil(high) + 2)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}{_TIMES}"))
    axes.set_xlabel(f"speed-up: time per call of the baseline / time per call of the candidate ({_TIMES}, logarithmic)")
    axes.set_yticks(range(len(timed)), [p.name for p in timed])
    axes.set_ylim(-0.6, len(timed) - 0.4)


def _bars(axes: Axes, timed: Sequence[Program]) -> None:
    used = []
    for row, program in enumerate(timed):
        ratio = program.speedup
        assert ratio is not None
        used.append(ratio.verdict)
        axes.barh(row, ratio.estimate - 1, left=1, height=0.62, color=_COLOURS[ratio.verdict])
        axes.plot([ratio.low, ratio.high], [row, row], color="#1f2933", linewidth=1.4, solid_capstyle="butt")
        axes.plot([ratio.low, ratio.high], [row, row], color="#1f2933", linestyle="", marker="|", markersize=8)
        axes.annotate(
            f"{ratio.estimate:.2f}{_TIMES}",
            (max(ratio.high, 1.0), row),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    axes.axvline(1, color="#1f2933", linewidth=1.2)
    patches = [Patch(color=_COLOURS[kind], label=_WORDS[kind]) for kind in _COLOURS if kind in used]
    axes.legend(handles=patches, loc="lower right")


def _mean(axes: Axes, summary: Summary) -> None:
    mean = summary.geometric_mean
    assert mean is not None
    axes.axvline(mean.estimate, color="#2b59c3", linestyle=(0, (5, 3)), linewidth=1.5, zorder=0.5)
    axes.annotate(
        f"geometric mean {mean.estimate:.2f}{_TIMES}",
        (mean.estimate, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color="#2b59c3",
    )


def _footnote(summary: Summary, timed: Sequence[Program]) -> str:
    """Machine, sample counts, what the whiskers are, and who is missing."""
    environment = summary.run["environment"]
    sides = summary.baseline, summary.candidate
    counts = [program.timed[engine].samples for program in timed for engine in sides]
    sampled = f"at least {min(counts)} samples per side; " if counts else ""
    lines = [f"{environment.get('cpu') or environment['machine']}, {environment['usable_cores']} cores"]
    lines.append(
        f"{sampled}times: lower quartiles, averaged over processes; whiskers: 95% interval of their ratio, by bootstrap"
    )
    missing = [program.name for program in summary.programs if not program.speedup]
    if missing:
        lines.append(f"without a speed-up: {', '.join(missing)}")
    return "\n".join(lines)
