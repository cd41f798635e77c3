"""Calls of Python functions, as a caller gives custom calls their meanings: what back ends hand out, and take back.

The functions only move elements or count, so that whatever differs is what a back end did: which array it gave, in what
order, of what type, and where it put which result.  A process in which such programs are run is told of them by
`MEANINGS` beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.generate import sized_flow
from compiler.generate.choices import chance, pick
from compiler.generate.recipe import NUMBERS, Recipe
from compiler.generate.scope import Scope
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import PRED, ElementType, of_dtype
from compiler.ops.build import build

_SMALL, _MOST_SHIFT, _MOST_CALLS = 64, 5, 3
"""Elements of an array, how far elements are shifted, and how many calls stand in a row, at most."""
_OTHER_TYPE_PERCENT, _EFFECT_PERCENT, _EMPTY_PERCENT, _SAME_PERCENT = 40, 15, 5, 25
"""How often the second array is of another type; how often a call is said to have an effect besides its results; how
often there are no elements; and how often both arrays are one."""


def exchanged(one: Array, other: Array) -> tuple[Array, Array]:
    """Two arrays, the second first."""
    return other, one


def turned(array: Array) -> Array:
    """All dimensions in the opposite order; no copy is made, so that rows do not lie behind one another."""
    return array.T


def shifted(array: Array, backend_config: str) -> Array:
    """Each element as many places on as the call says, the last ones in front."""
    return np.roll(array, int(backend_config))


def joined(one: Array, other: Array) -> Array:
    """The bytes of two arrays, one behind the other."""
    return np.concatenate([np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other)])


def counted(array: Array) -> tuple[Array, Array]:
    """How many elements are not 0, and how many there are."""
    return np.array((array != 0).sum(), np.int32), np.array(array.size, np.uint16)


def numbers(backend_config: str) -> Array:
    """So many numbers, of nothing."""
    return np.arange(int(backend_config), dtype=np.int64)


FUNCTIONS: dict[str, tuple[Callable[..., Any], int, bool]] = {
    "exchanged": (exchanged, 2, False),
    "turned": (turned, 1, False),
    "shifted": (shifted, 1, True),
    "joined": (joined, 2, False),
    "counted": (counted, 1, False),
    "numbers": (numbers, 0, True),
}
"""The functions by name, how many arrays each takes, and whether it is told what the call says."""
_PREFIX = "xlabench."
MEANINGS = tuple(f"{_PREFIX}{name}={__name__}:{name}" for name in FUNCTIONS)
"""What the targets of these calls mean, in the form that users give meanings in."""


def _call(scope: Scope, value: Instruction) -> Instruction:
    """What one of the functions makes of a value; of several results all are the program's, or others' operands."""
    name = pick(scope.choices, tuple(FUNCTIONS))
    function, count, is_told = FUNCTIONS[name]
    operands = [value, _second(scope, value)][:count]
    told = {"backend_config": str(scope.choices.integer(0, _MOST_SHIFT))} if is_told else {}
    zeros = [np.zeros(operand.array.dims, operand.array.element_type.dtype) for operand in operands]
    made = function(*zeros, **told)
    shapes = tuple(_shape(array) for array in (made if isinstance(made, tuple) else (made,)))
    effect = {"custom_call_has_side_effect": True} if chance(scope.choices, _EFFECT_PERCENT) else {}
    shape = TupleShape(shapes) if isinstance(made, tuple) else shapes[0]
    attributes: dict[str, Any] = {"custom_call_target": f"{_PREFIX}{name}", **told, **effect}
    call = build(scope.computation, "custom-call", operands, shape=shape, **attributes)
    if not isinstance(made, tuple):
        scope.give([call], are_kept=False)
        return call
    results = [build(scope.computation, "get-tuple-element", [call], index=index) for index in range(len(made))]
    scope.give(results[1:], are_kept=True)
    scope.give(results[:1], are_kept=False)
    return results[0]


def _second(scope: Scope, value: Instruction) -> Instruction:
    """Another array, which may be of another type and shape, or the same one."""
    if chance(scope.choices, _SAME_PERCENT):
        return value
    if not chance(scope.choices, _OTHER_TYPE_PERCENT):
        return scope.like(value.array, beside=value)
    return scope.array(pick(scope.choices, scope.program.element_types), size=_SMALL)


def _shape(array: Array) -> ArrayShape:
    kind = of_dtype(array.dtype)
    assert kind is not None, f"there is no element type {array.dtype}"
    return ArrayShape(kind, array.shape)


_FLOWS = (_call, *sized_flow.steps(_call, _call).values())
"""A call where a program is, in a computation that is called, in branches and in a loop."""


def _draw(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    dims = (0, 3) if chance(scope.choices, _EMPTY_PERCENT) else scope.dims(0, 3, size=_SMALL)
    value, drawn = scope.parameter(ArrayShape(element_type, dims)), 0
    while drawn < 1 or scope.choices.more(drawn, _MOST_CALLS):
        value = pick(scope.choices, _FLOWS)(scope, value) or value
        drawn += 1
    return value


_HELD = tuple(kind for kind in NUMBERS if kind is PRED or kind.bits > 1)
"""Element types that NumPy has."""
CALLERS: dict[str, Recipe] = {"functions of the caller": Recipe(_HELD, _draw)}
"""Calls of the functions, as a kernel is."""
