"""Kernels in loops that one thread runs alone, since meeting the others in every iteration costs more than it saves.

Threads meet in every iteration of a loop that they share: at the end of every phase.  Cores that share a cache do so in
0.1 to 0.2 us, others in 0.4 to 0.6, and virtual ones are moved from minute to minute.  A thread that has nothing to do
for long falls asleep, and to wake it takes much longer than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Protocol, TypeAlias

from compiler.analysis.trip_count import known_trip_count
from compiler.codegen.cost import shares_all
from compiler.codegen.kernel import CONTROL, callees, scheduled
from compiler.ir.module import Computation, Instruction

_MEETING_NS = 500.0
"""Nanoseconds for threads to meet once in a loop: 0.2 us where they share a cache, 1 us where not, measured; between
them."""
_MEETINGS = 2
"""In every iteration, besides one for each kernel that is shared."""
_WAKING_NS = 20_000.0
"""Nanoseconds that sleeping threads must save: waking one costs the caller 5 us, and it comes 40 to 110 us late
(11-25)."""
_PATIENCE_NS = 30_000.0
"""How long one thread may work alone before others sleep."""
_ITERATIONS = 100
"""The trip count that is assumed of a loop whose own does not follow from the program."""


class Work(Protocol):
    """A kernel as sharing sees it: its time, and whether it can be shared."""

    @property
    def cost_ns(self) -> float:
        """Estimated nanoseconds on one thread."""

    @property
    def parallel(self) -> bool:
        """Whether threads share it."""


Kernels: TypeAlias = Mapping[Instruction, Work]
"""By the instructions that they compute."""


def alone(entry: Computation, kernels: Kernels, threads: int) -> set[Instruction]:
    """The kernels of a program that are not shared, beside those that are not parallel.

    Args:
        entry: the program's entry computation.
        kernels: by instruction, with what they cost.
        threads: of a call, at most.
    """
    if shares_all():
        return set()
    found = set(_of_loops(entry, kernels, threads))
    shared = kernels.keys() - found
    return found if _is_worth_waking(entry, kernels, shared, threads) else set(kernels)


def shared_work(entry: Computation, kernels: Kernels) -> float:
    """The expected time on one thread of what a program's threads share, in ns."""
    return sum(_work(instruction, kernels, kernels.keys())[1] for instruction in entry.instructions)


def shares(instruction: Instruction, kernels: Kernels) -> bool:
    """Whether anything of what an instruction runs is worth several threads."""
    if instruction in kernels:
        return kernels[instruction].parallel
    return any(shares(inner, kernels) for callee in callees(instruction) for inner in callee.instructions)


def _is_worth_waking(entry: Computation, kernels: Kernels, shared: Set[Instruction], threads: int) -> bool:
    """Whether what threads share saves more than it takes to wake them where one has worked alone for long."""
    saved = by_one = 0.0
    sleeps = 0
    for instruction in entry.instructions:
        work, divisible = _work(instruction, kernels, shared)
        saved += _saved(divisible, threads)
        if divisible:
            sleeps += by_one > _PATIENCE_NS
        by_one = 0.0 if divisible else by_one + work
    sleeps += by_one > _PATIENCE_NS
    return saved >= sleeps * _WAKING_NS


def _work(instruction: Instruction, kernels: Kernels, shared: Set[Instruction]) -> tuple[float, float]:
    """The expected time of an instruction with all that it runs on one thread, and of what is shared of that."""
    if instruction in kernels:
        kernel = kernels[instruction]
        return kernel.cost_ns, kernel.cost_ns if kernel.parallel and instruction in shared else 0.0
    works = [_work(inner, kernels, shared) for callee in callees(instruction) for inner in callee.instructions]
    trip_count = (known_trip_count(instruction) or _ITERATIONS) if instruction.opcode == "while" else 1
    return trip_count * sum(pair[0] for pair in works), trip_count * sum(pair[1] for pair in works)


def _saved(work: float, threads: int) -> float:
    return work * (1 - 1 / threads)


def _of_loops(computation: Computation, kernels: Kernels, threads: int) -> Iterator[Instruction]:
    """The kernels of loops that threads had better not share, in a computation and in those that it runs."""
    for instruction in computation.instructions:
        if instruction.opcode not in CONTROL:
            continue
        for callee in instruction.called_computations():
            if instruction.opcode == "while" and not _is_worth_sharing(instruction, kernels, threads):
                yield from (inner for inner in scheduled(callee) if inner in kernels)
            else:
                yield from _of_loops(callee, kernels, threads)


def _is_worth_sharing(loop: Instruction, kernels: Kernels, threads: int) -> bool:
    parallel: list[Work] = []
    pending = list(loop.called_computations())
    while pending:
        for instruction in pending.pop().instructions:
            if instruction.opcode == "while":
                if _is_worth_sharing(instruction, kernels, threads):
                    return True
            elif instruction.opcode in CONTROL:
                pending += instruction.called_computations()
            elif instruction in kernels and kernels[instruction].parallel:
                parallel.append(kernels[instruction])
    saved = _saved(sum(kernel.cost_ns for kernel in parallel), threads)
    return saved > _MEETING_NS * (_MEETINGS + len(parallel))
