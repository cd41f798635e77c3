"""`python -m compiler opt`: a program after passes, with what each of them did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import compiler
from compiler.commands.files import file_argument, json_option, output_option, parse, write
from compiler.commands.options import compile_options, names, settled
from compiler.pipeline import PASSES, PIPELINES, Step, ignore, run, stages_of


@click.command("opt", epilog=f"Passes: {', '.join(PASSES)}.\n\nPipelines: {', '.join(PIPELINES)}.")
@file_argument
@output_option
@compile_options
@click.option(
    "--passes", default="optimize", show_default=True, metavar="A,B", help="Passes in order, or one pipeline's name."
)
@click.option(
    "--print-after-all",
    is_flag=True,
    help="Show the program after every pass, on standard error or in the JSON object.",
)
@click.option(
    "--print-rewrites", is_flag=True, help="List the rewrites by number, on standard error or in the JSON object."
)
@json_option
def command(file: Path, output: Path | None, *, as_json: bool, **options: Any) -> None:
    """Print FILE after a list of passes, or after a named pipeline.

    The program is verified before and after each pass.  Every rewrite has a number: to find the one that breaks a
    program, bisect --fuel.

    With --json: `text`, or `output`; with --print-rewrites also `rewrites`, with --print-after-all also `steps`.
    """
    show, listing, passes = (options.pop(name) for name in ("print_after_all", "print_rewrites", "passes"))
    module = parse(file)
    compiler.verify(module)
    stages = stages_of(names(passes))
    steps: list[dict[str, Any]] = []

    def keep(step: Step) -> None:
        steps.append({"number": step.number, "after": step.after, "changed": step.changed})
        if step.changed:
            steps[-1]["text"] = compiler.to_text(step.module)

    observe = (keep if as_json else _show) if show else ignore
    done = run(module, stages, settled(options, verify_each=True), observe=observe)
    rewrites = [
        {"number": rewrite.number, "pass": rewrite.pass_name, "rule": rewrite.rule, "where": rewrite.where}
        for rewrite in (done.rewrites if listing else ())
    ]
    if as_json:
        facts = {**({"rewrites": rewrites} if listing else {}), **({"steps": steps} if show else {})}
        write(output, compiler.to_text(module), facts)
        return
    for rewrite in rewrites:
        click.echo("{number}: {pass}: {rule} at {where}".format_map(rewrite), err=True)
    write(output, compiler.to_text(module))


def _show(step: Step) -> None:
    state = "" if step.changed else " (nothing changed)"
    click.echo(f"// {step.number}: after {step.after}{state}", err=True)
    if step.changed:
        click.echo(compiler.to_text(step.module), err=True)
