"""Options of commands that judge engines: who is believed, how long and in how much memory, by which bounds.

Only `click` is loaded here: `xlabench run` starts its worker before anything heavy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from xlabench.errors import BenchError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


_LONGEST_S = 4 * 86_400
"""Five times this, as far as a wait for a busy machine may go, are still milliseconds that the system can count."""

_LEAST_MIB = 128
"""In less no worker starts: Python, NumPy, LLVM, on two cores.  Each core more has a thread of BLAS, and needs more."""

_MOST_MIB = (2**63 - 1) >> 20
"""Of more the system has no count, and a worker with such a limit would die at its start as if an engine crashed."""

_OF_FILES = ("module", "signature", "shapes", "fill_elided", "seed", "inputs", "twin")


def require_nothing_given(path: Path, options: Mapping[str, Any]) -> None:
    """Refuse options about what a bundle brings itself."""
    names = [name for name in _OF_FILES if options.get(name) is not None and options[name] is not False]
    given = [f"--{name.replace('_', '-')}" for name in names]
    if given:
        what = f"{', '.join(given)} cannot be given"
        raise BenchError(f"{path}: a bundle brings its program and its inputs: {what}; leave it out or give a file")


def number(_context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse NaN, which no comparison of a range does, and infinity, which would mean no bound at all.

    Args:
        _context: of the command.
        parameter: the option.
        value: what was given.
    """
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no bound; give a number", param=parameter)
    return value


signature_option = click.option(
    "--signature", metavar="NAME", help="Which one, of a SavedModel.  [default: serving_default]"
)
shapes_option = click.option(
    "--shapes",
    metavar="SIZES",
    help="Sizes that FILE leaves open and no inputs say: N for each, or NAME:NxN,...  [default: 2 for a batch, else 8]",
)


def timeout_option(default_s: float, of: str = "each engine") -> Decorator:
    """`--timeout`, in seconds."""
    return click.option(
        "--timeout",
        default=default_s,
        show_default=True,
        type=click.FloatRange(0, _LONGEST_S, min_open=True),
        callback=number,
        metavar="S",
        help=f"Seconds for {of}.",
    )


def memory_option(default_mib: int | None = None) -> Decorator:
    """`--memory-limit`, in MiB."""
    return click.option(
        "--memory-limit",
        default=default_mib,
        show_default="all there is" if default_mib is None else True,
        type=click.IntRange(_LEAST_MIB, _MOST_MIB),
        metavar="MIB",
        help="Memory for each engine.",
    )


def _use_custom_calls(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> None:
    if given:
        import_module("xlabench.custom_calls").use(given)


def custom_call_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--custom-call`, which is heard before any worker starts."""
    return click.option(
        "--custom-call",
        "custom_calls",
        multiple=True,
        expose_value=False,
        callback=_use_custom_calls,
        metavar="NAME=MODULE:FUNCTION",
        help="What custom calls to NAME mean: a Python function, NumPy arrays in and out; MODULE may be a .py file.  "
        "More than one may be given.",
    )(function)


def judging_options(timeout_s: float) -> Decorator:
    """The options of a command that runs programs on engines and holds the results against those of a reference."""
    options = (
        click.option(
            "--reference", default="reference", show_default=True, metavar="SPEC", help="The engine that is believed."
        ),
        timeout_option(timeout_s, "one engine on one program"),
        memory_option(),
        click.option(
            "--wide/--no-wide",
            default=True,
            show_default=True,
            help="Judge by error bounds of the reference where no bounds are given, or by tolerances only.",
        ),
        custom_call_option,
    )

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return add
