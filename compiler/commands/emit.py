"""`python -m compiler emit`: what a back end makes of a program, in one form, or a drawing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

import compiler
from compiler.backends import BACKENDS
from compiler.commands.files import file_argument, json_option, output_option, parse, say, write
from compiler.commands.options import backend_options, say_times, settled, times_of
from compiler.diagnostics import InputError
from compiler.drawing import PICTURES
from compiler.ir.module import Module
from compiler.proto import hlo_proto

FORMS = {
    "hlo": "after_optimizations.txt",
    "buffers": "buffer-assignment.txt",
    "llvm": "ir-no-opt.ll",
    "llvm-opt": "ir-with-opt.ll",
    "asm": "s",
    "object": "o",
    "ptx": "ptx",
    "steps": "thunk_sequence.txt",
}
"""What can be emitted: the end of the artifact's name by the word for it."""

AS_READ: Mapping[str, Callable[[Module], str | bytes]] = {**PICTURES, "proto": hlo_proto}
"""What is emitted of a program as it is read, before any pass."""

MADE_BY = {"asm": ("cpu",), "object": ("cpu",), "ptx": ("nvptx",), "steps": ("nvptx",)}
"""The back ends that make a form which not all make."""


DECISIONS = "decisions"
"""What is emitted without emitting anything."""


@click.command("emit", epilog=f"Forms: {', '.join([*FORMS, DECISIONS, *AS_READ])}.")
@click.argument("form", type=click.Choice([*FORMS, DECISIONS, *AS_READ]))
@file_argument
@output_option
@backend_options
@click.option("--backend", type=click.Choice(list(BACKENDS)), default="cpu", show_default=True, help="The back end.")
@click.option("--target", "machine", default="", help="decisions: for another machine than this, x86_64 or aarch64.")
@click.option("--cpu", default="", help="decisions: the CPU of that machine, by LLVM's name.")
@json_option
def command(form: str, file: Path, output: Path | None, *, as_json: bool, **options: Any) -> None:
    """Print what a back end makes of FILE, in one FORM.

    hlo is the program that the back end was given, buffers its memory, llvm and llvm-opt the LLVM IR before and after
    LLVM's passes, asm and object the CPU's code, ptx and steps the GPU's code and what the host does.

    decisions is why: for each instruction the kernel that computes it, or why it is in none of those that use it; for
    each kernel its kind and strategy, why no other one, what it is expected to cost, and its plan.

    dot, html and proto are FILE as it is read, before any pass: drawings for Graphviz and for a browser, and XLA's
    HloProto, in its binary form (.hlo.pb).

    With --json: `form`, and `text` (of object and proto `base64`), or `output`; but for those also `backend`, and with
    --time
    `times_ms`; of decisions `machine`, `digest`, `instructions` and `kernels` in place of `text`.
    """
    facts: dict[str, Any] = {"form": form}
    if form in AS_READ:
        write(output, AS_READ[form](parse(file)), facts if as_json else None)
        return
    backend, timed, machine, cpu = (options.pop(name) for name in ("backend", "timed", "machine", "cpu"))
    if cpu and not machine:
        raise InputError("--cpu names one of a machine's: give --target too")
    if form == DECISIONS:
        decisions = compiler.decide(parse(file), backend, settled(options), machine=machine, cpu=cpu)
        if as_json and output is None:
            say({**facts, **decisions.to_json()})
        else:
            write(output, decisions.to_text(), {**facts, "backend": backend} if as_json else None)
        return
    if machine:
        raise InputError(f"--target is for decisions; {form} is made for this machine")
    executable = compiler.compile(parse(file), backend=backend, options=settled(options))
    facts["backend"] = backend
    if timed:
        facts["times_ms"] = times_of(executable)
        if not as_json:
            say_times(facts["times_ms"])
    artifacts = executable.artifacts
    named = {word: n for word, end in FORMS.items() for n in artifacts if n == end or n.endswith(f"_{end}")}
    if form not in named:
        others = "".join(f"; --backend {other} makes {form}" for other in MADE_BY.get(form, ()) if other != backend)
        raise InputError(f"back end {backend!r} makes no {form}{others}; it makes: {', '.join(named)}")
    write(output, artifacts[named[form]], facts if as_json else None)
