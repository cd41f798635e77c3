"""Scans, as cumulative sums come in HLO: reduce-windows over everything from one end of a dimension up to an element.

That is what cumulative sums and products come as.  Each result is the one before it combined with one more element.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.analysis.commutativity import is_commutative
from compiler.ir.attributes import WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.windows import window_of


@dataclass(frozen=True, slots=True)
class Direction:
    """The dimension that is scanned, and whether from its end."""

    dim: int
    backwards: bool


def direction(instruction: Instruction) -> Direction | None:
    """The dimension and the way in which a reduce-window scans; None where it does not."""
    dims = instruction.operands[0].array.dims
    window = window_of(instruction, len(dims))
    moved = [d for d, dimension in enumerate(window) if dimension != WindowDimension()]
    if len(moved) != 1:
        return None
    dim = moved[0]
    size = dims[dim]
    # From the end each element is joined behind those that it stands in front of.
    ways = (False, True) if is_commutative(instruction.attributes["to_apply"]) else (False,)
    for backwards in ways:
        low, high = (0, size - 1) if backwards else (size - 1, 0)
        if window[dim] == WindowDimension(size, pad_low=low, pad_high=high):
            return Direction(dim, backwards)
    return None
