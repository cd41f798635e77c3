"""Common subexpression elimination: of two instructions that compute the same, the later one goes.

Same means the same opcode, shape, operands and attributes, notes such as metadata apart; called computations count as
the same when their bodies are, instruction by instruction.  Random numbers and effects are never merged.
"""

from __future__ import annotations

from compiler.analysis.effects import control_predecessors, is_repeatable
from compiler.ir.alike import Numbering
from compiler.ir.control import is_ordered
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    numbering = Numbering()
    for computation in module.computations:
        if computation is not module.entry:
            numbering.body(computation)  # as it is before anything in it is merged
        known: dict[tuple[int, tuple[Instruction, ...]], Instruction] = {}
        awaited = control_predecessors(computation)
        dead: list[Instruction] = []
        for instruction in computation.instructions:
            if instruction in awaited or not _mergeable(instruction):
                continue
            key = numbering.operation(instruction), instruction.operands
            first = known.setdefault(key, instruction)
            if first is not instruction and fuel.replace("merge with equal", instruction, first):
                dead.append(instruction)
        if dead:
            computation.remove(dead)
            changed = True
    return changed


def _mergeable(instruction: Instruction) -> bool:
    ordered = is_ordered(instruction)
    return instruction.opcode != "parameter" and not ordered and is_repeatable(instruction)
