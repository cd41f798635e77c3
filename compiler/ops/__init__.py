"""One record per opcode, by family, and the table of them all."""

from compiler.ir.opdef import Op
from compiler.ops import (
    arithmetic,
    bitwise,
    control,
    conversion,
    data_movement,
    linear_algebra,
    reduction,
    selection,
    structure,
    transcendental,
)

_FAMILIES = (
    arithmetic,
    transcendental,
    bitwise,
    selection,
    conversion,
    data_movement,
    reduction,
    linear_algebra,
    structure,
    control,
)

OPS: dict[str, Op] = {opcode: op for family in _FAMILIES for opcode, op in family.OPS.items()}
"""Every opcode's record."""

__all__ = ["OPS"]
