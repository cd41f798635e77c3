"""The roofline chart: how close kernels of each kind come to what the machine can do, from the smallest to the largest.

Left what is bound by memory, in bytes that must be moved per second, under the lines of what reading and copying reach
at the same size; right what is bound by arithmetic, under the peak of multiply-adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from reports import figure

_COLOURS = {"loop": "#1a7f4b", "reduce": "#2b59c3", "row": "#c0392b", "sort": "#7f8c9a", "dot": "#8e44ad"}
_LIMITS = {"read": (0, (1, 2)), "copy": (0, (5, 3))}
_UNITS = ("B", "KiB", "MiB", "GiB")

Record = Mapping[str, Any]


def charts(record: Record) -> dict[str, bytes]:
    """The chart of what `xlabench roofline` measured, as the bytes of an SVG and of a PNG file, by extension."""
    return figure.files(lambda: _draw(record))


def _draw(record: Record) -> Figure:
    drawn = Figure(figsize=(11, 6), layout="constrained")
    left, right = drawn.subplots(1, 2)
    bound = [kind for kind in record["kinds"] if kind["unit"] == "bytes"]
    _panel(left, bound, "gigabytes per second that must be moved")
    for name, points in record["limits"].items():
        left.plot(*_columns(points, "rate"), color="#1f2933", linestyle=_LIMITS[name], label=f"limit: {name}")
    _panel(right, [kind for kind in record["kinds"] if kind["unit"] == "flops"], "gigaflops per second")
    peak = record["peak_flops"] / 1e9
    right.axhline(peak, color="#1f2933", linestyle=_LIMITS["copy"], label=f"limit: {peak:,.0f} GFLOP/s")
    for axes in (left, right):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
    environment = record["environment"]
    left.set_title(f"{record['engine']} beside the machine's limits", loc="left")
    machine = f"{environment.get('cpu') or environment['machine']}, {environment['usable_cores']} cores"
    drawn.supxlabel(f"{machine}; each point the best of several rounds", x=0.01, ha="left", fontsize=9, color="#52606d")
    return drawn


def _panel(axes: Axes, kinds: Sequence[Record], unit: str) -> None:
    for kind in kinds:
        colour, label = _COLOURS.get(kind["name"], "#d9a441"), f"{kind['name']}: {kind['what']}"
        axes.plot(*_columns(kind["points"], "rate"), label=label, color=colour, marker="o", markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(visible=True, axis="y")
    axes.set_xlabel("bytes of all arrays together")
    axes.set_ylabel(unit)
    axes.xaxis.set_major_locator(LogLocator(base=16, subs=(4,)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _size(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _columns(points: Sequence[Record], name: str) -> tuple[list[float], list[float]]:
    return [point["bytes"] for point in points], [point[name] / 1e9 for point in points]


def _size(count: float) -> str:
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:g} {_UNITS[unit]}"
