"""`xlabench fuzz`: generated programs on all engines, until the count is reached or the time is up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from compiler.tf import require_protobuf
from xlabench.atomic import new_folder
from xlabench.commands.campaign_options import campaign_options, engine_specs, run
from xlabench.commands.engine_lists import engines_option
from xlabench.commands.examples import examples
from xlabench.errors import BenchError
from xlabench.fuzzing import small
from xlabench.fuzzing.campaign import Source
from xlabench.fuzzing.fuzz import Exhaustive, Generated
from xlabench.fuzzing.generate import PROFILES
from xlabench.fuzzing.graphs import cases as graphs
from xlabench.fuzzing.graphs.source import Graphs
from xlabench.fuzzing.limits import Limits

ENGINES = ("cpu", "cpu:fusion=off", "nvptx:sim")
"""Those of a campaign where none are given."""

_EXAMPLES = """
xlabench fuzz --budget 10m --workers 2 --out campaign
    ten minutes on our engines; called again, it goes on
xlabench fuzz --engines cpu,xla --profile discovery --count 1000 --seed 7 --out beside-xla
    a thousand programs, XLA among the suspects
xlabench fuzz --budget 8h --workers 8 --corpus corpus --out tonight
    a night; what its programs came to first is a start for the next one
xlabench fuzz --instructions 10 --elements 64 --budget 10m --out small
    many small programs, some ten times as many as else
xlabench fuzz --profile graphs --engines cpu --count 500 --out graphs
    random graphs of TensorFlow's: op by op, in clusters, whole
"""


_WHOLE = (0, 1)


def _shard(text: str) -> tuple[int, int]:
    """Which shard of how many, from 0 on."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise BenchError(f"--shard {text!r} is no part of a whole; give one such as 1/4 or 4/4")
    return int(match[1]) - 1, int(match[2])


def _limits(options: Mapping[str, Any]) -> Limits:
    """How large programs may be, where they are drawn by size."""
    limits = Limits(options["instructions"], options["elements"])
    if limits and options["profile"] not in PROFILES:
        raise BenchError(
            f"--instructions and --elements go with --profile {' or '.join(PROFILES)}, not {options['profile']}, "
            "whose programs are as small as they can be, or graphs; leave them out"
        )
    return limits


@click.command(
    short_help="Run generated programs on all engines and keep what goes wrong.",
    epilog=examples(_EXAMPLES),
)
@engines_option(ENGINES)
@click.option(
    "--profile",
    type=click.Choice([*PROFILES, small.NAME, graphs.NAME]),
    default="ratchet",
    show_default=True,
    help="What programs are drawn, as said above.",
)
@click.option(
    "--shard", metavar="K/N", default="1/1", show_default=True, help="Of the profile `exhaustive` the K-th of N parts."
)
@click.option(
    "--vary/--no-vary",
    default=True,
    show_default=True,
    help="Draw for each program what the specs of engines leave open: opt, threads, CPU features, passes.",
)
@click.option(
    "--instructions",
    type=click.IntRange(1),
    help="Of a program at most, for many small ones: those of all its computations, parameters and constants too.",
)
@click.option("--elements", type=click.IntRange(1), help="Of an array of a program at most.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="Folder that keeps the programs that came to something new, for this campaign and others at once or later.",
)
@campaign_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Make up programs and inputs, run them on all engines: exit 0 if nothing went wrong, 1 if there are findings.

    Engines run in watched processes and are judged by the error bounds of the reference.  They take turns: of several
    specs of one engine each block of 20 programs is run on one, and beside other engines a simulator runs one block of
    six (but all seeds, and all of `exhaustive`).  Each finding is reduced, blamed on a step and kept as a bundle, once
    for each cause.  Profile `ratchet` keeps to common types, `discovery` draws everything.  `exhaustive` is all
    programs of one instruction, and of two in a row, in a fixed order to the end: give a `--budget` of hours, and call
    it again to go on.  `graphs` are graphs of TensorFlow's, drawn from the records of its ops, each run op by op, in
    clusters and whole on every engine.  Each program is called with inputs of several kinds: tame, special, boundary
    indices and so on.
    The folder has index.html, results.json and, if there are any, findings/.
    Ctrl-C ends a campaign after the programs at hand (exit code 130); the same command goes on.
    A bug of xlabench's own in one program is a finding `error`, with its traceback: exit 70 at the end.
    """
    corpus = options["corpus"]
    kept = "" if corpus is None else str(new_folder(corpus).resolve())
    specs = engine_specs(options["engines"])
    limits = _limits(options)
    source: Source = Generated(options["profile"], options["vary"], kept, limits)
    shard = _shard(options["shard"])
    if options["profile"] == small.NAME:
        source = Exhaustive(varied=options["vary"], shard=shard)
    elif shard != _WHOLE:
        raise BenchError("--shard goes with --profile exhaustive only; leave it out, or give another --seed")
    elif options["profile"] == graphs.NAME:
        require_protobuf("--profile graphs")
        source, specs = Graphs(options["vary"]), graphs.engines_for(specs)
    ctx.exit(run(options, specs, source, name="fuzzing"))
