"""Uniform loops: those with the same trip count on every device, whatever the devices are given.

A loop is known to be uniform when its condition looks only at elements of the state that start from constants and are
stepped by arithmetic on one another: counters.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.graph import reachable
from compiler.ir.module import Instruction
from compiler.ops import OPS


def is_uniform(loop: Instruction) -> bool:
    """Whether a `while` iterates equally often on every device."""
    initial, body = loop.operands[0], loop.attributes["body"]
    if initial.opcode != "tuple" or body.root.opcode != "tuple":
        return False
    counters = {number for number, operand in enumerate(initial.operands) if _is_function_of(operand, ())}
    while True:
        kept = {number for number in counters if _is_function_of(body.root.operands[number], counters)}
        if kept == counters:
            return _is_function_of(loop.attributes["condition"].root, counters)
        counters = kept


def _is_function_of(value: Instruction, elements: Iterable[int]) -> bool:
    """Whether a value is computed from constants and from these elements of its computation's tuple alone."""
    known = set(elements)

    def is_element(instruction: Instruction) -> bool:
        return instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter"

    def is_allowed(instruction: Instruction) -> bool:
        if is_element(instruction):
            return instruction.attributes["index"] in known
        return instruction.opcode == "constant" or OPS[instruction.opcode].elementwise

    return all(map(is_allowed, reachable([value], lambda i: () if is_element(i) else i.operands)))
