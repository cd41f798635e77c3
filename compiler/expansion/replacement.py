"""How passes replace an instruction by others that mean the same: counted, in order, with nothing left behind.

Back ends rely on expansions, so each is a required rewrite; what only makes a program simpler is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.analysis.effects import control_predecessors, within_fusions
from compiler.ir.calls import Calls, calls_of
from compiler.ir.control import is_ordered, stand_in
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel

Expand = Callable[[Instruction], Instruction | None]
"""From an instruction to what stands for it in the same computation; None where there is nothing to expand."""


def expand(module: Module, fuel: Fuel, table: Mapping[str, Expand]) -> bool:
    """Replace every instruction that the table has an expansion for; returns whether there was one.

    Args:
        module: is changed.
        fuel: rewrites that may still be done.
        table: expansions by opcode; one may give None, and nothing is replaced.
    """
    changed = False
    for computation in list(module.computations):
        found = [instruction for instruction in computation.instructions if instruction.opcode in table]
        awaited = control_predecessors(computation) if found else set()
        for instruction in found:
            result = table[instruction.opcode](instruction)
            if result is None:
                continue
            fuel.spend(f"expand {instruction.opcode}", instruction, required=True)
            instruction.replace_uses_with(result)
            if instruction in awaited:
                stand_in(computation, instruction, result)
            changed = True
            computation.remove([instruction])
        if found:
            computation.sort()
    if changed:
        module.sort_computations()
    return changed


Simplify = Callable[[Instruction, Calls, set[Instruction]], bool]
"""Makes an instruction simpler, given calls and what control dependencies name; returns whether it did anything."""


def simplify_each(module: Module, opcode: str, simplify: Simplify) -> bool:
    """Simplify the instructions of an opcode outside of kernels that no control dependency holds in their place.

    Returns whether any of them changed.

    Args:
        module: is changed.
        opcode: of the instructions.
        simplify: given an instruction, how often computations are called and what is awaited, whether it changed.
    """
    if all(instruction.opcode != opcode for instruction in module.instructions()):
        return False
    inside = within_fusions(module)
    calls = calls_of(module)
    changed = False
    for computation in [c for c in module.computations if c not in inside]:
        found = [i for i in computation.instructions if i.opcode == opcode]
        awaited = control_predecessors(computation) if found else set()
        simpler = [simplify(i, calls, awaited) for i in found if i not in awaited and not is_ordered(i)]
        if any(simpler):
            computation.sort()
            changed = True
    if changed:
        module.sort_computations()
    return changed
