"""`xlabench replay`: does a bundle's failure still show?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from xlabench.bundles import bundle
from xlabench.commands.examples import examples
from xlabench.commands.judging_options import custom_call_option, timeout_option

_EXAMPLES = """
xlabench replay failure.zip
    does it still show on this machine?
git bisect run xlabench replay failure.zip
    which commit brought it about
"""


@click.command(
    name="replay",
    short_help="Run a repro bundle again.",
    epilog=examples(_EXAMPLES),
)
@click.argument("folder", metavar="BUNDLE", type=click.Path(path_type=Path))
@timeout_option(300.0)
@custom_call_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def command(ctx: click.Context, folder: Path, *, timeout: float, as_json: bool) -> None:
    """Run a repro bundle again: exit 0 if the bug is gone, 1 if it shows, 125 if it cannot be decided here.

    A failure of another kind, as a timeout where the results were wrong, does not show the bug and does not say that it
    is gone: that is 125 too.
    """
    outcome = bundle.replay(folder, timeout_s=timeout)
    if as_json:
        fields = {"verdict": outcome.verdict, "recorded": outcome.recorded, "message": outcome.message}
        click.echo(json.dumps({**fields, "answer": outcome.answer, "exit_code": int(outcome.exit_code)}))
    else:
        click.echo(f"{folder}: {outcome.answer}: {outcome.verdict} (recorded: {outcome.recorded}): {outcome.message}")
    ctx.exit(outcome.exit_code)
