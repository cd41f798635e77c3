"""Loop kernels of bf16 alone, in pairs of lanes.

LLVM widens each element by itself, in two instructions, and narrows each in three or four.  Where all that is read and
written is of bf16, a vector of words is taken apart and put together by one for each half.
"""

from __future__ import annotations

from compiler.analysis.updates import is_elementwise
from compiler.backends.cpu.kernels.loop.given import LoopGiven
from compiler.backends.cpu.kernels.strategy import Plan
from compiler.backends.cpu.kernels.vectors.lane_rules import fits
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import scalar
from compiler.codegen.lane_builder import LaneBuilder
from compiler.ir.module import Instruction
from compiler.ir.types import BF16

_WORD = 32
"""Bits of a pair of bf16."""
_FEWEST = 256
"""Elements of the innermost loop for which what is left over does not count."""


def decide(given: LoopGiven) -> Plan | Declined:
    """The plan where lanes go in pairs."""
    found = _lanes(given)
    if isinstance(found, Declined):
        return found
    details: dict[str, Detail] = {"loops": given.group.loops, "lanes": found.width, "unroll": found.unroll}
    return given.in_lanes(found, LaneBuilder, details)


def _lanes(given: LoopGiven) -> Lanes | Declined:
    """The lanes of a loop kernel, or why it is better a plain loop."""
    kernel, length = given.kernel, given.group.loops[-1]
    if length < _FEWEST or not kernel.is_of_arrays:
        return Declined(f"rows have fewer than {_FEWEST} elements")
    body, read = list(kernel.body()), [leaf for leaf, _ in kernel.leaves]
    large = [leaf.array for leaf in read if leaf.array.size > 1]
    if not large or any(array.element_type is not BF16 for array in (*kernel.outputs, *large)):
        return Declined("not all that is read and written is of bf16")
    # All that is read is read in order, or is the same for all lanes: halves cannot be gathered.
    if not all(map(_is_straight, body)) or not fits(body, read):
        return Declined("not all that it computes goes straight from lane to lane")
    if any(i.operands and scalar.has_fast_path(i) for i in body):
        return Declined("loops have cheaper forms of its functions")
    chosen = Lanes.choose(given.machine.has, [i.array for i in body], length, paired=True)
    return chosen.chained(1, length, body) if chosen else Declined("rows are too short for vectors")


def _is_straight(instruction: Instruction) -> bool:
    """Whether an element comes from elements at the same position, or in the same order, and fits into a word."""
    if instruction.array.element_type.bits > _WORD:
        return False
    if instruction.opcode == "broadcast":
        return list(instruction.attributes["dimensions"]) == sorted(instruction.attributes["dimensions"])
    return instruction.opcode == "constant" or is_elementwise(instruction)
