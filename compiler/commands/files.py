"""What commands read and write: a program from a file or standard input, what was made of it, and as JSON if asked."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import compiler
from compiler.diagnostics import InputError
from compiler.inputs import Array
from compiler.ir.module import Module

file_argument = click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write here, not to standard output, which is `-`."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, an error as well.")


def parse(file: Path, arrays: Sequence[Array] | None = None) -> Module:
    """The program of a file, or of standard input, in any form; `arrays` are what it is run on, if that is known.

    Raises:
        CompilerError: it cannot be read, or is no program.
    """
    is_input = str(file) == "-"
    raw = sys.stdin.buffer.read() if is_input else compiler.frontends.read_program(file)
    shapes = None if arrays is None else [array.shape for array in arrays]
    return compiler.parse(raw, filename="<stdin>" if is_input else str(file), shapes=shapes)


def write(output: Path | None, content: str | bytes, facts: Mapping[str, Any] | None = None) -> None:
    """Write what a command has made to a file or standard output.

    With `facts` standard output gets an object instead: the facts, and the content as `text` (bytes, where they are no
    text, as `base64`) or the file that it was written to as `output`.

    Raises:
        InputError: the file cannot be written.
    """
    raw = content.encode() if isinstance(content, str) else content
    if output is not None and str(output) != "-":
        try:
            output.write_bytes(raw)
        except OSError as error:
            raise unwritable(output, error) from error
        if facts is not None:
            say({**facts, "output": str(output)})
    elif facts is not None:
        say({**facts, **_in_json(raw)})
    else:
        click.echo(raw, nl=False)


def _in_json(raw: bytes) -> dict[str, str]:
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def unwritable(output: Path, error: OSError) -> InputError:
    """The error of a file that cannot be written."""
    return InputError(f"{output}: cannot be written: {error.strerror or error}; give another file")


def say(facts: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(facts, allow_nan=False))
