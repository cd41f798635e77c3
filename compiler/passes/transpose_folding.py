"""A dot reads its operands in any order of dimensions, so a transpose before it is only other dimension numbers.

    dot(transpose(x, p), y, contracting={c}, batch={b})  ->  dot(x, y, contracting={p[c]}, batch={p[b]})

Sound only where the order of the free dimensions in the result stays the same.
"""

from __future__ import annotations

from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel

_SIDES = ("lhs", "rhs")


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.opcode == "dot":
                changed |= _fold(instruction, 0, fuel)
                changed |= _fold(instruction, 1, fuel)
    return changed


def _fold(dot: Instruction, number: int, fuel: Fuel) -> bool:
    operand = dot.operands[number]
    if operand.opcode != "transpose":
        return False
    permutation = operand.attributes["dimensions"]
    names = [f"{_SIDES[number]}_{group}_dims" for group in ("contracting", "batch")]
    special = {d for name in names for d in dot.attributes.get(name, ())}
    free = [permutation[d] for d in range(len(permutation)) if d not in special]
    if free != sorted(free) or not fuel.spend("fold transpose into dot", dot):
        return False
    for name in names:
        if dot.attributes.get(name):
            dot.attributes[name] = tuple(permutation[d] for d in dot.attributes[name])
    operands = list(dot.operands)
    operands[number] = operand.operands[0]
    dot.set_operands(operands)
    return True
