"""`xlabench recheck`: all bundles of a folder against today's version."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from xlabench.bundles import bundle
from xlabench.commands.examples import examples
from xlabench.commands.judging_options import custom_call_option, timeout_option
from xlabench.errors import BenchError, ExitCode, exit_code_of

_STATES = {
    bundle.GONE: "fixed",
    bundle.SHOWS: "shows",
    bundle.OTHERWISE: "otherwise",
    bundle.UNDECIDED: "undecided",
}
_BROKEN = "broken"
_BAD = ("shows", "otherwise", _BROKEN)

_EXAMPLES = """
xlabench recheck nightly-out/bundles
    all failures of earlier nights, with today's version
"""


@click.command(
    name="recheck",
    short_help="Replay every bundle of a folder.",
    epilog=examples(_EXAMPLES),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@timeout_option(300.0)
@custom_call_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def command(ctx: click.Context, folder: Path, *, timeout: float, as_json: bool) -> None:
    """Replay every bundle below DIR: which are fixed, which still show, and which fail otherwise than recorded.

    Exit 1 if any shows, fails otherwise or is broken.
    """
    found, closed = _bundles(folder)
    if folder in closed:
        raise BenchError(f"{folder}: cannot be looked into: {closed[folder]}; give a folder of bundles")
    if not found and not closed:
        raise BenchError(f"{folder}: there is no bundle in it; give a folder of bundles")
    rows = []
    for path in sorted({*found, *closed}):
        state, message = (
            (_BROKEN, f"cannot be looked into: {closed[path]}") if path in closed else _state(path, timeout)
        )
        rows.append((str(path.relative_to(folder)), state, message))
        if not as_json:
            click.echo(f"{state:9} {path.relative_to(folder)}: {message}")
    if as_json:
        click.echo(json.dumps({"bundles": [{"path": p, "state": s, "message": m} for p, s, m in rows]}))
    else:
        counts = {state: sum(row[1] == state for row in rows) for state in (*_STATES.values(), _BROKEN)}
        click.echo(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    bad = any(state in _BAD for _, state, _ in rows)
    ctx.exit(ExitCode.WRONG if bad else ExitCode.FINE)


def _bundles(folder: Path) -> tuple[list[Path], dict[Path, str]]:
    """Folders and archives, and why other folders cannot be looked into.

    What a bundle is made in lies hidden, and stays behind where the maker is killed.
    """
    found, closed = [], {}

    def note(error: OSError) -> None:
        closed[Path(error.filename)] = error.strerror or str(error)

    for root, folders, files in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if "manifest.json" in (*files, *folders):
            found.append(Path(root))
        found += [Path(root, name) for name in files if name.endswith(".zip") and not name.startswith(".")]
    return found, closed


def _state(path: Path, timeout: float) -> tuple[str, str]:
    """What a bundle is today; one that cannot be read does not stop the others."""
    try:
        outcome = bundle.replay(path, timeout_s=timeout)
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise
        return _STATES[bundle.UNDECIDED] if code is ExitCode.UNDECIDABLE else _BROKEN, str(error).partition("\n")[0]
    said = f"{outcome.verdict}, recorded {outcome.recorded}: " if outcome.answer == bundle.OTHERWISE else ""
    return _STATES[outcome.answer], said + outcome.message.partition("\n")[0]
