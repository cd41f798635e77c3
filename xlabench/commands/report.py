"""`xlabench report`: write the report of a folder again from its records, or check that it is what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from reports import report
from reports.report import Report
from xlabench.commands.examples import examples
from xlabench.database import Records
from xlabench.errors import ExitCode

_EXAMPLES = """
xlabench report nightly-out --check
    is the page what the records say?
"""


@click.command(
    short_help="Write the report of a recorded run again.",
    epilog=examples(_EXAMPLES),
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing; end with 1 if a file differs from what the records give.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(**options: Any) -> None:
    """Write the report of FOLDER again from the records of its latest run."""
    folder: Path = options["folder"]
    files = _latest(folder).files()
    stale = report.stale(folder, files)
    if not options["check"]:
        report.write(folder, {name: files[name] for name in files if name in stale})
    if options["as_json"]:
        click.echo(json.dumps({"files": sorted(files), "stale": stale, "written": not options["check"]}))
    else:
        click.echo(_to_text(folder, stale, is_check=options["check"]))
    click.get_current_context().exit(ExitCode.WRONG if options["check"] and stale else ExitCode.FINE)


def _latest(folder: Path) -> Report:
    """The report of the latest run."""
    with Records.of_folder(folder) as records:
        return Report.of_run(records, records.latest_run_id())


def _to_text(folder: Path, stale: list[str], *, is_check: bool) -> str:
    if not stale:
        return f"{folder}: the report is up to date"
    state = "out of date" if is_check else "written"
    return f"{folder}: {state}: {', '.join(stale)}"
