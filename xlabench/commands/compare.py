"""`xlabench compare`: what is different between two recorded runs; 1 where the later one is worse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from reports import changes, summary
from reports.changes import Changes
from reports.summary import Summary
from xlabench.commands.examples import examples
from xlabench.database import READABLE_VERSIONS, Records
from xlabench.errors import BenchError, ExitCode

_EXAMPLES = """
xlabench compare nightly-out
    the latest two nights of a folder
xlabench compare main/results.json branch/results.json
    a change against where it started
"""


@click.command(
    short_help="Show what is different between two recorded runs.",
    epilog=examples(_EXAMPLES),
)
@click.argument("earlier", type=click.Path(path_type=Path))
@click.argument("later", type=click.Path(path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON.")
def command(**options: Any) -> None:
    """Show what is different in the run LATER, and end with 1 if it is worse.

    EARLIER and LATER are folders of `xlabench nightly`, of which the latest runs are taken, or files `results.json`.
    With one folder only, its latest two runs of one suite are compared.

    Verdicts count as worse where they were right, and engines where their own time is slower beside that of the
    machine's canaries, which both runs timed: where the interval of the change lies wholly beyond 5%, all intervals
    holding together with 99%.  Of a speed-up, which is the ratio of two engines, only whose time moved it is said.
    """
    folder, later = options["earlier"], options["later"]
    runs = (_load(folder), _load(later)) if later else _latest_two(folder)
    found = changes.compare(*runs)
    click.echo(json.dumps(changes.to_json(found)) if options["as_json"] else "\n".join(_to_text(found)))
    click.get_current_context().exit(ExitCode.WRONG if found.is_regression else ExitCode.FINE)


def _to_text(found: Changes) -> Iterator[str]:
    yield f"{_run(found.earlier)} against {_run(found.later)}"
    yield from changes.to_text(found)
    yield "worse than before" if found.is_regression else "nothing is worse"


def _run(of: Summary) -> str:
    run = of.run
    commit = str(run["environment"].get("commit") or "")
    return f"{run['suite']} run {run['id']}, started {run['started_at']}" + (
        f", commit {commit[:12]}" if commit else ""
    )


def _load(path: Path) -> Summary:
    """A folder's latest run, or the one in a `results.json`, which may be anything."""
    _require(path)
    if path.is_dir():
        with Records.of_folder(path) as records:
            return summary.summarise(records.export(records.latest_run_id()))
    try:
        exported = json.loads(path.read_text(encoding="utf-8"))
        version = exported["schema_version"]
        if version in READABLE_VERSIONS:
            return summary.summarise(exported)
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
        raise BenchError(
            f"{path}: no records of a run; give a folder of `xlabench nightly`, or its results.json"
        ) from error
    known = " and ".join(map(str, READABLE_VERSIONS))
    raise BenchError(f"{path}: of schema version {version}, this xlabench reads version {known}")


def _require(path: Path) -> None:
    try:
        path.stat()
    except OSError as error:
        raise BenchError(
            f"{path}: cannot be read: {error.strerror}; give a folder of `xlabench nightly`, or its results.json"
        ) from error


def _latest_two(folder: Path) -> tuple[Summary, Summary]:
    _require(folder)
    if not folder.is_dir():
        raise BenchError(f"{folder}: one run has nothing to be compared with; give two, or a folder with several runs")
    with Records.of_folder(folder) as records:
        latest = records.latest_run_id()
        earlier = records.exports_before(latest, 1)
        if not earlier:
            raise BenchError(f"{folder}: holds one finished run of that suite only; give another folder beside it")
        return summary.summarise(earlier[0]), summary.summarise(records.export(latest))
