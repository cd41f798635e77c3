"""Recipes of exchanges among devices: mostly of the one that there is, now and then of several, in groups of any order.

Where a program is for several devices, exchanges stand in the entry computation only: in a branch or a loop some of the
devices might never come to them, and the others would wait for ever.
"""

from __future__ import annotations

from typing import Any

from compiler.generate.choices import chance, permutation, pick
from compiler.generate.combining import ORDERED, combiner, combiners
from compiler.generate.recipe import NUMBERS, Recipe
from compiler.generate.scope import Scope
from compiler.ir.devices import ReplicaGroups
from compiler.ir.module import Instruction
from compiler.ir.types import U32, ElementType

_GROUPED_PERCENT = 70
_SENT_PERCENT = 75


def _groups(scope: Scope, devices: int) -> tuple[tuple[int, ...], ...]:
    """Groups of equal sizes, each in any order."""
    order = permutation(scope.choices, devices)
    size = pick(scope.choices, [n for n in range(devices, 0, -1) if devices % n == 0])
    return tuple(tuple(order[first : first + size]) for first in range(0, devices, size))


def _draw(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    devices = scope.program.devices
    if devices > 1 and scope.depth:
        return None
    value = scope.array(element_type, least_rank=1)
    dims, attributes = list(value.array.dims), dict[str, Any]()
    groups = _groups(scope, devices)
    if devices > 1 and not chance(scope.choices, _GROUPED_PERCENT):
        groups = (tuple(range(devices)),)
    along = scope.choices.integer(0, value.array.rank - 1)
    if opcode in ("all-reduce", "reduce-scatter"):
        combining = pick(scope.choices, combiners(element_type)) if devices > 1 else "add"
        attributes["to_apply"] = combiner(scope, combining, element_type)
    if opcode == "collective-permute":
        attributes["source_target_pairs"] = _pairs(scope, devices)
    elif devices > 1 or opcode == "all-to-all":
        attributes["replica_groups"] = ReplicaGroups(groups)
    if opcode in ("all-gather", "reduce-scatter", "all-to-all"):
        attributes["dimensions"] = (along,)
    size = len(groups[0])
    if opcode in ("reduce-scatter", "all-to-all") and dims[along] % size:
        return None
    dims[along] = dims[along] * size if opcode == "all-gather" else dims[along]
    dims[along] = dims[along] // size if opcode == "reduce-scatter" else dims[along]
    if not scope.fits(dims):
        return None
    return scope.build(opcode, [value], shape=value.array.with_dims(tuple(dims)), **attributes)


def _pairs(scope: Scope, devices: int) -> tuple[tuple[int, int], ...]:
    """Who sends to whom, some to nobody."""
    targets = enumerate(permutation(scope.choices, devices))
    return tuple(pair for pair in targets if chance(scope.choices, _SENT_PERCENT))


def _number(scope: Scope, opcode: str, _: ElementType) -> Instruction:
    return scope.build(opcode)


RECIPES: dict[str, Recipe] = {
    "all-gather": Recipe(NUMBERS, _draw),
    "all-reduce": Recipe(ORDERED, _draw),
    "reduce-scatter": Recipe(ORDERED, _draw),
    "all-to-all": Recipe(NUMBERS, _draw),
    "collective-broadcast": Recipe(NUMBERS, _draw),
    "collective-permute": Recipe(NUMBERS, _draw),
    "partition-id": Recipe((U32,), _number),
    "replica-id": Recipe((U32,), _number),
}
