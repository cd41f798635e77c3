"""The dimensions of an HLO dot by role: batch, free and depth, of either operand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir.module import Instruction
from compiler.ir.types import C64, C128, F32, F64, S32, ElementType


@dataclass(frozen=True, slots=True)
class Factor:
    """One operand: the instruction and its dimensions by group, in the order in which they are walked."""

    instruction: Instruction
    batch: tuple[int, ...]
    free: tuple[int, ...]
    depth: tuple[int, ...]

    def sizes(self, group: Sequence[int]) -> list[int]:
        """The sizes of a group's dimensions."""
        return [self.instruction.array.dims[d] for d in group]

    def count(self, group: Sequence[int]) -> int:
        """The number of elements of a group."""
        return math.prod(self.sizes(group))


def factor(dot: Instruction, number: int) -> Factor:
    """The left (0) or right (1) operand of a dot."""
    side = ("lhs", "rhs")[number]
    batch = tuple(dot.attributes.get(f"{side}_batch_dims", ()))
    depth = tuple(dot.attributes.get(f"{side}_contracting_dims", ()))
    operand = dot.operands[number]
    free = tuple(d for d in range(operand.array.rank) if d not in batch and d not in depth)
    return Factor(operand, batch, free, depth)


def accumulation_type(dot: Instruction) -> ElementType:
    """The type that products of a dot or convolution are summed in: 32 bits or more, so only results are rounded."""
    result = dot.array.element_type
    types = [result, *(operand.array.element_type for operand in dot.operands[:2])]
    if any(type_.is_complex for type_ in types):
        return C128 if C128 in types else C64
    if any(type_.is_float for type_ in types):
        return F64 if F64 in types else F32
    return S32 if result.bits < 32 else result
