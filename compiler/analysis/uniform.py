"""Which loops take the same number of turns on every device, whatever the devices are given.

A loop is known to be uniform when its condition looks only at elements of the state that start from constants and are
stepped by arithmetic on one another: counters.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.module import Instruction
from compiler.ops import OPS


def is_uniform(loop: Instruction) -> bool:
    """Whether a `while` turns equally often on every device."""
    initial, body = loop.operands[0], loop.attributes["body"]
    if initial.opcode != "tuple" or body.root.opcode != "tuple":
        return False
    counters = {place for place, operand in enumerate(initial.operands) if _is_function_of(operand, ())}
    while True:
        kept = {place for place in counters if _is_function_of(body.root.operands[place], counters)}
        if kept == counters:
            return _is_function_of(loop.attributes["condition"].root, counters)
        counters = kept


def _is_function_of(value: Instruction, elements: Iterable[int]) -> bool:
    """Whether a value is computed from constants and from these elements of its computation's tuple alone."""
    known, pending, seen = set(elements), [value], set()
    while pending:
        instruction = pending.pop()
        if instruction in seen:
            continue
        seen.add(instruction)
        if instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter":
            if instruction.attributes["index"] not in known:
                return False
        elif instruction.opcode == "constant" or OPS[instruction.opcode].elementwise:
            pending += instruction.operands
        else:
            return False
    return True
