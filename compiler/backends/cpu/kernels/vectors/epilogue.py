"""Epilogues of products: what is done with finished sums, by vectors of neighbours.

A product or a convolution writes its vectors itself, and so does what follows it where that has a form on vectors: for
LLVM's vectoriser it would be the one loop among functions that need none of its passes, compiled in twice the time.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.backends.cpu.kernels.vectors.interleaving import interleave
from compiler.backends.cpu.kernels.vectors.lane_rules import fits
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.codegen import access, cost, element
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel, computed
from compiler.codegen.llvm_ir import Value
from compiler.ir.module import Instruction
from compiler.ir.types import ElementType


def has_lanes(kernel: Kernel, product: Instruction) -> bool:
    """Whether what follows a product, a dot or a convolution, has a form on vectors."""
    given = [product, *(leaf for leaf, _ in kernel.leaves)]
    return fits(computed(kernel.roots, given), given)


def row_lanes(kernel: Kernel, lanes: Lanes, length: int) -> Lanes:
    """Lanes of neighbours in rows of so many sums, as many side by side as what follows is worth; given a vector's.

    Args:
        kernel: what follows the sums is in it.
        lanes: of one vector.
        length: sums of a row.
    """
    width = min(lanes.width, 1 << (length - 1).bit_length())
    together = interleave(kernel, length, cost.nanoseconds(kernel))
    return replace(lanes, width=width, unroll=max(1, min(together, length // width)))


def sums_at(emission: Emission, sums: Value, element_type: ElementType, first: Value) -> Value:
    """The sums in the emission's lanes, of a row that begins with that of number `first`.

    Args:
        emission: where code is emitted; it has lanes.
        sums: the address of the first.
        element_type: their type.
        first: the number of the first, as the lanes count.
    """
    builder, lane = emission.builder, emission.lane
    assert lane is not None
    offset = builder.sub(lane.first.value, first)
    return access.read_neighbours(emission, builder.gep(element.storage_type(element_type), sums, offset), element_type)
