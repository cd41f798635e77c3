"""Recipe of random numbers, of which the language says a distribution and nothing more: results are what holds of any.

Numbers lie in their range, or near their mean; about half of them are below the middle of it, about half in its middle
half, and about half in its first and third quarters.  How many that may be is told apart from a wrong distribution by
seven times the deviation of such a count, which is once in a trillion.  The numbers themselves go into nothing else:
every engine has others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from compiler.generate.choices import chance, pick
from compiler.generate.combining import combiner
from compiler.generate.recipe import NUMBERS, Recipe
from compiler.generate.scope import Scope
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED, S32, ElementType
from compiler.ops.build import build

_NORMAL_PERCENT, _UNKNOWN_PERCENT = 40, 50
"""How often floats are normally distributed; how often what a distribution has for numbers is no constant."""
_DIMS = ((16,), (64,), (5, 31), (3, 4, 17), (257,), (1, 100), (1000,))
"""Dimensions of enough numbers to count them, but the first, of which only the range tells."""
_LOWEST, _WIDTHS = (-7, -4, 0, 1, 3), (4, 8, 16)
"""Where ranges begin, of types with a sign, and how wide they are: their quarters are whole numbers."""
_DEVIATIONS = 7
"""How far a count may be off, in its standard deviations of half the square root."""
_FARTHEST = 9.0
"""Deviations from the mean beyond which no normal number of 53 random bits is."""
_QUARTILE = 0.674489750196
"""Deviations from the mean within which half of all normal numbers are."""


class _Distribution(NamedTuple):
    """What numbers are drawn by: its name, the two numbers that it has, and where some shares of what it draws lie.

    Attributes:
        name: HLO's.
        first: the least, or the mean.
        second: the end, or the deviation.
        ends: all lie in between.
        quarters: where each quarter of them ends but the last.
    """

    name: str
    first: float
    second: float
    ends: tuple[float, float]
    quarters: tuple[float, float, float]


def _distribution(scope: Scope, kind: ElementType) -> _Distribution:
    low = pick(scope.choices, [n for n in _LOWEST if n >= 0 or kind.is_signed])
    width = pick(scope.choices, _WIDTHS)
    if kind.is_float and chance(scope.choices, _NORMAL_PERCENT):
        reach, half = _FARTHEST * width, _QUARTILE * width
        return _Distribution("rng_normal", low, width, (low - reach, low + reach), (low - half, low, low + half))
    ends = (low, low + width if kind.is_float else low + width - 1)  # what is next to the end may round to it
    quarter = width // 4
    return _Distribution("rng_uniform", low, low + width, ends, (low + quarter, low + 2 * quarter, low + 3 * quarter))


def _draw(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    fitting = [dims for dims in _DIMS if scope.fits(dims)]
    if not fitting:
        return None
    shape = ArrayShape(element_type, pick(scope.choices, fitting))
    if element_type is PRED:
        numbers = _numbers(scope, opcode, shape, "rng_uniform", (0, 1))
        return _is_half(scope, numbers)
    law = _distribution(scope, element_type)
    numbers = _numbers(scope, opcode, shape, law.name, (law.first, law.second))
    scope.build("and", [_compared(scope, numbers, "GE", law.ends[0]), _compared(scope, numbers, "LE", law.ends[1])])
    below_first, below_half, below_last = (_compared(scope, numbers, "LT", end) for end in law.quarters)
    made = scope.computation
    third = build(made, "and", [build(made, "not", [below_half]), below_last])
    middle = build(made, "and", [build(made, "not", [below_first]), below_last])
    halves = [below_half, middle, build(made, "or", [below_first, third])]
    return [_is_half(scope, half) for half in halves][-1]


def _numbers(scope: Scope, opcode: str, shape: ArrayShape, distribution: str, given: Sequence[float]) -> Instruction:
    """Random numbers, which are offered to nobody."""
    kind = shape.element_type
    operands = [_given(scope, number, kind) for number in given]
    return build(scope.computation, opcode, operands, shape=shape, distribution=distribution)


def _given(scope: Scope, number: float, kind: ElementType) -> Instruction:
    """A number, at times as the sum of itself and of what nobody knows to be 0."""
    one = scope.constant(number, kind)
    if kind is PRED or not chance(scope.choices, _UNKNOWN_PERCENT):
        return one
    unknown = scope.unknown(ArrayShape(S32, ()))
    nothing = build(scope.computation, "and", [unknown, build(scope.computation, "not", [unknown])])
    zero = build(scope.computation, "convert", [nothing], shape=ArrayShape(kind, ()))
    return build(scope.computation, "add", [one, zero])


def _compared(scope: Scope, numbers: Instruction, direction: str, limit: float) -> Instruction:
    one = scope.constant(limit, numbers.array.element_type)
    limits = build(scope.computation, "broadcast", [one], shape=numbers.array, dimensions=())
    return build(scope.computation, "compare", [numbers, limits], direction=direction)


def _is_half(scope: Scope, flags: Instruction) -> Instruction:
    """Whether about half of some truth values are true."""
    made, shape = scope.computation, flags.array.with_type(S32)
    ones, every = build(made, "convert", [flags], shape=shape), tuple(range(shape.rank))
    operands, adding = [ones, scope.constant(0, S32)], combiner(scope, "add", S32)
    count = build(made, "reduce", operands, to_apply=adding, dimensions=every)
    reach = _DEVIATIONS * math.sqrt(shape.size) / 2
    ends = [scope.constant(math.floor(shape.size / 2 + side * reach), S32) for side in (-1, 1)]
    clamped = build(made, "clamp", [ends[0], count, ends[1]])
    return scope.build("compare", [count, clamped], direction="EQ")


_TYPES = tuple(t for t in NUMBERS if (not t.is_complex and t.bits >= (16 if t.is_float else 8)) or t is PRED)
RECIPES: dict[str, Recipe] = {"rng": Recipe(_TYPES, _draw)}
