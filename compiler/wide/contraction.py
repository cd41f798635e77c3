"""Products that a sum may take before they are rounded: a fused multiply-add rounds once, so none overflows on the way.

What a product alone is sure to be, an infinity, is open where it is added to something.  Types narrower than f32 are
rounded after each operation, whatever the machine does.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.types import F32, F64
from compiler.ops import Trait, having
from compiler.wide.numbers import Wide
from compiler.wide.rule import Context

_PASSED_ON = having(Trait.MOVES) - {"bitcast-convert"} | {"copy", "negate"}
"""What an infinity goes through on its way from a product to a sum, of its own type all the way."""


def infinite_product(value: Instruction, found: Wide, context: Context) -> Array:
    """Where a value that is added to something is infinite and a product.

    Args:
        value: an operand of an addition.
        found: what it is.
        context: what is known of the program.
    """
    factors = value
    while factors.opcode in _PASSED_ON or _is_no_conversion(factors, context):
        factors = factors.operands[0]
    can = factors.opcode == "multiply" and context.own(factors) in (F32, F64)
    return np.isinf(found.value) if can else np.zeros(found.value.shape, np.bool_)


def _is_no_conversion(value: Instruction, context: Context) -> bool:
    """Whether a value is converted to the type that it has: nobody rounds there."""
    return value.opcode == "convert" and context.own(value) is context.own(value.operands[0])
