"""Prefixes of sorts: where only the first few of each line are read, no more need be sorted (top-k).

A kernel yields a sort's results, or some of them, or their beginnings (`analysis.sort_results`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.codegen.kernel import Kernel
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction
from compiler.ir.shape import TupleShape


@dataclass(frozen=True, slots=True)
class SortResults:
    """The results of a sort kernel: all elements, or the first of each line.

    Attributes:
        sort: the sort.
        numbers: for each array of the kernel's result, which of the sort's results it is.
        stored: how many elements of each line those arrays hold.
        read: how many of each line anybody reads.
    """

    sort: Instruction
    numbers: tuple[int, ...]
    stored: int
    read: int

    @staticmethod
    def of(kernel: Kernel) -> SortResults:
        """Take a sort kernel apart, or UnsupportedError."""
        (sort, *others) = kernel.of_opcode("sort")
        (dimension,) = sort.attributes["dimensions"]
        length = sort.operands[0].array.dims[dimension]
        if kernel.roots == (sort,):
            kept = _kept(kernel.instruction, dimension)
            return SortResults(sort, tuple(range(len(sort.operands))), length, length if kept is None else kept)
        results = [root.operands[0] if root.opcode == "slice" else root for root in kernel.roots]
        sources = {r.operands[0] if r.opcode == "get-tuple-element" else r for r in results}
        stored = {root.array.dims[dimension] for root in kernel.roots}
        if others or sources != {sort} or len(stored) > 1:
            raise UnsupportedError("a fusion of a sort with other work", "code generation", kernel.name)
        (count,) = stored
        return SortResults(sort, tuple(result.attributes.get("index", 0) for result in results), count, count)


def _kept(instruction: Instruction, dimension: int) -> int | None:
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
