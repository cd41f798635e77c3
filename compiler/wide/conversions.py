"""The wide rule of conversions: which numbers of the new type a known number may become.

A bound of one rounding, to either side, leaves an exact tie to whoever rounds it: both of its neighbours lie within.
What is known exactly is rounded to the nearest, and to even, by everyone; so its neighbours are told apart.  A compiler
may round by way of another type, or leave the rounding out where it converts back (XLA's excess precision): what
these make of the number lies within as well, and they leave ties as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow
from compiler.ir.types import F16, F32, PRED, ElementType
from compiler.wide.lifting import lift_type
from compiler.wide.numbers import FLUSHED, Wide, around, distance, held, limits, rounded, settle, tainted
from compiler.wide.rule import Context

_BY_HALVES = 8
"""Types of so many bits are made of what has been rounded to f16."""
_COUNTED = 2.0**53
"""Beyond this f64 does not hold every integer."""


def convert(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """The value of a conversion, rounded as the result's type, with the operand's error.

    Args:
        instruction: the conversion.
        operands: one.
        context: what is known of the program.
    """
    (operand,) = operands
    source, target = context.own(instruction.operands[0]), context.own(instruction)
    value = np.asarray(context.evaluate(instruction, [operand.value]))
    if value.dtype.kind not in "fc":
        return _to_discrete(instruction, operand, value, context)
    if operand.value.dtype.kind in "fc" and _is_subset(source, target):
        return settle(value, operand.error, target)
    result = rounded(value, operand.error, target)
    if value.dtype.kind == "c":
        return result
    known = (operand.error == 0) & (held(value, target) if value.dtype.kind == "f" else np.False_)
    return _to_nearest(Wide(result.value, np.where(known, 0.0, result.error)), operand, source, target)


def _to_nearest(result: Wide, operand: Wide, source: ElementType, target: ElementType) -> Wide:
    """The same with the new type's number in place of a known one, and an error that reaches all it may be made."""
    if limits(target).digits == 1:  # of whose numbers none is even
        return result
    least = limits(target).least if target.name in FLUSHED else 0.0
    value = result.value
    with np.errstate(all="ignore"):
        nearest = narrow(value, target).astype(np.float64)
        reach = distance(nearest, value)
        for way in _ways(source, target):
            reach = np.maximum(reach, distance(nearest, narrow(narrow(value, way).astype(np.float64), target)))
    is_open = (np.abs(nearest) < least) | ~np.isfinite(reach) | (source.is_integer & (np.abs(value) > _COUNTED))
    told = (operand.error == 0) & np.isfinite(result.error) & (result.error > 0) & ~is_open
    return Wide(np.where(told, nearest, value), np.where(told, reach, result.error))


def _ways(source: ElementType, target: ElementType) -> list[ElementType]:
    """The types by way of which a number may be rounded."""
    through_f32 = [F32] if source.bits > F32.bits or source.is_integer else []
    return through_f32 + ([F16] if target.bits <= _BY_HALVES else [])


def _is_subset(source: ElementType, target: ElementType) -> bool:
    """Whether a type holds all values of another of its kind."""
    if lift_type(source) is not lift_type(target):
        return False
    narrow_, broad = limits(source), limits(target)
    return broad.unit <= narrow_.unit and broad.largest >= narrow_.largest and broad.least <= narrow_.least


def _to_discrete(instruction: Instruction, operand: Wide, value: Array, context: Context) -> Wide:
    if instruction.array.element_type is PRED:
        return Wide(value, np.where(operand.may_be_zero | np.isinf(operand.error), np.inf, 0.0))
    if operand.value.dtype.kind == "f":
        return Wide(*around(lambda arrays: context.evaluate(instruction, arrays), [operand]))
    return tainted(value, [operand])
