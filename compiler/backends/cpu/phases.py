"""Phases: the stretches of a program that several threads run together, each in chunks.

A phase is a function of its own, which is run once for each chunk, by whoever takes it (`runtime/threads.ll`).  It
calls the kernels that lie between two points where one must have finished before the other begins, each for the chunk's
share of its work; what is not shared among them is chunk 0's.  Nothing in a phase depends on who runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeAlias

from compiler.analysis.storage import Buffer, Storage
from compiler.backends.cpu.hazards import Hazards
from compiler.backends.cpu.kernels.emitted import THREAD
from compiler.backends.cpu.pointers import BASES, Pointers
from compiler.backends.cpu.runtime.threads import emit_share
from compiler.codegen.llvm_ir import Builder, Value, integer

_PARAMETERS = [*BASES, ("ptr", "context"), ("i64", "thread"), ("i64", "threads")]

Emit: TypeAlias = Callable[[Pointers], None]


@dataclass(frozen=True, slots=True)
class Step:
    """Something that a program does with memory.

    Attributes:
        emit: writes it, given the addresses where it is written.
        reads: the buffers that it reads.
        writes: those that it writes.
        shared: whether it is done in chunks.
        work: how long it takes on one thread, about, in ns.
        chunks_per_thread: into how many chunks each thread's share may be cut, where threads are held up.
    """

    emit: Emit
    reads: Sequence[Buffer]
    writes: Sequence[Buffer]
    shared: bool
    work: float = 0.0
    chunks_per_thread: int = 1


@dataclass(slots=True)
class Phases:
    """Collects the steps of a phase until one must wait for another, then emits it.

    Attributes:
        caller: addresses in the function that walks the program; it has a parameter `%team`.
        chunks: how many chunks a phase has, where threads are not held up; 1 where nothing is shared.
        context: memory in that function's frame for as many addresses as a phase may have to be told.
        cold: whether each phase is run once a call.
    """

    caller: Pointers
    chunks: int
    context: Value
    cold: bool = False
    _steps: list[Step] = field(default_factory=list)
    _hazards: Hazards = field(default_factory=Hazards)

    def add(self, step: Step) -> None:
        """Do something after what must be done before it; at once, if only the caller does it.

        What is about the caller's frame only it can do: a phase's first chunk may be another thread's.
        """
        is_callers = any(buffer.storage is Storage.FRAME for buffer in (*step.reads, *step.writes))
        if is_callers or self._hazards.conflict(step.reads, step.writes, shared=step.shared):
            self.end()
        if not self._steps and not step.shared:
            step.emit(self.caller)
            return
        self._steps.append(step)
        self._hazards.note(step.reads, step.writes, shared=step.shared)

    def end(self) -> None:
        """Let all that was added be done."""
        if not self._steps:
            return
        told = self._told()
        phase = self._function(told)
        build = self.caller.builder
        for number, buffer in enumerate(told):
            build.store(self.caller.known[buffer], build.gep("ptr", self.context, integer(number)))
        shared = [step for step in self._steps if step.shared]
        work = round(sum(step.work for step in shared))
        most = self.chunks * min((step.chunks_per_thread for step in shared), default=1)
        bases = [Value("ptr", f"%{name}") for _, name in BASES]
        arguments = [Value("ptr", "%team"), Value("ptr", f"@{phase}"), *bases, self.context]
        build.call(emit_share(build.module), "void", [*arguments, *map(integer, (self.chunks, most, work))])
        self._steps, self._hazards = [], Hazards()

    def _told(self) -> list[Buffer]:
        """The buffers whose addresses the phase is told, since they change roles."""
        touched = (buffer for step in self._steps for buffer in (*step.reads, *step.writes))
        told = list(dict.fromkeys(buffer for buffer in touched if buffer in self.caller.known))
        assert all(buffer.storage is not Storage.FRAME for buffer in told), "nobody else sees the caller's frame"
        return told

    def _function(self, told: Sequence[Buffer]) -> str:
        """Emit the phase's function; returns its name."""
        walks = self.caller.builder.function
        build = Builder(
            walks.module.function(
                f"{walks.name}.phase", "void", _PARAMETERS, linkage="internal", attributes="noinline nounwind"
            )
        )
        build.function.cold = self.cold
        slots = [build.gep("ptr", Value("ptr", "%context"), integer(number)) for number in range(len(told))]
        known = {buffer: build.load("ptr", slot) for buffer, slot in zip(told, slots, strict=True)}
        here = replace(self.caller, builder=build, known=known)
        for is_shared, steps in groupby(self._steps, lambda step: step.shared):
            with nullcontext() if is_shared else build.when(build.compare("eq", THREAD, integer(0)), "first"):
                for step in steps:
                    step.emit(here)
        build.ret()
        return build.function.name
