"""The options of a compilation, as the command line, XLA_FLAGS and the defaults give them, and the times it took."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

import compiler
from compiler.cache import VARIABLE
from compiler.options import CompileOptions


def compile_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that all commands which run passes take; they are named as the fields of `CompileOptions`."""
    fuel = click.option("--fuel", type=click.IntRange(0), metavar="N", help="Do only the first N rewrites.")
    disable = click.option("--disable-passes", default="", metavar="A,B", help="Skip these passes.")
    return fuel(disable(command))


def backend_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of commands that compile for a back end."""
    threads = click.option(
        "--threads", type=click.IntRange(0, 1024), default=0, help="Threads of a call; 0: all processors."
    )
    opt = click.option("--opt", type=click.IntRange(0, 3), default=3, show_default=True, help="LLVM's level.")
    device = click.option(
        "--device",
        type=click.Choice(["sim", "ptxas", "gpu"]),
        default="sim",
        show_default=True,
        help="nvptx: the simulator, NVIDIA's assembler alone, or a GPU.",
    )
    arch = click.option("--arch", default="", help="nvptx: such as sm_80 or sm_90a; by default the GPU's, or sm_90.")
    fill = click.option("--fill-elided", type=click.IntRange(0), metavar="SEED", help="Make up constants left out.")
    cache = click.option(
        "--cache", default="", metavar="DIR", help=f"Keep compiled programs there for the next time; also {VARIABLE}."
    )
    clock = click.option(
        "--time", "timed", is_flag=True, help="Say how long compiling took, on standard error or in the JSON object."
    )
    return threads(opt(device(arch(fill(cache(clock(compile_options(command))))))))


def settled(options: dict[str, Any], **more: Any) -> CompileOptions:
    """What the command line says, else XLA_FLAGS, else the default; in `CompileOptions` no device means a GPU."""
    asked = compiler.environment_options(os.environ)
    for note in asked.notes:
        click.echo(f"compiler: {note}", err=True)
    disabled = (*asked.options.disable_passes, *names(options.pop("disable_passes")))
    if "device" in options and options["device"] == "gpu":
        options["device"] = ""
    source = click.get_current_context().get_parameter_source
    for name in ("opt", "threads", "cache"):
        if name in options and source(name) is ParameterSource.DEFAULT:
            options[name] = getattr(asked.options, name)
    return replace(asked.options, **options, **more, disable_passes=tuple(dict.fromkeys(disabled)))


def names(text: str) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def times_of(executable: compiler.Executable) -> dict[str, float]:
    """Each step of a compilation with its milliseconds; LLVM's are `llvm...` and `link`, the others Python's."""
    spent: dict[str, float] = {}
    for phase in executable.phases:
        spent[phase.name] = spent.get(phase.name, 0.0) + phase.duration_ns / 1e6
    total = sum(spent.values())
    native = sum(ms for name, ms in spent.items() if name.startswith(("llvm", "link")))
    return {**spent, "Python": total - native, "LLVM": native, "total": total}


def say_times(times: dict[str, float]) -> None:
    """Each step with its share of the whole, on standard error."""
    for name, ms in times.items():
        click.echo(f"compiler: {name:12} {ms:9.2f} ms {100 * ms / max(times['total'], 1e-9):5.1f}%", err=True)
