"""The table and the chart of what `test_gpu.py` measured: `python gpu_table.py RESULTS.jsonl FOLDER`.

Three ratios say how much longer XLA takes: whole calls from NumPy to NumPy, calls on arrays that are on the GPU, and
the GPU's own time, in which ours counts the gaps between kernels and XLA's does not.
"""

import json
import math
import sys
from pathlib import Path

from matplotlib.figure import Figure

from reports import figure

RATIOS = {
    "whole calls": ("xla_whole", "whole"),
    "calls on arrays that are there": ("xla", "graphs"),
    "the GPU at work": ("xla_busy", "events"),
}
"""How each is called, and the numbers that it is made of."""
COLOURS = ("#1f77b4", "#1a7f4b", "#d9a441")
TIMES = "\N{MULTIPLICATION SIGN}"
HEAD = "| program | GPU us | XLA GPU us | there us | steps us | XLA us | whole us | XLA whole | GPU | there | whole |"


def ratio(row, name):
    """XLA's time over ours, None where either is missing."""
    theirs, ours = (row.get(key) for key in RATIOS[name])
    return theirs / ours if theirs and ours else None


def _cells(row):
    keys = ("events", "xla_busy", "graphs", "steps", "xla", "whole", "xla_whole")
    yield from ("" if row.get(key) is None else f"{row[key] * 1e6:,.1f}" for key in keys)
    for name in reversed(RATIOS):
        found = ratio(row, name)
        yield "" if found is None else f"{found:.2f}"


def table(rows):
    """Markdown: the programs, those first beside whose GPU time XLA's is shortest."""
    ordered = sorted(rows, key=lambda row: ratio(row, "the GPU at work") or math.inf)
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    return "\n".join([*lines, *(f"| `{row['name']}` | {' | '.join(_cells(row))} |" for row in ordered)])


def mean(rows, name):
    """The geometric mean of a ratio."""
    known = [found for row in rows if (found := ratio(row, name))]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else math.nan


def draw(rows, card):
    """One line for each program with a mark for each ratio."""
    name = "the GPU at work"
    ordered = sorted(rows, key=lambda row: ratio(row, name) or 0)
    chart = Figure(figsize=(9, 1.5 + 0.21 * len(ordered)), layout="constrained")
    axes = chart.subplots()
    for (kind, _), colour, mark in zip(RATIOS.items(), COLOURS, "oD^", strict=True):
        points = [(ratio(row, kind), height) for height, row in enumerate(ordered) if ratio(row, kind)]
        label = f"{kind} (mean {mean(rows, kind):.2f}{TIMES})"
        axes.plot(*zip(*points, strict=True), mark, color=colour, label=label, markersize=5)
    axes.set_xscale("log")
    axes.axvline(1, color="#52606d", linewidth=1)
    axes.set_yticks(range(len(ordered)), [row["name"] for row in ordered], fontsize=7)
    axes.set_xlabel("XLA's time over ours: right of 1 ours is faster")
    axes.set_title(f"NVPTX beside XLA:GPU, {card}", loc="left")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    return chart


def main(results, folder, card="one NVIDIA H100 80GB"):
    """Write `programs.md`, `memory.md` and the chart into a folder."""
    found = [json.loads(line) for line in Path(results).read_text(encoding="utf-8").splitlines()]
    rows = [row for row in found if row["kind"] == "program"]
    (Path(folder) / "programs.md").write_text(table(rows) + "\n", encoding="utf-8")
    lines = ["| kernel | GPU us | of a copy's speed | XLA GPU us |", "|---|---|---|---|"]
    for row in (row for row in found if row["kind"] == "memory"):
        peer = row.get("xla_busy", row.get("xla"))
        cells = (f"{row['events'] * 1e6:,.1f}", f"{row['share']:.0%}", f"{peer * 1e6:,.1f}" if peer else "")
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    (Path(folder) / "memory.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for kind, data in figure.files(lambda: draw(rows, card)).items():
        (Path(folder) / f"over-xla.{kind}").write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
