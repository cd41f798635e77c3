"""Common subexpression elimination: of two instructions that compute the same, the later one goes.

Same means the same opcode, shape, operands and attributes, notes such as metadata apart; called computations count as
the same when their bodies are, instruction by instruction.  Random numbers and effects are never merged.

Most instructions are the only one of their opcode on their operands: no more is asked about these.
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
        earliest: dict[tuple[str, tuple[Instruction, ...]], Instruction] = {}
        known: dict[tuple[int, tuple[Instruction, ...]], Instruction] = {}
        awaited = control_predecessors(computation)
        dead: list[Instruction] = []
        for instruction in computation.instructions:
            operands = instruction.operands
            other = earliest.setdefault((instruction.opcode, operands), instruction)
            if other is instruction:
                continue
            for one in (other, instruction):
                if one in awaited or not _mergeable(one):
                    continue
                first = known.setdefault((numbering.operation(one), operands), one)
                if first is not one and fuel.replace("merge with equal", one, first):
                    dead.append(one)
        if dead:
            computation.remove(dead)
            changed = True
    return changed


def _mergeable(instruction: Instruction) -> bool:
    ordered = is_ordered(instruction)
    return instruction.opcode != "parameter" and not ordered and is_repeatable(instruction)
