"""Reducers that choose one of two values with its number, as frontends write an argmax, and what is near it.

Passes look for just these: they may be combined in any order, as long as the numbers are the elements' own, count
along the one dimension that is reduced, and decide between equal values.  Where one of these is not so, only the
order that was written is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compiler.generate.choices import chance, pick
from compiler.generate.scope import Scope
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import integer_bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, ElementType
from compiler.ops.build import build, parameter

_OTHER_TYPE_PERCENT, _OTHER_NUMBERS_PERCENT, _LEAST_BITS = 30, 30, 8
"""How often numbers are not s32; how often they are not those of the elements; bits of their type at least."""
_SPREAD_PERCENT = 30
"""How often the numbers are one line of them, spread over all others."""
_LAST_PERCENT, _UNNUMBERED_PERCENT, _MASKED_PERCENT = 25, 25, 30
"""How often the last of equal values is chosen; how often it is left to their order which of them is, and then by sums
of both, one times 0."""
_OPPOSITE = {"GT": "LE", "LE": "GT", "LT": "GE", "GE": "LT"}


class Chooser(NamedTuple):
    """A reducer of a value and its number, and the number of the initial value, by which no other loses to it.

    Where the order of equal values decides, the initial one comes first.
    """

    computation: Computation
    start: int


def numbers_of(scope: Scope, dims: Sequence[int], axis: int) -> Instruction:
    """The numbers of elements along a dimension; now and then others: backwards, or along another dimension.

    Args:
        scope: where they stand.
        dims: of the elements.
        axis: the dimension.
    """
    kind = pick(scope.choices, _types(scope)) if chance(scope.choices, _OTHER_TYPE_PERCENT) else S32
    shape = ArrayShape(kind, tuple(dims))
    if not chance(scope.choices, _OTHER_NUMBERS_PERCENT):
        return _counted(scope, shape, axis)
    along = scope.choices.integer(0, len(dims) - 1)
    counted = scope.build("iota", shape=shape, iota_dimension=along)
    is_able = scope.program.space.allows("reverse", kind)
    return scope.build("reverse", [counted], dimensions=(along,)) if along == axis and is_able else counted


def _counted(scope: Scope, shape: ArrayShape, axis: int) -> Instruction:
    """Numbers along a dimension, now and then as a line of them that is spread over the others."""
    is_able = scope.program.space.allows("broadcast", shape.element_type)
    if not is_able or not chance(scope.choices, _SPREAD_PERCENT):
        return scope.build("iota", shape=shape, iota_dimension=axis)
    line = scope.build("iota", shape=ArrayShape(shape.element_type, (shape.dims[axis],)), iota_dimension=0)
    return scope.build("broadcast", [line], shape=shape, dimensions=(axis,))


def _types(scope: Scope) -> list[ElementType]:
    return [t for t in scope.program.element_types if t.is_integer and t.bits >= _LEAST_BITS] or [S32]


def chooser(
    scope: Scope, value: ElementType, number: ElementType, direction: str, *, is_ordered: bool = True
) -> Chooser:
    """A reducer that chooses the value that compares so with the other, NaN before all others.

    Args:
        scope: where it is for.
        value: the type of the values.
        number: the type of their numbers.
        direction: of the comparison.
        is_ordered: whether any two values compare, none of them NaN, of which brackets would decide.
    """
    made = scope.program.computation("argmax")
    shapes = [ArrayShape(kind, ()) for kind in (value, number) * 2]
    a, i, b, j = (parameter(made, position, shape) for position, shape in enumerate(shapes))
    is_last = chance(scope.choices, _LAST_PERCENT)
    is_by_order = is_ordered and chance(scope.choices, _UNNUMBERED_PERCENT)
    if is_by_order:
        chosen = build(made, "compare", [a, b], direction=direction if is_last else direction.replace("T", "E"))
    else:
        chosen = _by_number(made, (a, i), (b, j), (direction, "GT" if is_last else "LT"))
    pairs = ((a, b), (i, j))
    if is_by_order and value.is_integer and chance(scope.choices, _MASKED_PERCENT):
        results = _masked(chosen, pairs)
    else:
        results = [build(made, "select", [chosen, *pair]) for pair in pairs]
    made.root = build(made, "tuple", results)
    low, high = integer_bounds(number)
    return Chooser(made, low if is_last or is_by_order else high)


def _masked(chosen: Instruction, pairs: Sequence[Sequence[Instruction]]) -> list[Instruction]:
    """Of each pair of integers the first where a comparison holds, as the sum of both times what it is or is not."""
    made, direction = chosen.computation, _OPPOSITE[chosen.attributes["direction"]]
    flags = (chosen, build(made, "compare", chosen.operands, direction=direction))
    found = []
    for pair in pairs:
        terms = [build(made, "multiply", [build(made, "convert", [flag], shape=value.shape), value])
                 for flag, value in zip(flags, pair, strict=True)]  # fmt: skip
        found.append(build(made, "add", terms))
    return found


def _by_number(
    made: Computation, left: Sequence[Instruction], right: Sequence[Instruction], directions: tuple[str, str]
) -> Instruction:
    """Whether the left value is chosen, of equal ones by their numbers."""
    (a, i), (b, j) = left, right
    a_nan, b_nan = (build(made, "compare", [x, x], direction="NE") for x in (a, b))
    only_a_nan = build(made, "and", [a_nan, build(made, "not", [b_nan])])
    above = build(made, "or", [build(made, "compare", [a, b], direction=directions[0]), only_a_nan])
    both_nan = build(made, "and", [a_nan, b_nan])
    equal = build(made, "or", [build(made, "compare", [a, b], direction="EQ"), both_nan])
    tie = build(made, "and", [equal, build(made, "compare", [i, j], direction=directions[1])])
    return build(made, "or", [above, tie])
