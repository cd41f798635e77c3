"""`python -m compiler print`: a program read and written back."""

from __future__ import annotations

from pathlib import Path

import click

import compiler
from compiler.commands.files import file_argument, json_option, output_option, parse, write


@click.command("print")
@file_argument
@output_option
@json_option
def command(file: Path, output: Path | None, *, as_json: bool) -> None:
    """Read FILE and write it back in XLA's form.

    Constants are written in full, names and attributes are kept.  With --json: `text`, or `output`.
    """
    write(output, compiler.to_text(parse(file)), {} if as_json else None)
