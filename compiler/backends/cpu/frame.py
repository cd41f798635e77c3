"""Scalars of loops, in the frame of the function that runs a module: LLVM keeps them in registers.

What an iteration of a loop over scalars computes takes less than to write it to memory and read it again in the next.
A value can lie in a frame where no other thread touches it: in a program for one thread, or in a loop that the caller
runs alone, as long as nothing that is shared outside touches it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.analysis.buffers import Assignment
from compiler.analysis.storage import Buffer, Storage
from compiler.backends.cpu.sharing import Kernels, shares
from compiler.codegen.kernel import callees
from compiler.ir.module import Computation, Instruction

_LARGEST = 16
"""Bytes of the largest scalar, a complex number of two doubles."""
_MOST = 256
"""Buffers in a frame: stacks of threads are small, and registers few."""


def lay_in_frame(entry: Computation, assignment: Assignment, emitted: Kernels, threads: int) -> None:
    """Move scalars from the arena, before it is packed, into the frame.

    There the next value of a loop's state is copied over the present one: in registers that costs nothing, while of two
    buffers that change roles LLVM could keep neither there.

    Args:
        entry: the program's computation.
        assignment: where everything lies; changed.
        emitted: the kernels, by the instructions that they compute.
        threads: how many may run the program: what they share stays in the arena.
    """
    walk = _Walk(assignment, emitted, threads)
    walk.visit(entry)
    small = [
        b for b in walk.alone if b.storage is Storage.ARENA and 0 < b.size_bytes <= _LARGEST and b not in walk.shared
    ]
    for buffer in small[:_MOST]:
        buffer.storage = Storage.FRAME
    for loop, pairs in assignment.exchanged.items():
        assignment.exchanged[loop] = tuple(
            pair for pair in pairs if any(buffer.storage is not Storage.FRAME for buffer in pair)
        )


@dataclass(slots=True)
class _Walk:
    """Goes through a schedule: what one thread's loops touch, and what several threads may."""

    assignment: Assignment
    emitted: Kernels
    threads: int
    alone: dict[Buffer, None] = field(default_factory=dict)
    shared: set[Buffer] = field(default_factory=set)

    def visit(self, computation: Computation) -> None:
        """Note of what all threads execute the buffers that one has alone, and those that several touch."""
        for instruction in computation.instructions:
            if instruction.opcode == "while" and (self.threads == 1 or not shares(instruction, self.emitted)):
                self.alone |= dict.fromkeys(self._inside(instruction))
                continue
            if self.threads > 1 and (callees(instruction) or shares(instruction, self.emitted)):
                self.shared.update(self._touched(instruction))
            for callee in callees(instruction):
                self.visit(callee)

    def _inside(self, instruction: Instruction) -> Iterator[Buffer]:
        yield from self._touched(instruction)
        for callee in callees(instruction):
            for inner in callee.instructions:
                yield from self._inside(inner)

    def _touched(self, instruction: Instruction) -> Iterator[Buffer]:
        """What an instruction reads and writes; of control flow, what it copies and asks too."""
        of = self.assignment.of
        for value in (instruction, *instruction.operands, *(callee.root for callee in callees(instruction))):
            yield from of.get(value, ())
