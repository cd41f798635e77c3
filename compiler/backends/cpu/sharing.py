"""Which kernels one thread runs alone although each by itself would be worth several.

Threads meet in every turn of a loop that they share: at the end of every phase.  Cores that share a cache do so in 0.1
to 0.2 us, others in 0.4 to 0.6, and virtual ones are moved from minute to minute.  A thread that has nothing to do for
long falls asleep, and to wake it takes much longer than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import TypeAlias

from compiler.analysis.turns import turns_of
from compiler.backends.cpu.kernels.emitted import EmittedKernel
from compiler.codegen.kernel import CONTROL, callees, scheduled
from compiler.ir.module import Computation, Instruction

_MEETING_NS = 500.0
_MEETINGS = 2
"""In every turn, besides one for each kernel that is shared."""
_WAKING_NS = 20_000.0
_PATIENCE_NS = 30_000.0
"""How long one thread may work alone before others sleep."""
_TURNS = 100
"""The trip count that is assumed of a loop whose own does not follow from the program."""

Emitted: TypeAlias = Mapping[Instruction, EmittedKernel]


def alone(entry: Computation, emitted: Emitted, threads: int) -> set[Instruction]:
    """The kernels of a program that are not shared, beside those that are not parallel."""
    found = set(_of_loops(entry, emitted, threads))
    shared = emitted.keys() - found
    return found if _is_worth_waking(entry, emitted, shared, threads) else set(emitted)


def shared_work(entry: Computation, emitted: Emitted) -> float:
    """The expected time on one thread of what a program's threads share, in ns."""
    return sum(_work(instruction, emitted, emitted.keys())[1] for instruction in entry.instructions)


def shares(instruction: Instruction, emitted: Emitted) -> bool:
    """Whether anything of what an instruction runs is worth several threads."""
    if instruction in emitted:
        return emitted[instruction].parallel
    return any(shares(inner, emitted) for callee in callees(instruction) for inner in callee.instructions)


def _is_worth_waking(entry: Computation, emitted: Emitted, shared: Set[Instruction], threads: int) -> bool:
    """Whether what threads share saves more than it takes to wake them where one has worked alone for long."""
    saved = by_one = 0.0
    sleeps = 0
    for instruction in entry.instructions:
        work, part = _work(instruction, emitted, shared)
        saved += _saved(part, threads)
        if part:
            sleeps += by_one > _PATIENCE_NS
        by_one = 0.0 if part else by_one + work
    sleeps += by_one > _PATIENCE_NS
    return saved >= sleeps * _WAKING_NS


def _work(instruction: Instruction, emitted: Emitted, shared: Set[Instruction]) -> tuple[float, float]:
    """The expected time of an instruction with all that it runs on one thread, and of what is shared of that."""
    if instruction in emitted:
        kernel = emitted[instruction]
        return kernel.work, kernel.work if kernel.parallel and instruction in shared else 0.0
    parts = [_work(inner, emitted, shared) for callee in callees(instruction) for inner in callee.instructions]
    turns = (turns_of(instruction) or _TURNS) if instruction.opcode == "while" else 1
    return turns * sum(part[0] for part in parts), turns * sum(part[1] for part in parts)


def _saved(work: float, threads: int) -> float:
    return work * (1 - 1 / threads)


def _of_loops(computation: Computation, emitted: Emitted, threads: int) -> Iterator[Instruction]:
    """The kernels of loops that threads had better not share, in a computation and in those that it runs."""
    for instruction in computation.instructions:
        if instruction.opcode not in CONTROL:
            continue
        for callee in instruction.called_computations():
            if instruction.opcode == "while" and not _is_worth_sharing(instruction, emitted, threads):
                yield from (inner for inner in scheduled(callee) if inner in emitted)
            else:
                yield from _of_loops(callee, emitted, threads)


def _is_worth_sharing(loop: Instruction, emitted: Emitted, threads: int) -> bool:
    kernels: list[EmittedKernel] = []
    pending = list(loop.called_computations())
    while pending:
        for instruction in pending.pop().instructions:
            if instruction.opcode == "while":
                if _is_worth_sharing(instruction, emitted, threads):
                    return True
            elif instruction.opcode in CONTROL:
                pending += instruction.called_computations()
            elif instruction in emitted and emitted[instruction].parallel:
                kernels.append(emitted[instruction])
    saved = _saved(sum(kernel.work for kernel in kernels), threads)
    return saved > _MEETING_NS * (_MEETINGS + len(kernels))
