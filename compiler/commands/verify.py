"""`python -m compiler verify`: every violation of the language's rules."""

from __future__ import annotations

from pathlib import Path

import click

from compiler.commands.ending import BAD_INPUT
from compiler.commands.files import file_argument, json_option, parse, say
from compiler.diagnostics import Finding
from compiler.verifier import findings


@click.command("verify")
@file_argument
@json_option
@click.pass_context
def command(ctx: click.Context, file: Path, *, as_json: bool) -> None:
    """List every violation of the language's rules.

    The exit code is 2 if there is one.  With --json: `file`, `valid`, and `findings` with `rule`, `where` (computation
    and instruction) and `message`.
    """
    found = findings(parse(file))
    if as_json:
        say({"file": str(file), "valid": not found, "findings": [_in_json(finding) for finding in found]})
    else:
        for finding in found:
            click.echo(finding.render())
    if found:
        ctx.exit(BAD_INPUT)
    if not as_json:
        click.echo(f"{file}: valid")


def _in_json(finding: Finding) -> dict[str, str]:
    return {"rule": finding.rule, "where": finding.where, "message": finding.message}
