"""What the commands that run campaigns share: options, progress, and what is said at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from reports import fuzzing
from xlabench import atomic
from xlabench.commands.engine_lists import engines_of
from xlabench.commands.interruption import interruptible
from xlabench.commands.judging_options import custom_call_option, memory_option, timeout_option
from xlabench.commands.progress import bars
from xlabench.engines import engine
from xlabench.errors import BenchError, ExitCode
from xlabench.fuzzing import campaign
from xlabench.fuzzing.campaign import Source
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.finding import Finding
from xlabench.fuzzing.progress import Progress as CampaignProgress
from xlabench.survival import ERROR

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_OPTIONS = (
    click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder; a campaign in it is resumed."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of everything drawn."),
    click.option("--count", type=click.IntRange(1), help="How many programs, with those of earlier calls."),
    click.option(
        "--budget",
        metavar="TIME",
        help="How long this call draws programs and follows up what it finds, as 90s, 10m or 8h; what a campaign has "
        "to know before that is not counted, nor the end of what is at work then.  What is cut short says so, and the "
        "next call takes it up first.  [default: 1m if no count is given]",
    ),
    click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes at once."),
    timeout_option(60.0, "one program on one engine"),
    memory_option(8192),
    custom_call_option,
    click.option("--max-probes", type=click.IntRange(0), default=200, show_default=True, help="To reduce one finding."),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
)


def campaign_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that all campaigns have."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def engine_specs(given: Sequence[str]) -> tuple[str, ...]:
    """The engines' specs in their normal form; every one of them is there, once."""
    return engines_of(given, lambda text: engine(text).spec)


def seconds(text: str) -> float:
    """A time with a unit (`90s`, `10m`, `8h`) in seconds.

    Raises:
        BenchError: it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None:
        raise BenchError(f"--budget {text!r} is not a time; give one such as 90s, 10m or 8h")
    return float(match[1]) * _UNITS[match[2] or "s"]


def run(options: dict[str, Any], engines: tuple[str, ...], source: Source, *, name: str) -> ExitCode:
    """Run a campaign, leave its page, say what came of it.

    Args:
        options: those of the command line, by their names.
        engines: their specs.
        source: where programs come from.
        name: what the page is called.
    """
    config = _config(options, engines)
    folder: Path = options["out"]
    with _bar(is_quiet=options["as_json"]) as bar:
        task = bar.add_task(name, total=config.count or config.budget_s, rate="", found="")

        before_s: list[float] = []

        def observe(progress: CampaignProgress, found: Sequence[Finding], coverage: Mapping[str, Any]) -> None:
            before_s.append(progress.elapsed_s)
            done = progress.cases if config.count else progress.elapsed_s - before_s[0]
            bar.update(task, completed=done, rate=_rate(progress, coverage), found=f"{len(found)} findings")

        def asked(answered: int, questions: int) -> None:
            bar.update(task, rate=f"{answered:,} of {questions:,} questions beforehand")

        ctrl_c = partial(interruptible, "stopping after the programs at hand; Ctrl-C again gives those up")
        summary = campaign.run(config, source, folder, observe=observe, asked=asked, interruptible=ctrl_c)
    atomic.write(folder / "index.html", fuzzing.page(summary).encode())
    if options["as_json"]:
        click.echo(json.dumps(summary))
    else:
        _show(summary, folder)
    if summary["interrupted"]:
        return ExitCode.INTERRUPTED
    if any(finding["verdict"] == ERROR for finding in summary["findings"]):
        return ExitCode.INTERNAL
    is_news = any(not finding["bug"] for finding in summary["findings"])
    return ExitCode.WRONG if is_news else ExitCode.FINE


def _telling(telling: Mapping[str, Any]) -> str:
    """Which share of the instructions shows in a result, as far as that was asked."""
    return f"{telling['share']:.0%} of {telling['asked']:,} instructions tell" if telling["asked"] else "none asked"


def _stages(seconds: Mapping[str, float]) -> str:
    """The stages of the work in the order of their shares."""
    whole = sum(seconds.values()) or 1.0
    return ", ".join(f"{name} {s / whole:.0%}" for name, s in sorted(seconds.items(), key=lambda item: -item[1]))


def _rate(progress: CampaignProgress, coverage: Mapping[str, Any]) -> str:
    rate = progress.cases / progress.elapsed_s if progress.elapsed_s else 0.0
    reached = f"{coverage['reached']:,} {coverage['of'].partition(' ')[0]}"
    return f"{progress.cases:,} programs, {rate:.1f}/s, {reached}, {len(progress.rules)} rules"


def _config(options: dict[str, Any], engines: tuple[str, ...]) -> Config:
    budget = options["budget"]
    if budget is None and options["count"] is None:
        budget = "1m"
    return Config(
        engines=engines,
        seed=options["seed"],
        count=options["count"],
        budget_s=None if budget is None else seconds(budget),
        workers=options["workers"],
        timeout_s=options["timeout"],
        memory_bytes=options["memory_limit"] << 20,
        max_probes=options["max_probes"],
    )


def _bar(*, is_quiet: bool) -> Progress:
    columns = ("{task.description}", BarColumn(), TextColumn("{task.fields[rate]}"), TextColumn("{task.fields[found]}"))
    columns_ = [TextColumn(column) if isinstance(column, str) else column for column in columns]
    return bars(*columns_, TimeElapsedColumn(), is_quiet=is_quiet)


def _show(summary: dict[str, Any], folder: Path) -> None:
    console = Console(highlight=False)
    coverage = summary["coverage"]
    console.print(
        f"{summary['cases']:,} programs of {summary['instructions_per_case']:.0f} instructions, "
        f"{summary['cases_per_s']:.1f} per second ({summary['cases_per_s_and_core']:.1f} per second and core while "
        f"workers worked); {coverage['reached']:,} of {coverage['allowed']:,} {coverage['of']}, "
        f"{len(coverage['rules'])} rewrite rules; {_telling(summary['telling'])}"
    )
    console.print(f"seconds of work: {_stages(summary['seconds'])}")
    for program, reason in coverage.get("skipped", {}).items():
        console.print(f"skipped {program}: {reason}")
    table = Table("finding", "engine", "verdict", "cases", "what", box=None)
    for finding in summary["findings"]:
        is_said = finding["verified"] or finding["verdict"] == ERROR
        what = finding["message"] if is_said else f"not verified: {finding['doubt']}"
        what = f"known: {finding['bug']}" if finding["bug"] else what
        table.add_row(
            finding["name"], ", ".join(finding["engines"]), finding["verdict"], str(len(finding["cases"])), what[:100]
        )
    if summary["findings"]:
        console.print(table)
    else:
        console.print("no findings")
    if cut_short := sum(finding["is_cut_short"] for finding in summary["findings"]):
        console.print(
            f"{cut_short} of them were cut short, as the time was up: the same command takes them up first; "
            "`xlabench reduce` and `bisect` do by hand"
        )
    if summary["interrupted"]:
        console.print("interrupted: the same command goes on from here")
    console.print(f"summary: {folder / 'index.html'}", soft_wrap=True)
