"""Loops whose many vectors at once are written by the kernel.

Where a body is computed eight vectors at a time, so that what waits for one another is computed beside what does not,
LLVM's vectoriser and the passes behind it take as long as generating the code.  What goes straight from lane to lane
needs none of them.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.analysis.opcodes import SUMS
from compiler.analysis.updates import is_elementwise
from compiler.backends.cpu.kernels.loop.given import LoopGiven, has_fast_path
from compiler.backends.cpu.kernels.strategy import Plan
from compiler.backends.cpu.kernels.vectors.interleaving import interleave
from compiler.backends.cpu.kernels.vectors.lane_rules import fits
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.backends.strategy import Declined
from compiler.codegen import cost
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape

_LONG = 0.2
"""Nanoseconds for an element, as `codegen.cost` counts them, of the longest function: of sinh, cbrt and asinh several
at once, in turn, took up to 1.09 times as long to run as LLVM's, of acos and what is shorter 0.95 to 1.02 (11-26)."""
_FEWEST = 4
"""Vectors at once from which on LLVM's passes take long: two are what it writes of two loops."""


def decide(given: LoopGiven) -> Plan | Declined:
    """The plan where vectors are written."""
    found = _lanes(given)
    if isinstance(found, Declined):
        return found
    return given.in_lanes(
        found, LaneBuilder, {"loops": given.group.loops, "lanes": found.width, "at once": found.unroll}
    )


def _lanes(given: LoopGiven) -> Lanes | Declined:
    """The lanes of a loop kernel, or why LLVM makes its vectors."""
    kernel, loops = given.kernel, given.group.loops
    reason = unlike(kernel)
    if reason or len(loops) > 1:
        return Declined(reason or "it is more than one loop")
    count = interleave(kernel, loops[0], given.cost_ns)
    if count < _FEWEST:
        return Declined(f"fewer than {_FEWEST} vectors are computed at once")
    if has_fast_path(kernel, loops[0]):
        return Declined("a cheaper form of its functions is tried first")
    lanes = Lanes.choose(given.machine.has, [i.array for i in kernel.body()], loops[0])
    if lanes is None or loops[0] % (lanes.width * count):
        return Declined(f"its elements are not whole blocks of {count} vectors")
    return replace(lanes, unroll=count)


def unlike(kernel: Kernel, *, cheap: bool = False) -> str:
    """What is in a kernel beside operations on lanes of arrays that are alike, if anything is; of `cheap` forms."""
    body, dims = list(kernel.body()), kernel.outputs[0].dims
    shapes = [leaf.shape for leaf, _ in kernel.leaves] + [instruction.shape for instruction in body]
    if not kernel.is_of_arrays or not all(isinstance(s, ArrayShape) and s.dims in (dims, ()) for s in shapes):
        return "its arrays are not alike"
    straight = all(i.opcode in ("broadcast", "constant") or is_elementwise(i) for i in body)
    if not straight or not fits(body, [leaf for leaf, _ in kernel.leaves], cheap=cheap):
        return "not all that it computes has a form in vectors"
    if cheap:
        return ""
    if any(cost.COST[instruction.opcode] > _LONG for instruction in body):
        return "it has functions too long for several at once"
    return "which product a sum is fused with is LLVM's to choose" if any(map(_adds_products, body)) else ""


def _adds_products(instruction: Instruction) -> bool:
    """Whether both operands of an addition are products, of which one is not rounded: the passes may change which."""
    return instruction.opcode in SUMS and all(map(_is_product, instruction.operands))


def _is_product(instruction: Instruction) -> bool:
    while instruction.opcode in ("broadcast", "negate"):
        (instruction,) = instruction.operands
    return instruction.opcode == "multiply" and instruction.array.element_type.is_float
