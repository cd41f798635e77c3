"""Common subexpression elimination: of two instructions that compute the same, the later one goes.

Same means the same opcode, shape, operands and attributes, notes such as metadata apart; called computations count as
the same when their bodies are, instruction by instruction.  Random numbers and effects are never merged.

Most instructions are the only one of their opcode on their operands: no more is asked about these, nor about bodies as
long as no two calls might be the same.
"""

from __future__ import annotations

from compiler.analysis.effects import control_predecessors, is_repeatable
from compiler.ir.alike import Numbering
from compiler.ir.control import is_ordered
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    numbering, unnumbered = Numbering(), list[Computation]()
    for computation in module.computations:
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
                if one.is_call:
                    _number(unnumbered, numbering)
                first = known.setdefault((numbering.operation(one), operands), one)
                if first is not one and fuel.replace("merge with equal", one, first):
                    dead.append(one)
        if dead:
            computation.remove(dead)
            changed = True
        unnumbered.append(computation)
    return changed


def _number(bodies: list[Computation], numbering: Numbering) -> None:
    """Number bodies, which stand behind those that they call: so none is numbered within another, however deep."""
    for body in bodies:
        numbering.body(body)
    bodies.clear()


def _mergeable(instruction: Instruction) -> bool:
    ordered = is_ordered(instruction)
    return instruction.opcode != "parameter" and not ordered and is_repeatable(instruction)
