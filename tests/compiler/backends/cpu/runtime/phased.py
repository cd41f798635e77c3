"""Programs of phases, written by hand, as the CPU back end writes them."""

from __future__ import annotations

from collections.abc import Callable

from compiler.backends.cpu.runtime.threads import emit_share
from compiler.codegen.llvm_ir import Builder, Module, Value, integer

BASES = [("ptr", "parameters"), ("ptr", "results"), ("ptr", "arena")]
Phase = Callable[[Builder, list[Value]], None]
"""Emits what a chunk does; is given the phase's parameters: parameters, results, arena, context, chunk, chunks."""


def emit_phase(module: Module, name: str, phase: Phase) -> str:
    """The function of a phase; gives its name."""
    parameters = [*BASES, ("ptr", "context"), ("i64", "chunk"), ("i64", "chunks")]
    function = module.function(name, "void", parameters, linkage="internal")
    build = Builder(function)
    phase(build, function.arguments)
    build.ret()
    return function.name


def emit_program(
    module: Module, name: str, phases: list[Phase], chunks: int, *, most: int = 0, times: int = 1, work: int = 0
) -> None:
    """A program that runs phases, each of so many chunks (at most), in turn, and all of them again and again."""
    names = [emit_phase(module, f"{name}.{number}", phase) for number, phase in enumerate(phases)]
    function = module.function(name, "void", [*BASES, ("ptr", "team")])
    *given, team = function.arguments
    build, share = Builder(function), emit_share(module)
    null = Value("ptr", "null")
    with build.loop(integer(0), integer(times)):
        for phase in names:
            code = Value("ptr", f"@{phase}")
            build.call(share, "void", [team, code, *given, null, *map(integer, (chunks, most or chunks, work))])
    build.ret()
