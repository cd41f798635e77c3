"""All that is decided about a program, before any of it is emitted: a plan for each kernel, memory, what threads share.

A kernel whose result was given the memory of an operand is decided about knowing that.  Equal kernels share a choice,
and with it their functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from compiler.analysis.buffers import Assignment, check_unique_callers, lay_out
from compiler.analysis.trip_count import counted_trip_count
from compiler.backends.cpu.fine_chunks import fitting
from compiler.backends.cpu.kernels.strategy import Functions
from compiler.backends.cpu.kernels.table import KINDS, decide
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.sharing import alone
from compiler.backends.decisions import Decided, Decisions, details_of, others_of, overwritten_of, placed
from compiler.backends.strategy import Choice
from compiler.codegen import alike
from compiler.codegen.kernel import Kernel, callees, kernel_of, scheduled
from compiler.ir.alike import Numbering
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Refusal, path_of


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """The decisions about a program: its kernels, their strategies, its memory.

    Attributes:
        kernels: by the instructions that they compute, in the order of the schedule.
        choices: what each of them gets.
        assignment: where arrays lie; workspaces have no place yet.
        alone: those that one thread runs, although threads might share them.
        threads: how many threads it is worth running on.
    """

    kernels: dict[Instruction, Kernel]
    choices: dict[Instruction, Choice[Functions]]
    assignment: Assignment
    alone: set[Instruction]
    threads: int

    def shares(self, instruction: Instruction) -> bool:
        """Whether threads share a kernel."""
        return self.choices[instruction].plan.parallel and instruction not in self.alone


def plan(module: Module, machine: Machine, threads: int) -> ProgramPlan:
    """Decide about a scheduled module, for up to that many threads of a machine."""
    check_unique_callers(module)
    unasked = {
        loop.attributes["condition"].root for loop in _loops(module.entry) if counted_trip_count(loop) is not None
    }
    kernels = {i: kernel_of(i) for i in scheduled(module.entry) if i not in unasked}
    assignment = lay_out(module, partial(_overwritable, kernels))
    for instruction, pairs in assignment.reused.items():
        kernel = kernels[instruction]
        in_place = tuple((number, kernel.inputs.index(operand)) for number, operand in pairs)
        kernels[instruction] = replace(kernel, in_place=in_place)
    choices = fitting(_choices(kernels, machine, threads), assignment, threads)
    plans = {i: choice.plan for i, choice in choices.items()}
    by_one = alone(module.entry, plans, threads)
    shared = any(plan.parallel and i not in by_one for i, plan in plans.items())
    return ProgramPlan(kernels, choices, assignment, by_one, threads if shared else 1)


def _choices(
    kernels: Mapping[Instruction, Kernel], machine: Machine, threads: int
) -> dict[Instruction, Choice[Functions]]:
    """What each kernel gets; of equal ones, as those of a model's equal layers are, the first is decided about."""
    numbering, known = Numbering(), dict[int, Choice[Functions]]()
    choices = {}
    for instruction, kernel in kernels.items():
        number = alike.number_of(kernel, numbering)
        found = None if number is None else known.get(number)
        choices[instruction] = chosen = found or decide(kernel, machine, threads)
        if number is not None:
            known[number] = chosen
    return choices


def _loops(computation: Computation) -> Iterator[Instruction]:
    """The loops of a computation and of those that its control flow runs."""
    for instruction in computation.instructions:
        yield from (instruction,) if instruction.opcode == "while" else ()
        for callee in callees(instruction):
            yield from _loops(callee)


def _overwritable(kernels: Mapping[Instruction, Kernel], instruction: Instruction) -> list[tuple[int, Instruction]]:
    """Results of an instruction and the operands in whose memory they may be written."""
    kernel = kernels.get(instruction)
    return [(number, kernel.inputs[n]) for number, n in KINDS[kernel.kind].overwrites(kernel)] if kernel else []


def decisions(found: ProgramPlan, module: Module, machine: str, refusals: Sequence[Refusal] | None) -> Decisions:
    """The decisions about a module, to be read.

    Args:
        found: the decisions.
        module: what they are about.
        machine: what they are for, in words.
        refusals: what fusion considered and did not do; where nobody knows, no reasons are asked for at all.
    """
    kernels = []
    for instruction, kernel in found.kernels.items():
        choice = found.choices[instruction]
        decided = Decided(
            instruction=path_of(instruction),
            kind=kernel.kind.value,
            strategy=choice.path,
            others=() if refusals is None else others_of(choice),
            cost_ns=choice.plan.cost_ns,
            on="on one thread",
            workspace_bytes=choice.plan.workspace_bytes,
            shared=_shared(found, instruction),
            overwritten=overwritten_of(kernel),
            details=details_of(choice),
        )
        kernels.append(decided)
    return Decisions("cpu", machine, tuple(placed(module, found.kernels, refusals or ())), tuple(kernels))


def _shared(found: ProgramPlan, instruction: Instruction) -> str:
    chosen = found.choices[instruction].plan
    if not chosen.parallel:
        return "one thread, which takes no longer than to meet others"
    if instruction in found.alone:
        return "one thread, which takes less than it would to wake others and meet them"
    if found.threads == 1:
        return "one thread, there is no other"
    most = found.threads * chosen.chunks_per_thread
    finely = f", in {most} chunks where they are held up" if most > found.threads else ""
    return f"shared by {found.threads} threads{finely}"
