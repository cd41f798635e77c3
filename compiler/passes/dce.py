"""Dead code elimination: instructions that nothing uses, and computations that nothing calls.

Instructions with effects (in their op's record), and parameters, stay.
"""

from __future__ import annotations

from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ops import OPS


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in module.computations:
        changed |= _sweep(computation, fuel)
    before = len(module.computations)
    module.sort_computations()
    return changed or len(module.computations) != before


def _sweep(computation: Computation, fuel: Fuel) -> bool:
    dead: set[Instruction] = set()
    needed_by_control = {p for i in computation.instructions for p in i.attributes.get("control-predecessors", ())}
    for instruction in reversed(computation.instructions):
        if instruction is computation.root or instruction in needed_by_control or has_effect(instruction):
            continue
        if all(user in dead for user in instruction.users) and fuel.spend("remove unused", instruction):
            dead.add(instruction)
    computation.remove(dead)
    return bool(dead)


def has_effect(instruction: Instruction) -> bool:
    """Whether an instruction must stay although nothing uses it, or must not be done twice."""
    if instruction.opcode == "parameter" or instruction.attributes.get("custom_call_has_side_effect"):
        return True
    op = OPS.get(instruction.opcode)
    if op is None or op.side_effect:
        return True
    return any(
        has_effect(i) for c in instruction.called_computations() for i in c.instructions if i.opcode != "parameter"
    )
