"""`xlabench bisect`: which pass and rewrite, which kernel, or LLVM."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
from click.core import ParameterSource

from xlabench.commands.examples import examples
from xlabench.commands.progress import steps
from xlabench.commands.target import Target, load, target_options
from xlabench.diagnosis import blame
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.checks import settle
from xlabench.diagnosis.probe import Prober

_OF_RUN = ("module", "fill_elided", "seed", "inputs", "reference", "timeout", "memory_limit")
"""The options that `xlabench run` has as well."""

_EXAMPLES = """
xlabench bisect failure.zip
    the engine that failed
xlabench bisect step.hlo --engine xla
    which of XLA's passes
"""


@click.command(
    name="bisect",
    short_help="Find the pass, rewrite or kernel that is to blame for a failure.",
    epilog=examples(_EXAMPLES),
)
@target_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Find who is to blame for the failure that FILE or BUNDLE shows: exit 0 when somebody was found.

    Every module between passes is run on the reference, so that the first wrong one names the culprit; withholding the
    rewrites of that pass one half after the other names the rewrite.  If all are right, each kernel is run alone.
    For the engine xla the modules are those that XLA dumps after its passes; what cannot be evaluated is passed over.
    """
    target = load(options)
    with Prober(target.setup) as prober, steps(is_quiet=options["as_json"]) as say:
        say("the verdict, again")
        judgement = settle([prober], target.case)
        say("the passes")
        found = blame.find(prober, target.case, judgement, report=lambda vote: say(f"{vote.witness}: {vote.verdict}"))
    if options["as_json"]:
        click.echo(json.dumps({**asdict(found), "signature": found.signature, "file": str(target.path)}))
    else:
        click.echo(describe(found, str(target.path), _again(ctx, target)))
    ctx.exit(0)


def _again(ctx: click.Context, target: Target) -> list[str]:
    """The words of the command that runs the same program with an engine that is still to be named."""
    given = [name for name in _OF_RUN if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    options = [word for name in given for word in (f"--{name.replace('_', '-')}", str(ctx.params[name]))]
    return ["xlabench", "run", str(target.path), *options, "--engine"]


def describe(found: Blame, path: str, again: Sequence[str]) -> str:
    """A report for people; they run it `again` with the engines that are named."""
    lines = [f"{path}: {found.verdict}: {found.signature}"]
    lines += [f"  {vote.witness}: {vote.verdict}" for vote in found.votes]
    if found.stage == "llvm" and found.rewrite:
        lines.append(f"LLVM pass {found.rewrite}: {found.step} on {found.where}")
    elif found.rewrite:
        lines.append(f"rewrite {found.rewrite}: {found.rule} at {found.where}")
    elif found.where:
        lines.append(f"at {found.where}")
    if found.last_good:
        lines.append(f"last good: {shlex.join([*again, found.last_good])}")
    if found.first_bad:
        lines.append(f"first bad: {shlex.join([*again, found.first_bad])}")
    return "\n".join([*lines, "", found.diff]).rstrip()
