"""Control dependencies, which order instructions that no value ties together, where instructions come and go."""

from __future__ import annotations

from compiler.ir.module import Computation, Instruction

PREDECESSORS = "control-predecessors"


def is_ordered(instruction: Instruction) -> bool:
    """Whether an instruction waits for others than its operands."""
    return bool(predecessors(instruction))


def predecessors(instruction: Instruction) -> tuple[Instruction, ...]:
    """The instructions that one waits for beside its operands."""
    found: tuple[Instruction, ...] = instruction.attributes.get(PREDECESSORS, ())
    return found


def stand_in(computation: Computation, old: Instruction, new: Instruction) -> None:
    """Whoever waited for the old instruction waits for the new one, and for what the old one waited for.

    Args:
        computation: whose instructions may wait for the old one.
        old: what is replaced.
        new: what takes its place.
    """
    waited = predecessors(old)
    for instruction in computation.instructions:
        if old in predecessors(instruction):
            rest = [p for p in predecessors(instruction) if p is not old]
            merged = dict.fromkeys(p for p in (*rest, new, *waited) if p is not instruction)
            instruction.attributes[PREDECESSORS] = tuple(merged)
