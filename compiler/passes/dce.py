"""Dead code elimination: instructions that nothing uses, and computations that nothing calls.

Instructions with effects (in their op's record), and parameters, stay.
"""

from __future__ import annotations

from compiler.analysis.effects import control_predecessors, has_effect
from compiler.ir.calls import reached
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in module.computations:
        changed |= _sweep(computation, fuel)
    uncalled = len(set(reached([module.entry]))) < len(module.computations)
    if uncalled and fuel.spend("remove uncalled", module.entry.root):
        module.sort_computations()
        changed = True
    return changed


def _sweep(computation: Computation, fuel: Fuel) -> bool:
    dead: set[Instruction] = set()
    needed_by_control = control_predecessors(computation)
    for instruction in reversed(computation.instructions):
        if instruction is computation.root or not dead.issuperset(instruction.users):
            continue
        if instruction in needed_by_control or has_effect(instruction):
            continue
        if fuel.spend("remove unused", instruction):
            dead.add(instruction)
    computation.remove(dead)
    return bool(dead)
