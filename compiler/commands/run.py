"""`python -m compiler run`: the results of a program, on the interpreter or a back end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import compiler
from compiler import inputs
from compiler.backends import BACKENDS
from compiler.commands.files import file_argument, json_option, parse, say, unwritable
from compiler.commands.options import backend_options, say_times, settled, times_of
from compiler.frontends.exported import unused_said
from compiler.ir.literal import Literal
from compiler.ir.module import Module
from compiler.ir.shape import without_layout
from compiler.plan import result_shapes
from compiler.text.constants import write_literal

_REFERENCE = "reference"
_LONGEST_RESULT = 256
"""Elements up to which a result is printed whole."""
_SHOWN = 8
"""Elements of a longer one that are printed."""


@click.command("run")
@file_argument
@backend_options
@click.option(
    "--backend",
    type=click.Choice([_REFERENCE, *BACKENDS]),
    default=_REFERENCE,
    show_default=True,
    help="What computes the results; `reference` is the interpreter.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the inputs.")
@click.option("--inputs", "given", type=click.Path(path_type=Path), help="Take the inputs from an .npz file.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Keep the results in this .npz file.")
@click.option(
    "--custom-call",
    "custom_calls",
    multiple=True,
    metavar="NAME=MODULE:FUNCTION",
    help="What custom calls to NAME mean: a Python function, NumPy arrays in and out; MODULE may be a .py file.",
)
@json_option
def command(file: Path, output: Path | None, *, as_json: bool, **options: Any) -> None:
    """Run FILE and print its results as HLO literals.

    Without --inputs, floats are drawn from a normal distribution, integers are small, and the seed decides.

    With --json: `backend`, and `results` with `shape`, `elements` (how many) and `literal`, or of a long one `first`;
    with --time also `times_ms`.
    """
    backend, seed, given = (options.pop(name) for name in ("backend", "seed", "given"))
    timed = options.pop("timed")
    compiler.load_custom_calls(options.pop("custom_calls"))
    named = None if given is None else inputs.read_npz(given)
    module = parse(file, None if named is None else list(named.values()))
    compiler.verify(module)
    arrays = inputs.draw(module, seed) if named is None or given is None else inputs.assigned(named, module, given)
    if given is not None and (said := unused_said(module.attributes)):
        click.echo(f"compiler: {file}{said}", err=True)
    filled = inputs.settle_elided(module, options["fill_elided"])
    if filled:
        click.echo(f"compiler: {filled} elided constants filled from seed {options['fill_elided']}", err=True)
    times = None
    if backend == _REFERENCE:
        results = compiler.interpret(module, *arrays)
    else:
        executable = compiler.compile(module, backend=backend, options=settled(options))
        if timed:
            times = times_of(executable)
            if not as_json:
                say_times(times)
        results = executable(*arrays)
    if output is not None:
        _save(output, results)
    shown = list(_shown(module, results))
    if as_json:
        say({"backend": backend, "results": shown, **({"times_ms": times} if times else {})})
        return
    for result in shown:
        click.echo(_line(result))


def _save(output: Path, results: list[NDArray[Any]]) -> None:
    named: dict[str, Any] = {f"result{number}": array for number, array in enumerate(results)}
    try:
        with output.open("wb") as file:
            np.savez(file, **named)
    except OSError as error:
        raise unwritable(output, error) from error


def _shown(module: Module, results: list[NDArray[Any]]) -> Iterator[dict[str, Any]]:
    """Each result with its shape; of a long one only the first elements."""
    for shape, array in zip(result_shapes(module), results, strict=True):
        bare = without_layout(shape)
        result: dict[str, Any] = {"shape": str(bare), "elements": array.size}
        if array.size <= _LONGEST_RESULT:
            yield {**result, "literal": write_literal(Literal(bare, array))}
        else:
            yield {**result, "first": [str(element) for element in array.reshape(-1)[:_SHOWN].tolist()]}


def _line(result: dict[str, Any]) -> str:
    if "literal" in result:
        return f"{result['shape']} {result['literal']}"
    first = ", ".join(result["first"])
    return f"{result['shape']} {{{first}, ...}} ({result['elements']} elements: --output keeps them)"
