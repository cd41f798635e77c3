"""`xlabench bisect`: which pass and rewrite, which kernel, or LLVM."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from xlabench import atomic
from xlabench.bundles import saving
from xlabench.bundles.failure import Failure
from xlabench.commands.examples import examples
from xlabench.commands.progress import steps
from xlabench.commands.target import Target, load, target_options
from xlabench.diagnosis import graph_blame
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.checks import confirm
from xlabench.diagnosis.probe import Judgement, Prober

_OF_RUN = ("module", "fill_elided", "seed", "inputs", "reference", "timeout", "memory_limit")
"""The options that `xlabench run` has as well."""

_GOOD, _BAD, _REDUCED = "last_good", "first_bad", "part"

_EXAMPLES = """
xlabench bisect failure.zip
    the engine that failed
xlabench bisect step.hlo --engine xla
    which of XLA's passes
xlabench bisect step.hlo --engine xla --out around
    with the modules before and after it as bundles, to replay
xlabench bisect model.pb --engine clusters:on=cpu
    a graph: a lowering, a decision of clustering, a pass or a kernel
"""


@click.command(
    name="bisect",
    short_help="Find the pass, rewrite or kernel that is to blame for a failure.",
    epilog=examples(_EXAMPLES),
)
@target_options
@click.option("--out", type=click.Path(path_type=Path), help="Folder for bundles of the modules around a guilty pass.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Find who is to blame for the failure that FILE or BUNDLE shows: exit 0 when somebody was found.

    Every module between passes is run on the reference, so that the first wrong one names the culprit; withholding the
    rewrites of that pass one half after the other names the rewrite.  If all are right, each kernel is run alone.
    The line of the user's source that the guilty instruction comes from is said where the program says it, as JAX's do.
    FILE may be a graph of TensorFlow's.  On `ops` or `clusters` it is an op's lowering, how the graph is put together
    (`execution`), a decision of clustering, or what compiles; then --out keeps the part that fails alone.
    For the engine xla the modules are those that XLA dumps after its passes; what cannot be evaluated is passed over.
    """
    target = load(options)
    out: Path | None = options["out"]
    if out is not None:
        atomic.require_folder(out)
    with Prober(target.setup) as prober, steps(is_quiet=options["as_json"]) as say:
        say("the verdict, again")
        judgement = confirm([prober], target.case)
        say("the passes")
        who = graph_blame.find(prober, target.case, judgement, report=lambda one: say(f"{one.witness}: {one.verdict}"))
        found = who.blame
    narrowed = target
    if who.case is not target.case:
        narrowed, judgement = _of_narrowed(target, who)
    if out is not None:
        _keep(found, narrowed, judgement, out, is_narrowed=narrowed is not target)
    if options["as_json"]:
        click.echo(json.dumps({**asdict(found), "signature": found.signature, "file": str(target.path)}))
    else:
        again = _again(ctx, target) if narrowed is target else _again_narrowed(out)
        click.echo(describe(found, str(target.path), _commands(found, again, out)))
    ctx.exit(0)


def _again(ctx: click.Context, target: Target) -> list[str]:
    """The words of the command that runs the same program with an engine that is still to be named."""
    given = [name for name in _OF_RUN if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    options = [word for name in given for word in (f"--{name.replace('_', '-')}", str(ctx.params[name]))]
    return ["xlabench", "run", str(target.path), *options, "--engine"]


def _of_narrowed(target: Target, who: graph_blame.Found) -> tuple[Target, Judgement]:
    """What of a graph fails alone, as a program, with the engine that it fails on."""
    narrowed = replace(target, case=who.case, setup=replace(target.setup, engine=who.engine))
    with Prober(narrowed.setup) as prober:
        return narrowed, prober.judge(narrowed.case)


def _again_narrowed(out: Path | None) -> list[str]:
    """The words of the command that runs what of a graph fails alone; none where that is not kept."""
    return [] if out is None else ["xlabench", "run", str(out / _REDUCED), "--engine"]


def _keep(found: Blame, target: Target, judgement: Judgement, out: Path, *, is_narrowed: bool) -> None:
    """Write what of a graph fails alone as a bundle, and the modules around a guilty pass as bundles of the reference.

    Those are judged as the program itself is.
    """
    believed = target.setup.reference
    failure = Failure(
        target.case.text(),
        target.case.inputs,
        judgement.expected,
        judgement.actual,
        believed,
        believed,
        None,
        "wrong",
        "",
        target.setup.policy,
    )
    timeout_s = target.setup.timeout_s
    failure = replace(failure, bounds=saving.find_bounds(failure, timeout_s))
    atomic.new_folder(out)
    if is_narrowed:
        shown = replace(failure, engine=target.setup.engine, verdict=judgement.verdict, message=judgement.message)
        saving.save(shown, out / _REDUCED, timeout_s=timeout_s)
    if not found.before:
        return
    for name, text in ((_GOOD, found.before), (_BAD, found.after)):
        message = f"{name.replace('_', ' ')}: {found.summary}"
        saving.save(replace(failure, module_text=text, message=message), out / name, timeout_s=timeout_s)


def _commands(found: Blame, again: Sequence[str], out: Path | None) -> list[str]:
    """What shows the last good and the first bad: engines, or where none leaves the culprit out, modules."""
    if found.last_good and again:
        good, bad = [*again, found.last_good], [*again, found.first_bad]
    elif not found.before:
        return [f"last good: {found.last_good}", f"first bad: {found.first_bad}"] if found.last_good else []
    elif out is None:
        return ["last good: the module before that, first bad: the one after it; --out DIR keeps both as bundles"]
    else:
        good, bad = (["xlabench", "replay", str(out / name)] for name in (_GOOD, _BAD))
    return [f"last good: {shlex.join(good)}", f"first bad: {shlex.join(bad)}"]


def describe(found: Blame, path: str, commands: Sequence[str]) -> str:
    """A report for people.

    Args:
        found: who is to blame.
        path: what was looked into.
        commands: what to call next.
    """
    lines = [f"{path}: {found.verdict}: {found.signature}"]
    lines += [f"  {one.witness}: {one.verdict}" for one in found.evidence]
    if found.stage == "llvm" and found.rewrite:
        lines.append(f"LLVM pass {found.rewrite}: {found.step} on {found.where}")
    elif found.stage == "clustering":
        lines.append(f"with node {found.rewrite}, {found.where}, clusters begin to be wrong")
    elif found.rewrite:
        lines.append(f"rewrite {found.rewrite}: {found.rule} at {found.where}")
    elif found.where:
        lines.append(f"at {found.where}")
    if found.sources:
        lines.append(f"source: {found.source}")
    return "\n".join([*lines, *commands, "", found.diff]).rstrip()
