"""Arrays seen through slices, transposes and reshapes: the same memory, walked with other strides.

What reads memory by strides, such as a matrix product, can do without copies of what is only seen differently: of the
weights of one layer among those of all, for instance, which a loop over layers slices at its counter.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from compiler.ir.module import Instruction
from compiler.ops import Trait, narrowing

MOVES = narrowing(Trait.MOVES, "slice dynamic-slice transpose reshape")
"""Opcodes whose results may be seen in their operands: of the others strides are 0 or negative, or elements change."""


@dataclass(frozen=True, slots=True)
class View:
    """An array of sizes `dims` within `source`, which lies row-major: from element `offset` on, `strides` apart.

    With `slices`, dynamic ones and the strides of what they slice, it starts as much later as their starts say.
    """

    source: Instruction
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    slices: tuple[tuple[Instruction, tuple[int, ...]], ...] = ()

    def stretches(self, group: Iterable[int]) -> list[tuple[int, int]]:
        """Some dimensions as (size, stride), outermost first, those that lie behind one another in memory as one."""
        result: list[tuple[int, int]] = []
        for size, stride in ((self.dims[d], self.strides[d]) for d in group):
            if size == 1:
                continue
            if result and result[-1][1] == size * stride:
                result[-1] = result[-1][0] * size, stride
            else:
                result.append((size, stride))
        return result

    def joint_stride(self, group: Iterable[int]) -> int | None:
        """The stride of a linear index over dimensions that lie behind one another in memory; None if they do not."""
        found = self.stretches(group)
        if len(found) > 1:
            return None
        return found[0][1] if found else 1

    def run(self, group: Iterable[int]) -> int:
        """The number of adjacent elements along a linear index over dimensions, from each multiple of it on."""
        found = self.stretches(group)
        return found[-1][0] if found and found[-1][1] == 1 else 1


def view(instruction: Instruction, given: Collection[Instruction]) -> View | None:
    """An instruction's result as seen in one of `given`; None where it is not there with one stride per dimension."""
    chain = []
    while instruction not in given:
        if instruction.opcode not in MOVES:
            return None
        chain.append(instruction)
        instruction = instruction.operands[0]
    dims = instruction.array.dims
    seen: View | None = View(instruction, dims, tuple(math.prod(dims[d + 1 :]) for d in range(len(dims))))
    for move in reversed(chain):
        seen = seen and _moved(seen, move)
    return seen


def _moved(seen: View, move: Instruction) -> View | None:
    if move.opcode == "transpose":
        order = move.attributes["dimensions"]
        dims, strides = (tuple(values[d] for d in order) for values in (seen.dims, seen.strides))
        return replace(seen, dims=dims, strides=strides)
    if move.opcode == "slice":
        ranges = move.attributes["slice"]
        offset = sum(range_.start * stride for range_, stride in zip(ranges, seen.strides, strict=True))
        strides = tuple(range_.stride * stride for range_, stride in zip(ranges, seen.strides, strict=True))
        return replace(seen, dims=move.array.dims, strides=strides, offset=seen.offset + offset)
    if move.opcode == "dynamic-slice":
        return replace(seen, dims=move.array.dims, slices=(*seen.slices, (move, seen.strides)))
    new = _reshaped(seen, move.array.dims)
    return None if new is None else replace(seen, dims=move.array.dims, strides=new)


def _reshaped(seen: View, dims: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides of the same elements in the same order with sizes `dims`."""
    if 0 in dims:
        return None
    # Each new dimension takes its part of a stretch of old ones from the inside.
    stretches, strides = seen.stretches(range(len(seen.dims))), []
    for size in reversed(dims):
        if size == 1:
            strides.append(0)
            continue
        count, stride = stretches.pop()
        if count % size:
            return None
        strides.append(stride)
        if count > size:
            stretches.append((count // size, stride * size))
    return tuple(reversed(strides))


def seen_by_dots(instruction: Instruction, members: Collection[Instruction]) -> bool:
    """Whether what the dots among some members need of an instruction can be seen in its operand: nothing is moved."""
    if not _moves(instruction):
        return False
    operands: set[Instruction] = set()
    pending = [instruction]
    while pending:
        move = pending.pop()
        for user in move.users:
            if user not in members:
                continue
            converts = user.opcode == "convert" and all(other.opcode == "dot" for other in user.users)
            if user.opcode == "dot" or converts:
                operands.add(move)
            elif user.opcode in MOVES:
                pending.append(user)
            else:
                return False
    return bool(operands) and all(view(operand, instruction.operands) for operand in operands)


def _moves(instruction: Instruction) -> bool:
    """Whether an instruction's elements lie elsewhere than those of what it comes from, but for their values."""
    while instruction.opcode == "reshape":
        (instruction,) = instruction.operands
    return instruction.opcode in MOVES
