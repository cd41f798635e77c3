"""Wide rules of functions of complex numbers: sampled around the argument, and open where they may be singular."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.wide.numbers import Wide, distance, limits, rounded, size
from compiler.wide.rule import Context

COMPLEX = 32.0
"""Units for anything on complex numbers, by modulus."""

_SAMPLES = (1, -1, 1j, -1j)


def _to_pole_of_tan(z: Array) -> Array:
    return np.abs(z - np.pi * (np.floor(z.real / np.pi) + 0.5))


_TO_SINGULARITY: Mapping[str, Callable[[Array], Array]] = {
    **dict.fromkeys(("log", "rsqrt", "power"), np.abs),
    "log-plus-one": lambda z: np.abs(z + 1),
    "tan": _to_pole_of_tan,
    "tanh": lambda z: _to_pole_of_tan(1j * z),
    "logistic": lambda z: 2 * _to_pole_of_tan(0.5j * z),
    "atanh": lambda z: np.minimum(np.abs(z - 1), np.abs(z + 1)),
}
"""How far the first argument is from where a complex function grows beyond all bounds."""


def complex_function(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Complex functions are smooth but for branch cuts: sampled at the rim of the errors, with a factor of two.

    Nothing is known of one within whose errors it is singular: samples around a pole say nothing of what is nearer.
    """
    values = [operand.value for operand in operands]
    value = np.asarray(context.evaluate(instruction, values))
    error = np.zeros(value.shape)
    for number, operand in enumerate(operands):
        finite = np.where(np.isfinite(operand.error), operand.error, 0.0)
        # An implementation may also move the argument by a unit before it looks at it.
        step = finite + limits(context.own(instruction)).unit * size(operand.value)
        for direction in _SAMPLES:
            moved = [*values[:number], values[number] + step * direction, *values[number + 1 :]]
            error = np.maximum(error, 2 * distance(value, np.asarray(context.evaluate(instruction, moved))))
        # What may be taken for zero has another logarithm, or none.
        modulus = size(operand.value)
        is_tiny = (modulus > 0) & (modulus < limits(context.own(instruction)).least)
        error = np.where(np.isinf(operand.error) | is_tiny, np.inf, error)
    result = rounded(value, error, context.own(instruction), roundings=COMPLEX)
    first, to_singularity = operands[0], _TO_SINGULARITY.get(instruction.opcode)
    if to_singularity is None:
        return result
    with np.errstate(all="ignore"):
        return result.open_at((first.error > 0) & (to_singularity(first.value) <= first.error))
