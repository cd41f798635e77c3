"""How much of a sort is read: where only the first few of each line are, no more need be sorted (top-k)."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.module import Instruction
from compiler.ir.shape import TupleShape


def kept(instruction: Instruction, dimension: int) -> int | None:
    """How many of each line of a sort are read at most; None where that is not known to be few."""
    results = [instruction]
    if isinstance(instruction.shape, TupleShape):
        results = list(instruction.users)
        if any(result.opcode != "get-tuple-element" for result in results):
            return None
    if instruction.is_root or any(result.is_root for result in results):
        return None
    counts = [count for result in results for user in result.users for count in _counts(result, user, dimension)]
    known = [count for count in counts if count is not None]
    return max(known, default=0) if len(known) == len(counts) else None


def _counts(value: Instruction, user: Instruction, dimension: int) -> Iterator[int | None]:
    """How many of each line of a value a user reads, itself or inside; None for anything but a prefix."""
    if user.opcode == "fusion":
        for operand, parameter in zip(user.operands, user.attributes["calls"].parameters, strict=True):
            if operand is value:
                for inner in parameter.users:
                    yield from _counts(parameter, inner, dimension)
        if user.attributes["calls"].root.opcode == "parameter":
            yield None
        return
    cut = user.attributes["slice"][dimension] if user.opcode == "slice" else None
    yield int(cut.limit) if cut and cut.start == 0 and cut.stride == 1 else None
