"""How expander passes replace an instruction by others that mean the same: counted, in order, with nothing left behind.

Back ends rely on expansions, so each is a required rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.analysis.effects import held_by_control
from compiler.ir.control import stand_in
from compiler.ir.module import Instruction, Module
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
                stand_in(computation, instruction, result)
            changed = True
            computation.remove([instruction])
        if found:
            computation.sort()
    if changed:
        module.sort_computations()
    return changed
