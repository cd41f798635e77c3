"""How expander passes replace an instruction by others that mean the same: counted, in order, with nothing left behind.

Back ends rely on expansions, so each is a required rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.analysis.effects import held_by_control
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel

Expand = Callable[[Instruction], Instruction | None]
"""From an instruction to what stands for it in the same computation; None where there is nothing to expand."""


def expand(module: Module, fuel: Fuel, table: Mapping[str, Expand]) -> bool:
    """Replace every instruction that the table has an expansion for; returns whether there was one."""
    changed = False
    for computation in list(module.computations):
        held = held_by_control(computation)
        found = [instruction for instruction in computation.instructions if instruction.opcode in table]
        for instruction in found:
            result = table[instruction.opcode](instruction)
            if result is None:
                continue
            fuel.spend(f"expand {instruction.opcode}", instruction, required=True)
            instruction.replace_uses_with(result)
            if instruction in held:
                _stand_in(computation, instruction, result)
            changed = True
            computation.remove([instruction])
        if found:
            computation.sort()
    if changed:
        module.sort_computations()
    return changed


def _stand_in(computation: Computation, old: Instruction, new: Instruction) -> None:
    """Whoever waited for the old instruction waits for the new one, and for what the old one waited for."""
    waited: tuple[Instruction, ...] = old.attributes.get("control-predecessors", ())
    for instruction in computation.instructions:
        predecessors = instruction.attributes.get("control-predecessors", ())
        if old in predecessors:
            rest = [p for p in predecessors if p is not old]
            merged = dict.fromkeys(p for p in (*rest, new, *waited) if p is not instruction)
            instruction.attributes["control-predecessors"] = tuple(merged)
