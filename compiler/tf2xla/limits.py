"""Constants that follow from `Minimum` and `Maximum` alone, whatever they are applied to.

    Minimum(7, Maximum(7, x)) is 7

Keras asks so for the length of a count of numbers that it does not know.  Limits are those of integers: a NaN is
between none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.ir.module import Instruction
from compiler.ir.numbers import integer_bounds

Array = NDArray[Any]
Limits = tuple[Array, Array]
"""What a value is never less and never greater than, element by element."""

_CHOICES: dict[str, Callable[[Array, Array], Array]] = {"maximum": np.maximum, "minimum": np.minimum}


def limits_of(instruction: Instruction, operands: Sequence[Limits | None]) -> Limits:
    """The limits of an integer that is not known, from those of its operands, where these have any."""
    of_one, of_other = operands if instruction.opcode in _CHOICES else (None, None)
    if of_one is None or of_other is None:
        low, high = integer_bounds(instruction.array.element_type)
        dtype = instruction.array.element_type.dtype
        return np.array(low, dtype), np.array(high, dtype)
    choose = _CHOICES[instruction.opcode]
    return choose(of_one[0], of_other[0]), choose(of_one[1], of_other[1])


def decided(limits: Limits, dims: Sequence[int]) -> Array | None:
    """The value between limits that leave one only, None where they leave more."""
    low, high = limits
    return np.broadcast_to(low, dims).copy() if np.array_equal(low, high) else None
