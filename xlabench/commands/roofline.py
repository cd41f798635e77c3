"""`xlabench roofline`: kernels of every kind and size beside what the machine can do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from reports import roofline as chart
from xlabench import atomic
from xlabench.commands.examples import examples
from xlabench.commands.progress import steps
from xlabench.timing import roofline

_FILE_COLUMNS = 100

_EXAMPLES = """
xlabench roofline --out roofline
    this machine
xlabench roofline --engine xla --out roofline-xla
    another engine on it
"""


@click.command(
    name="roofline",
    short_help="Compare kernels of every kind and size with what the machine can do.",
    epilog=examples(_EXAMPLES),
)
@click.option("--engine", default="cpu", show_default=True, metavar="SPEC", help="The engine that is measured.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the record and the chart.")
@click.option(
    "--largest",
    type=click.IntRange(roofline.SMALLEST),
    default=roofline.LARGEST,
    show_default=True,
    metavar="BYTES",
    help="The most bytes that a program's arrays take.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON and nothing else.")
def command(engine: str, out: Path, largest: int, *, as_json: bool) -> None:
    """Time loops, reductions, rows, sorts and dots from a kilobyte up, and the machine's limits in the same run.

    Leaves roofline.json and the chart, roofline.svg and roofline.png, in the folder; takes about a minute.
    """
    atomic.require_folder(out)
    with steps(is_quiet=as_json) as progress:
        record = roofline.measure(engine, largest, progress=progress)
    text = json.dumps(record, indent=1)
    charts = {f"roofline.{kind}": data for kind, data in chart.charts(record).items()}
    atomic.write_all(out, {"roofline.json": (text + "\n").encode(), **charts})
    if as_json:
        click.echo(text)
    else:
        _show(record, out)


def _show(record: dict[str, Any], out: Path) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _FILE_COLUMNS)
    kinds = record["kinds"]
    table = Table("bytes", *(f"{kind['name']}, {_unit(kind)}" for kind in kinds), box=box.SIMPLE_HEAD)
    for row in zip(*(kind["points"] for kind in kinds), strict=True):
        cells = (f"{point['rate'] / 1e9:,.1f} ({point['share']:.0%})" for point in row)
        table.add_row(f"{row[0]['bytes']:,}", *cells)
    console.print(table)
    console.print(f"in parentheses the share of the limit; chart: {out / 'roofline.svg'}", soft_wrap=True)


def _unit(kind: dict[str, Any]) -> str:
    return "GB/s" if kind["unit"] == "bytes" else "GFLOP/s"
