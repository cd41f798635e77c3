"""Whose memory a value lies in, before any buffer is assigned.

Views lie where their operand lies.  A fusion with `output_to_operand_aliasing` writes into an operand's memory: its
result *is* that operand, changed in place.
"""

from __future__ import annotations

from compiler.ir.attributes import OutputAlias
from compiler.ir.module import Instruction
from compiler.ops import Trait, having

VIEWS = having(Trait.VIEW)
"""Opcodes that give another view of their operand's memory, leaf for leaf."""


def overwritten(instruction: Instruction) -> Instruction | None:
    """The operand whose memory an instruction changes in place, None for one that writes memory of its own."""
    aliases: tuple[OutputAlias, ...] = instruction.attributes.get("output_to_operand_aliasing", ())
    if instruction.opcode != "fusion" or not aliases:
        return None
    (alias,) = aliases
    return instruction.operands[alias.operand]


def viewed(instruction: Instruction) -> tuple[Instruction, tuple[int, ...]]:
    """The instruction whose result a value is, seen through views and tuples, and which element of its tuple."""
    path: tuple[int, ...] = ()
    while True:
        if instruction.opcode in VIEWS:
            (instruction,) = instruction.operands
        elif instruction.opcode == "get-tuple-element":
            path = (instruction.attributes["index"], *path)
            (instruction,) = instruction.operands
        elif instruction.opcode == "tuple" and path:
            instruction, path = instruction.operands[path[0]], path[1:]
        else:
            return instruction, path


def origin(instruction: Instruction) -> tuple[Instruction, tuple[int, ...]]:
    """The instruction that a value's memory comes from, and which element of its tuple the value is."""
    source, path = viewed(instruction)
    while (before := overwritten(source)) is not None:
        source, outer = viewed(before)
        path = (*outer, *path)
    return source, path
