"""Recipes of sorts, and of what is chosen of a line: by a key as it is, or by what a comparator makes of it.

A comparator that makes something of its operands finds elements equal that differ, as JAX's does, to which all zeros
and all NaN are one: which of them comes first shows, and is the one that came first before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from compiler.generate.choices import Choices, chance, pick
from compiler.generate.combining import ORDERED, elements
from compiler.generate.flow import branch, may_flow, selected
from compiler.generate.recipe import COMPLEX, Recipe
from compiler.generate.scope import Scope
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED, ElementType
from compiler.ops.build import build, constant, parameter

_SECOND_PERCENT, _LEAST_PERCENT = 50, 40
"""How often a second key decides between equal ones; how often the least of a row are chosen."""
_END_PERCENT = 45
"""How often one of a line is chosen, or all, or all but one."""
_MADE_PERCENT, _LEAST_BITS = 35, 8
"""How often a key is made of an element, and of how many bits integers are then at least."""
_FLOWING_PERCENT = 10
"""How often the order of small arrays is said by way of a branch or a loop."""
_EXCHANGED_PERCENT = 25
"""How often the second of two elements stands first in a comparison."""
_SMALL = 1024
"""Elements of what is sorted, where arrays are not large."""

Key = Callable[[Instruction], Instruction]


def _number(value: Instruction, number: Any) -> Instruction:
    kind = value.array.element_type
    return constant(value.computation, scalar_literal(number, kind))


def _of(opcode: str, *operands: Instruction, **given: Any) -> Instruction:
    return build(operands[0].computation, opcode, operands, **given)


def _as_jax(value: Instruction) -> Instruction:
    """All zeros as one, and all that are no numbers."""
    is_zero = _of("compare", value, _number(value, 0), direction="EQ")
    made = _of("select", is_zero, _number(value, 0), value)
    return _of("select", _of("compare", value, value, direction="NE"), _number(value, math.nan), made)


_OF_FLOATS: Sequence[Key] = (_as_jax, _as_jax, lambda value: _of("abs", value), lambda value: _of("negate", value))
_OF_INTEGERS: Sequence[Key] = (
    lambda value: _of("not", value),
    lambda value: _of("shift-right-logical", value, _number(value, 2)),
    lambda value: _of("and", value, _number(value, 3)),
    lambda value: _of("multiply", value, _number(value, 64)),
)
"""What a comparator makes of an element."""


def sort(scope: Scope, operands: Sequence[Instruction], along: int) -> list[Instruction]:
    """The results of a sort by the first array, and perhaps by the second; floats in the total order, mostly as is.

    It is stable where equal keys are of elements that differ, or other arrays go along.

    Args:
        scope: where instructions are put, and the source of decisions.
        operands: arrays of the same dimensions, the keys first.
        along: the dimension along which they are sorted.
    """
    made = scope.program.computation("order")
    kinds = [operand.array.element_type for operand in operands]
    pairs = [parameter(made, 2 * k + side, ArrayShape(kind, ())) for k, kind in enumerate(kinds) for side in (0, 1)]
    key = _key(scope, kinds[0])
    first = [key(value) if key else value for value in pairs[:2]]
    made.root = _compared(scope, first)
    if len(operands) > 1 and kinds[1] in _KEYS and chance(scope.choices, _SECOND_PERCENT):
        is_equal = _of("compare", *first, direction="EQ", **_total(kinds[0]))
        made.root = _by_both(scope, made.root, is_equal, pairs[2:4])
    elif may_flow(scope) and chance(scope.choices, _FLOWING_PERCENT):
        made.root = selected(scope, made.root, pairs[:2])
    is_stable = len(operands) > 1 or key is not None or chance(scope.choices, 50)
    done = scope.build("sort", operands, dimensions=(along,), to_apply=made, is_stable=is_stable)
    if len(operands) == 1:
        return [done]
    return [scope.build("get-tuple-element", [done], index=k) for k in range(len(operands))]


def _by_both(scope: Scope, first: Instruction, is_equal: Instruction, second: Sequence[Instruction]) -> Instruction:
    """The order by a second key where first ones are equal, now and then by way of a branch."""
    if may_flow(scope) and chance(scope.choices, _FLOWING_PERCENT):
        return branch(scope, is_equal, [first, *second], (lambda v: _compared(scope, v[1:]), lambda v: v[0]))
    return _of("or", first, _of("and", is_equal, _compared(scope, second)))


def _key(scope: Scope, kind: ElementType) -> Key | None:
    """What is made of elements before they are compared; mostly nothing."""
    if kind is PRED or kind.bits < _LEAST_BITS or not chance(scope.choices, _MADE_PERCENT):
        return None
    return pick(scope.choices, _OF_FLOATS if kind.is_float else _OF_INTEGERS)


def _total(element_type: ElementType) -> dict[str, Any]:
    return {"type": "TOTALORDER"} if element_type.is_float else {}


def _compared(scope: Scope, pair: Sequence[Instruction]) -> Instruction:
    """One way in which two keys are in order."""
    direction = pick(scope.choices, ("LT", "GT"))
    pair = pair[::-1] if chance(scope.choices, _EXCHANGED_PERCENT) else pair
    return _of("compare", *pair, direction=direction, **_total(pair[0].array.element_type))


def _sort(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    key = scope.array(element_type, least_rank=1, size=scope.at_most(_SMALL))
    operands = [key]
    while scope.choices.more(len(operands), 3):
        other = scope.find(lambda shape: shape.dims == key.array.dims)
        operands.append(other or key)
    return sort(scope, operands, scope.choices.integer(0, key.array.rank - 1))[-1]


def how_many(choices: Choices, length: int, most: int) -> int:
    """How many of a line are chosen: one, all but one or all of them, or any number up to the most.

    Args:
        choices: the source of chance.
        length: of the line.
        most: how many are chosen at most, where it is not one of these.
    """
    if chance(choices, _END_PERCENT):
        return min(length, max(1, pick(choices, (length, length - 1, 1))))
    return choices.integer(min(1, length), min(most, length))


def _topk(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type, least_rank=1, size=scope.at_most(_SMALL))
    count = how_many(scope.choices, value.array.dims[-1], value.array.dims[-1])
    least = {"largest": False} if chance(scope.choices, _LEAST_PERCENT) else {}
    return elements(scope, scope.build("topk", [value], k=count, **least))


_KEYS = tuple(t for t in ORDERED if t not in COMPLEX)

RECIPES: dict[str, Recipe] = {
    "sort": Recipe(_KEYS, _sort),
    "topk": Recipe(tuple(t for t in _KEYS if t is not PRED), _topk),
}
