"""`xlabench fuzz`: generated programs on all engines, until the count is reached or the time is up."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from reports import fuzzing
from xlabench import fuzz
from xlabench.engines import engine
from xlabench.errors import BenchError, ExitCode
from xlabench.findings import Finding
from xlabench.fuzz import Config
from xlabench.generate import PROFILES

_ENGINES = "cpu:opt=0 cpu:fusion=off,opt=0 nvptx:sim"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@click.command(short_help="Run generated programs on all engines and keep what goes wrong.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder of the campaign; resumed if whole.")
@click.option("--engines", default=_ENGINES, show_default=True, metavar="SPECS", help="Engine specs, space-separated.")
@click.option("--profile", type=click.Choice(list(PROFILES)), default="ratchet", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of everything that is drawn.")
@click.option("--count", type=click.IntRange(1), help="How many programs.")
@click.option("--budget", metavar="TIME", help="How long, as 90s, 10m or 8h.  [default: 1m where no count is given]")
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes at work at once.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    show_default=True,
    help="Seconds for 20 programs.",
)
@click.option("--memory-limit", type=click.IntRange(64), default=8192, show_default=True, metavar="MIB")
@click.option("--max-probes", type=click.IntRange(0), default=200, show_default=True, help="To reduce one finding.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Fuzz engines: exit 0 if nothing went wrong, 1 if there are findings."""
    config = _config(options)
    folder: Path = options["out"]
    with _bar(is_quiet=options["as_json"]) as bar:
        task = bar.add_task("fuzzing", total=config.count or config.budget_s, rate="", found="")

        def observe(progress: fuzz.Progress, found: Sequence[Finding]) -> None:
            done = progress.cases if config.count else progress.elapsed_s
            rate = progress.cases / progress.elapsed_s if progress.elapsed_s else 0.0
            note = (
                f"{progress.cases:,} programs, {rate:.1f}/s, {len(progress.pairs):,} pairs, {len(progress.rules)} rules"
            )
            bar.update(task, completed=done, rate=note, found=f"{len(found)} findings")

        summary = fuzz.run(config, folder, observe=observe)
    (folder / "index.html").write_text(fuzzing.page(summary), encoding="utf-8")
    if options["as_json"]:
        click.echo(json.dumps(summary))
    else:
        _show(summary, folder)
    ctx.exit(ExitCode.WRONG if summary["findings"] else ExitCode.FINE)


def _config(options: dict[str, Any]) -> Config:
    specs = tuple(engine(spec).spec for spec in _split(options["engines"]))
    budget = options["budget"]
    if budget is None and options["count"] is None:
        budget = "1m"
    return Config(
        engines=specs,
        profile=options["profile"],
        seed=options["seed"],
        count=options["count"],
        budget_s=None if budget is None else _seconds(budget),
        workers=options["workers"],
        timeout_s=options["timeout"],
        memory_bytes=options["memory_limit"] << 20,
        max_probes=options["max_probes"],
    )


def _split(text: str) -> list[str]:
    """Specs separated by spaces; or by commas, where what follows a comma is a spec and no option of the one before."""
    specs: list[str] = []
    for part in re.split(r"[\s,]+", text.strip()):
        if specs and ":" in specs[-1] and re.match(r"\w+=", part):
            specs[-1] += f",{part}"
        else:
            specs.append(part)
    return specs


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None:
        raise BenchError(f"--budget {text!r} is not a time; give one such as 90s, 10m or 8h")
    return float(match[1]) * _UNITS[match[2] or "s"]


def _bar(*, is_quiet: bool) -> Progress:
    columns = ("{task.description}", BarColumn(), TextColumn("{task.fields[rate]}"), TextColumn("{task.fields[found]}"))
    parts = [TextColumn(column) if isinstance(column, str) else column for column in columns]
    return Progress(*parts, TimeElapsedColumn(), console=Console(stderr=True), disable=is_quiet)


def _show(summary: dict[str, Any], folder: Path) -> None:
    console = Console(highlight=False)
    coverage = summary["coverage"]
    console.print(
        f"{summary['cases']:,} programs of {summary['instructions_per_case']:.0f} instructions, "
        f"{summary['cases_per_s']:.1f} per second; {coverage['reached']:,} of {coverage['allowed']:,} pairs of opcode "
        f"and element type, {len(coverage['rules'])} rewrite rules"
    )
    table = Table("finding", "engine", "verdict", "cases", "what", box=None)
    for finding in summary["findings"]:
        what = finding["message"] if finding["verified"] else f"not verified: {finding['doubt']}"
        table.add_row(
            finding["name"], ", ".join(finding["engines"]), finding["verdict"], str(len(finding["cases"])), what[:100]
        )
    if summary["findings"]:
        console.print(table)
    else:
        console.print("no findings")
    console.print(f"summary: {folder / 'index.html'}", soft_wrap=True)
