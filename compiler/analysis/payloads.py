"""NaN payloads among values of f32: those of bf16, whose lower half is empty, or any.

Arithmetic makes a certain NaN, whose lower half is empty, or passes on one of its operands'.  So what is computed of
bf16 and of integers has no other, and rounding it to bf16 need not look for them.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import BF16, F32
from compiler.ops import Trait, narrowing

_PASSING = narrowing(
    Trait.ELEMENTWISE | Trait.EXACT | Trait.COMBINES,
    "abs add broadcast clamp concatenate copy divide exponential log logistic maximum minimum multiply negate pad "
    "reduce reshape reverse rsqrt select slice sqrt subtract tanh transpose",
)
"""Opcodes whose results are NaN of an operand, or the one that arithmetic makes, as our code for f32 has them."""
_MOST = 64
"""Instructions that are looked at."""
_LOWER = 0xFFFF
"""The bits of an f32 that bf16 has no room for (the formats' definitions)."""


def has_short_payloads(value: Instruction) -> bool:
    """Whether no NaN among an array's values of f32 has anything in its lower half."""
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        if not _is_other(current) and not _is_short(current):
            if not _passes(current) or len(seen) > _MOST:
                return False
            following = [operand for operand in current.operands if operand not in seen]
            seen.update(following)
            pending += following
    return True


def _is_other(value: Instruction) -> bool:
    """Whether a value is of another type, such as what selects among those of f32."""
    return isinstance(value.shape, ArrayShape) and value.array.element_type is not F32


def _is_short(value: Instruction) -> bool:
    """Whether a value of f32 is where those with short payloads come from."""
    if value.opcode == "convert":
        source = value.operands[0].array.element_type
        return source is BF16 or not (source.is_float or source.is_complex)
    if value.opcode != "constant" or value.literal.array is None:
        return value.opcode == "iota"
    array = value.literal.array
    return not np.any(np.ascontiguousarray(array[np.isnan(array)]).view(np.uint32) & _LOWER)


def _passes(value: Instruction) -> bool:
    """Whether an instruction, and whatever it calls, yields no other NaN than its operands have."""
    called = (i for body in value.called_computations() for i in body.instructions if i.opcode != "parameter")
    return isinstance(value.shape, ArrayShape) and all(i.opcode in _PASSING for i in (value, *called))
