"""`xlabench fuzz`: generated programs on all engines, until the count is reached or the time is up."""

from __future__ import annotations

from typing import Any

import click

from xlabench.commands.campaign_options import campaign_options, engine_specs, run
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.generate import PROFILES

_ENGINES = "cpu:opt=0 cpu:fusion=off,opt=0 nvptx:sim"


@click.command(short_help="Run generated programs on all engines and keep what goes wrong.")
@click.option("--engines", default=_ENGINES, show_default=True, metavar="SPECS", help="Engine specs, space-separated.")
@click.option("--profile", type=click.Choice(list(PROFILES)), default="ratchet", show_default=True)
@campaign_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Fuzz engines: exit 0 if nothing went wrong, 1 if there are findings."""
    source = Generated(options["profile"])
    ctx.exit(run(options, engine_specs(options["engines"]), source, name="fuzzing"))
