"""One record per opcode, by family, and the table of them all."""

from compiler.ir.opdef import Op
from compiler.ops import (
    arithmetic,
    bitwise,
    control,
    conversion,
    convolution,
    data_movement,
    gather_scatter,
    linear_algebra,
    reduction,
    selection,
    sorting,
    structure,
    transcendental,
    window,
)

_FAMILIES = (
    arithmetic,
    transcendental,
    bitwise,
    selection,
    conversion,
    data_movement,
    gather_scatter,
    sorting,
    reduction,
    window,
    linear_algebra,
    convolution,
    structure,
    control,
)

OPS: dict[str, Op] = {opcode: op for family in _FAMILIES for opcode, op in family.OPS.items()}
"""Every opcode's record."""

__all__ = ["OPS"]
