"""One record per opcode, by family, and the table of them all."""

from compiler.ir.opdef import Op
from compiler.ops import (
    arithmetic,
    asynchronous,
    batch_norm,
    bitwise,
    collective,
    control,
    conversion,
    convolution,
    custom_call,
    data_movement,
    gather_scatter,
    grouped_dot,
    host,
    linear_algebra,
    random,
    reduction,
    scan,
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
    scan,
    linear_algebra,
    grouped_dot,
    convolution,
    batch_norm,
    random,
    structure,
    control,
    asynchronous,
    collective,
    host,
    custom_call,
)

OPS: dict[str, Op] = {opcode: op for family in _FAMILIES for opcode, op in family.OPS.items()}
"""Every opcode's record."""

__all__ = ["OPS"]
