"""`xlabench bundle show|verify|export`: look into a bundle, check it, hand it to people without this tool."""

from __future__ import annotations

import json
from pathlib import Path

import click

import compiler
from compiler import aot
from xlabench import atomic
from xlabench.bundles import archive
from xlabench.bundles import bundle as bundles
from xlabench.bundles import export as exports
from xlabench.commands.examples import examples
from xlabench.commands.judging_options import custom_call_option, timeout_option
from xlabench.errors import ExitCode

_FLAGS = "--platform=CPU --input_format=hlo"

_EXAMPLES = """
xlabench bundle show failure.zip
    what it holds
xlabench bundle export failure.zip --out for-xla
    a folder for people without this tool
"""


@click.group(
    name="bundle",
    short_help="Show, verify or export a repro bundle.",
    epilog=examples(_EXAMPLES),
)
def command() -> None:
    """Show, verify or export a repro bundle."""


@command.command(short_help="Say what a bundle holds.")
@click.argument("folder", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def show(folder: Path, *, as_json: bool) -> None:
    """Say what BUNDLE holds, without running anything."""
    failure = bundles.load(folder)
    arrays = {
        name: [f"{array.dtype.name}[{','.join(map(str, array.shape))}]" for array in values]
        for name, values in (("inputs", failure.inputs), ("expected", failure.expected), ("actual", failure.actual))
    }
    fields = {name: getattr(failure, name) for name in ("verdict", "message", "engine", "reference", "seed")}
    fields["judged_by"] = "bounds" if failure.bounds is not None else "tolerance"
    graph = bundles.graph_text(failure.module_text)
    if as_json:
        original = failure.original.module_text if failure.original else None
        click.echo(
            json.dumps(
                {**fields, **arrays, "module": failure.module_text, "original": original, "graph": graph or None}
            )
        )
        return
    for name, value in fields.items():
        if value is not None:  # of a reduced program no seed makes the inputs
            click.echo(f"{name}: {_visible(str(value))}")
    for name, shapes in arrays.items():
        click.echo(f"{name}: {', '.join(shapes) or 'none'}")
    click.echo(f"\n{_program(failure.module_text)}")
    if graph:
        click.echo(f"\nlowered from\n\n{_visible(graph.rstrip())}")
    if failure.original is not None:
        click.echo(f"\nreduced from\n\n{_program(failure.original.module_text)}")


def _program(text: str) -> str:
    """A program without the graph that it carries, which is no text."""
    if bundles.graph_text(text):
        text = compiler.to_text(aot.without_graph(compiler.parse(text)))
    return _visible(text.rstrip())


def _visible(text: str) -> str:
    """The text of a stranger without what a terminal would obey, or could not be sent."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


@command.command(short_help="Check that a bundle is whole and that its failure shows.")
@click.argument("folder", metavar="BUNDLE", type=click.Path(path_type=Path))
@timeout_option(300.0)
@custom_call_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def verify(ctx: click.Context, folder: Path, *, timeout: float, as_json: bool) -> None:
    """Check that BUNDLE is whole and replay it: exit 0 if its failure shows as recorded, 1 if not."""
    outcome = bundles.replay(folder, timeout_s=timeout)
    holds = outcome.verdict == outcome.recorded
    code = ExitCode.FINE if holds else ExitCode.WRONG
    if as_json:
        fields = {"verdict": outcome.verdict, "recorded": outcome.recorded, "message": outcome.message}
        click.echo(json.dumps({**fields, "holds": holds, "exit_code": int(code)}))
    else:
        click.echo(f"{folder}: {'holds' if holds else 'does not hold'}: {outcome.verdict}, recorded {outcome.recorded}")
    ctx.exit(code)


@command.command(short_help="Write a bundle for people without this tool.")
@click.argument("folder", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder, or .zip file, to write to.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def export(folder: Path, *, out: Path, as_json: bool) -> None:
    """Write BUNDLE as HLO text and literals for XLA's run_hlo_module, and as a script for jaxlib.

    The script ends as replay does, with 0 if the failure is gone, 1 if it shows, 125 if that cannot be decided: by the
    bundle's own bounds or tolerance.
    """
    files, lacking = exports.contents(bundles.load(folder))
    if out.suffix == ".zip":
        atomic.write(out, archive.pack(files))
    else:
        atomic.write_all(out, files)
    if as_json:
        click.echo(json.dumps({"out": str(out), "files": sorted(files), "lacking": lacking}))
        return
    click.echo(f"written to {out}; {'unpack it and ' if out.suffix == '.zip' else ''}run it with")
    if lacking:
        click.echo(f"  no run_hlo_module: {lacking}")
    else:
        click.echo(f"  run_hlo_module {_FLAGS} --input_literals_file=literals.textproto module.hlo")
    click.echo("  python run_in_jax.py")
