"""Wide rules of functions of complex numbers: sampled around the argument, and open near where they are singular."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.wide.numbers import Wide, distance, limits, rounded, settle, size
from compiler.wide.rule import Context

COMPLEX = 32.0
"""Units for anything on complex numbers, by modulus."""

_SAMPLES = (1, -1, 1j, -1j)
_CRITICAL = (0, *_SAMPLES)
"""Branch points and zeros of these functions, about which a logarithm changes more than it does farther away."""
_NEAR = 2.0
"""A singularity so many times as far as the argument's error may be nearer to it than twice what samples tell."""


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

    They are sampled at branch points within the errors as well, which no rim shows: log z at one as far as 1e12 is 28.

    Nothing is known of one that is singular about as near as the error reaches: samples around a pole say little of
    what is nearer.

    Args:
        instruction: the function.
        operands: values in c128 with their bounds.
        context: the reference's own values.
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
        for point in _CRITICAL:
            reached = np.abs(operand.value - point) <= step
            if reached.any():
                moved = [*values[:number], np.where(reached, point, values[number]), *values[number + 1 :]]
                there = 2 * distance(value, np.asarray(context.evaluate(instruction, moved)))
                error = np.where(reached, np.maximum(error, there), error)
        # What may be taken for zero has another logarithm, or none.
        modulus = size(operand.value)
        is_tiny = (modulus > 0) & (modulus < limits(context.own(instruction)).least)
        is_special = ~np.isfinite(operand.value)  # of which the language leaves open what parts it spoils
        error = np.where(np.isinf(operand.error) | is_tiny | is_special, np.inf, error)
    result = rounded(value, error, context.own(instruction), roundings=COMPLEX)
    first, to_singularity = operands[0], _TO_SINGULARITY.get(instruction.opcode)
    return result if to_singularity is None else _open_near(result, to_singularity(first.value), first.error)


def _open_near(result: Wide, away: Array, error: Array) -> Wide:
    return result.open_at((error > 0) & (away <= _NEAR * error))


def complex_angle(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """atan2(y, x), the logarithm of (x + iy) / sqrt(x^2 + y^2), which is singular at x = iy and at x = -iy.

    Args:
        instruction: atan2 of complex numbers.
        operands: y and x, in c128 with their bounds.
        context: the reference's own values.
    """
    y, x = operands
    result = complex_function(instruction, operands, context)
    # On the cuts of the root and of the logarithm, rounding decides.
    components = (x.value.real, x.value.imag, y.value.real, y.value.imag)
    largest = np.maximum.reduce([np.abs(component) for component in components])
    scale = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
    abscissa, ordinate = x.value / scale, y.value / scale
    square, reach = abscissa**2 + ordinate**2, size(abscissa) ** 2 + size(ordinate) ** 2
    own = context.own(instruction)
    slack = COMPLEX * limits(own).unit * reach
    quotient = (abscissa + 1j * ordinate) * np.conj(np.sqrt(square))  # as far as its sign goes
    cut = (np.abs(square.imag) <= slack) & (square.real <= slack)
    cut |= (np.abs(quotient.imag) <= COMPLEX * slack) & (quotient.real <= slack)
    # The quotient is rounded before; where it is almost 1 that is more than its logarithm's own share.
    spread = settle(result.value, result.error + COMPLEX * limits(own).unit, own).open_at(cut)
    away = np.minimum(np.abs(x.value + 1j * y.value), np.abs(x.value - 1j * y.value))
    return _open_near(spread, away, y.error + x.error)
