"""`xlabench recheck`: all bundles of a folder against today's version."""

from __future__ import annotations

import json
from pathlib import Path

import click

from xlabench.bundles import bundle
from xlabench.commands.examples import examples
from xlabench.commands.judging_options import timeout_option
from xlabench.errors import BenchError, ExitCode, Undecidable

_STATES = {ExitCode.FINE: "fixed", ExitCode.WRONG: "shows", ExitCode.UNDECIDABLE: "undecided"}

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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def command(ctx: click.Context, folder: Path, *, timeout: float, as_json: bool) -> None:
    """Replay every bundle below DIR: which are fixed, and which still show.  Exit 1 if any shows or is broken."""
    found = _bundles(folder)
    if not found:
        raise BenchError(f"{folder}: there is no bundle in it; give a folder of bundles")
    rows = []
    for path in found:
        state, message = _state(path, timeout)
        rows.append((str(path.relative_to(folder)), state, message))
        if not as_json:
            click.echo(f"{state:9} {path.relative_to(folder)}: {message}")
    if as_json:
        click.echo(json.dumps({"bundles": [{"path": p, "state": s, "message": m} for p, s, m in rows]}))
    else:
        counts = {state: sum(row[1] == state for row in rows) for state in (*_STATES.values(), "broken")}
        click.echo(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    bad = any(state in ("shows", "broken") for _, state, _ in rows)
    ctx.exit(ExitCode.WRONG if bad else ExitCode.FINE)


def _bundles(folder: Path) -> list[Path]:
    """Folders and archives; what a bundle is made in lies hidden, and stays behind where the maker is killed."""
    paths = [*(path.parent for path in folder.rglob("manifest.json")), *folder.rglob("*.zip")]
    return sorted(p for p in paths if not any(part.startswith(".") for part in p.relative_to(folder).parts))


def _state(path: Path, timeout: float) -> tuple[str, str]:
    """What a bundle is today; one that cannot be read does not stop the others."""
    try:
        outcome = bundle.replay(path, timeout_s=timeout)
    except Undecidable as error:
        return "undecided", str(error)
    except BenchError as error:
        return "broken", str(error)
    return _STATES[outcome.exit_code], outcome.message.partition("\n")[0]
