"""Loop kernels of bf16 alone, in pairs of lanes.

LLVM widens each element by itself, in two instructions, and narrows each in three or four.  Where all that is read and
written is of bf16, a vector of words is taken apart and put together by one for each half.
"""

from __future__ import annotations

from compiler.analysis.updates import is_elementwise
from compiler.backends.cpu.kernels import lanes
from compiler.backends.cpu.kernels.lane_rules import fits
from compiler.backends.cpu.kernels.lanes import Lanes
from compiler.codegen import nest, scalar
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import Module
from compiler.codegen.signature import elemental_of
from compiler.ir.module import Instruction
from compiler.ir.types import BF16

_WORD = 32
_FEWEST = 256
"""Elements of the innermost loop for which what is left over does not count."""


def find(module: Module, kernel: Kernel, group: nest.Group) -> Lanes | None:
    """The lanes of a loop kernel; None where it is better a plain loop."""
    length, body, read = group.loops[-1], list(kernel.body()), [leaf for leaf, _ in kernel.leaves]
    if group.once or length < _FEWEST or not kernel.is_of_arrays:
        return None
    large = [leaf.array for leaf in read if leaf.array.size > 1]
    if not large or any(array.element_type is not BF16 for array in (*kernel.outputs, *large)):
        return None
    # All that is read is read in order, or is the same for all lanes: halves cannot be gathered.
    if not all(map(_is_straight, body)) or not fits(body, read):
        return None
    if any(i.operands and scalar.has_near_form(i) for i in body):
        return None
    chosen = Lanes.choose(module.features.__contains__, [i.array for i in body], length, paired=True)
    return chosen.chained(1, length, body) if chosen else None


def _is_straight(instruction: Instruction) -> bool:
    """Whether an element comes from elements at the same place, or in the same order, and fits into a word."""
    if instruction.array.element_type.bits > _WORD:
        return False
    if instruction.opcode == "broadcast":
        return list(instruction.attributes["dimensions"]) == sorted(instruction.attributes["dimensions"])
    return instruction.opcode == "constant" or is_elementwise(instruction)


def emit(builder: LaneBuilder, kernel: Kernel, group: nest.Group, chosen: Lanes, *, parallel: bool) -> None:
    """Emit the whole kernel."""
    lanes.store_each(kernel, group, elemental_of(kernel, Emission(builder)), chosen, parallel=parallel)
    builder.ret()
