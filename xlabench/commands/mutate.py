"""`xlabench mutate`: real programs, changed in ways that keep their results, against themselves."""

from __future__ import annotations

from typing import Any

import click

from xlabench.commands.campaign_options import campaign_options, engine_specs, run
from xlabench.commands.engine_lists import engines_option
from xlabench.commands.examples import examples
from xlabench.fuzzing import corpus
from xlabench.fuzzing.mutate import Mutated

_ENGINES = ("reference", "cpu:opt=0", "cpu:fusion=off,opt=0")

_EXAMPLES = """
xlabench mutate smoke --budget 5m --out mutated
    a suite
xlabench mutate dumps/ --engines cpu,xla --out mutated
    programs that somebody sent
"""


@click.command(
    short_help="Change real programs in ways that keep their results, and compare.",
    epilog=examples(_EXAMPLES),
)
@click.argument("paths", metavar="CORPUS...", nargs=-1, required=True)
@engines_option(_ENGINES)
@click.option(
    "--changes", type=click.IntRange(1, 100), default=6, show_default=True, help="Changes of one program at most."
)
@campaign_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Change programs in ways that must not change results: exit 0 if none did, 1 if there are findings.

    CORPUS is files, folders of .hlo files, and suites by name; what cannot be read of a folder, or not be evaluated,
    is skipped and named.  A changed program is held against its original on the
    same engine: bit for bit on the reference; where a compiled engine differs in bits, by the reference's error bounds.
    A finding names the change that brings it about, and is reduced, blamed and bundled as those of fuzz are.
    The folder has index.html, results.json and, if there are any, findings/.  Ctrl-C ends a campaign after the programs
    at hand (exit code 130); the same command goes on.
    A bug of xlabench's own in one program is a finding `error`, with its traceback: exit 70 at the end.
    """
    engines = engine_specs(options["engines"])
    source = Mutated(corpus.find(options["paths"], engines), options["changes"])
    ctx.exit(run(options, engines, source, name="mutating"))
