"""Recipes of exchanges among devices: mostly of the one that there is, now and then of several, in groups of any order.

Where a program is for several devices, exchanges stand only where all of them come equally often: in a branch or a loop
some might never come to them, and the others would wait for ever.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler.generate.choices import chance, permutation, pick
from compiler.generate.combining import ORDERED, combiner, combiners
from compiler.generate.elementwise import spread
from compiler.generate.movement import smaller_dims
from compiler.generate.recipe import NUMBERS, Recipe
from compiler.generate.scope import Scope
from compiler.ir.devices import ReplicaGroups
from compiler.ir.literal import array_literal
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import S32, U32, ElementType
from compiler.ops.build import constant

_GROUPED_PERCENT = 70
"""How often a collective is among groups of devices; of such percentages see `generate/scope.py`."""
_SENT_PERCENT = 75
"""How often a device sends to its target: receivers without a sender get zeros."""
_SEVERAL_PERCENT = 25
"""How often two arrays are exchanged at once."""
_MOST_ROWS = 4
"""Rows that a device sends another in a ragged exchange."""


def _groups(scope: Scope, devices: int) -> tuple[tuple[int, ...], ...]:
    """Groups of equal sizes, each in any order."""
    order = permutation(scope.choices, devices)
    size = pick(scope.choices, [n for n in range(devices, 0, -1) if devices % n == 0])
    return tuple(tuple(order[first : first + size]) for first in range(0, devices, size))


def _draw(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    drawn = _drawn(scope, opcode, element_type)
    return None if drawn is None else scope.build(opcode, [drawn.value], shape=drawn.shape, **drawn.attributes)


def _perhaps_of_two(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    """An exchange of an array, or of two at once."""
    if scope.program.devices == 1 or not chance(scope.choices, _SEVERAL_PERCENT):
        return _draw(scope, opcode, element_type)
    drawn = _drawn(scope, opcode, element_type)
    if drawn is None:
        return None
    pair = [drawn.value, scope.like(drawn.value.array, beside=drawn.value)]
    done = scope.build(opcode, pair, shape=TupleShape((drawn.shape, drawn.shape)), **drawn.attributes)
    return scope.build("get-tuple-element", [done], index=scope.choices.integer(0, 1))


def _in_halves(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    """What begins an exchange, and what ends it."""
    whole = opcode.rpartition("-")[0]
    drawn = _drawn(scope, whole, element_type)
    if drawn is None:
        return None
    value, shape, attributes = drawn
    number = ArrayShape(U32, ())
    begun = {"all-reduce": shape, "all-gather": TupleShape((value.array, shape))}
    carried = begun.get(whole, TupleShape((value.array, shape, number, number)))
    start = scope.build(f"{whole}-start", [value], shape=carried, **attributes)
    return scope.build(f"{whole}-done", [start])


class _Exchange(NamedTuple):
    """What is exchanged, what comes of it, and how."""

    value: Instruction
    shape: ArrayShape
    attributes: dict[str, Any]


def _drawn(scope: Scope, opcode: str, element_type: ElementType) -> _Exchange | None:
    devices = scope.program.devices
    if devices > 1 and not scope.everyone:
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
    return _Exchange(value, value.array.with_dims(tuple(dims)), attributes) if scope.fits(dims) else None


def _ragged(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    """Each device sends as many rows as the receiver wants, from anywhere, to a place of its own at the receiver."""
    devices = scope.program.devices
    if (devices > 1 and not scope.everyone) or not _has_own(scope):
        return None
    value = scope.array(element_type, least_rank=1, most_rank=3)
    rows, rest = value.array.dims[0], value.array.dims[1:]
    sizes = [scope.choices.integer(0, min(rows, _MOST_ROWS)) for _ in range(devices)]
    starts = [scope.choices.integer(0, rows - size) for size in sizes]
    room = max(sizes) * devices + scope.choices.integer(0, 2)
    if not scope.fits([room, *rest]):
        return None
    target = scope.like(ArrayShape(element_type, (room, *rest)))
    order = permutation(scope.choices, devices)
    offset = _own(scope, [max(sizes) * device for device in range(devices)])
    wanted = _own(scope, [sizes[order.index(device)] for device in range(devices)])
    offsets, received = (spread(scope, scalar, ArrayShape(S32, (devices,))) for scalar in (offset, wanted))
    operands = [value, target, _table(scope, starts), _table(scope, sizes), offsets, received]
    return scope.build(opcode, operands, replica_groups=ReplicaGroups((tuple(order),)))


def _table(scope: Scope, numbers: list[int]) -> Instruction:
    return constant(scope.computation, array_literal(np.asarray(numbers, np.int32), S32))


def _has_own(scope: Scope) -> bool:
    """Whether a device may be asked for its number."""
    return ("replica-id", U32.name) not in scope.program.space.banned


def _own(scope: Scope, numbers: list[int]) -> Instruction:
    """Of numbers for all devices a device's own."""
    device = scope.build("convert", [scope.build("replica-id")], shape=ArrayShape(S32, ()))
    own = scope.build("dynamic-slice", [_table(scope, numbers), device], dynamic_slice_sizes=(1,))
    return scope.build("reshape", [own], shape=ArrayShape(S32, ()))


def _permuted(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    """What another device has, or zeros: as one exchange, in two halves, or slices of it in an array of one's own."""
    is_alone = scope.program.devices == 1 or scope.depth or not _has_own(scope)
    form = _draw if is_alone else pick(scope.choices, (_draw, _perhaps_of_two, _sent, _slices_sent))
    return form(scope, opcode, element_type)


def _sent(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    """By a `send` and the `recv` that is for it."""
    value = scope.array(element_type)
    sends = sum(one.opcode == "send" for one in scope.computation.instructions)
    listed = ",".join(f"{{{source},{target}}}" for source, target in _pairs(scope, scope.program.devices))
    given: dict[str, Any] = {
        "channel_id": sends + 1,
        "frontend_attributes": (("_xla_send_recv_source_target_pairs", f"{{{listed}}}"),),
    }
    sent = scope.build("send-done", [scope.build("send", [value, scope.build("after-all")], **given)])
    carried = TupleShape((value.array, ArrayShape(U32, ()), sent.shape))
    received = scope.build("recv-done", [scope.build("recv", [sent], shape=carried, **given)])
    return scope.build("get-tuple-element", [received], index=0)


def _slices_sent(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """From where a sender says to where a receiver says, which are other indices on each device."""
    value, devices = scope.array(element_type, least_rank=1, most_rank=3), scope.program.devices
    target = scope.like(value.array, beside=value)
    sizes, begins, ends = list[tuple[int, ...]](), list[Instruction](), list[Instruction]()
    for _ in range(scope.choices.integer(1, 2)):
        sizes.append(smaller_dims(scope, value.array.dims))
        room = [size - length for size, length in zip(value.array.dims, sizes[-1], strict=True)]
        for starts in (begins, ends):
            own = [_own(scope, [scope.choices.integer(0, most) for _ in range(devices)]) for most in room]
            starts.append(scope.build("tuple", own))
    is_one = len(sizes) == 1
    operands = [value, target, *(starts[0] if is_one else scope.build("tuple", starts) for starts in (begins, ends))]
    pairs = _pairs(scope, devices)
    return scope.build(opcode, operands, slice_sizes=sizes[0] if is_one else tuple(sizes), source_target_pairs=pairs)


def _pairs(scope: Scope, devices: int) -> tuple[tuple[int, int], ...]:
    """Who sends to whom, some to nobody."""
    targets = enumerate(permutation(scope.choices, devices))
    return tuple(pair for pair in targets if chance(scope.choices, _SENT_PERCENT))


def _number(scope: Scope, opcode: str, _: ElementType) -> Instruction:
    return scope.build(opcode)


def agreed(scope: Scope, value: Instruction) -> Instruction:
    """A value of integers or truths that all devices have alike."""
    kind = value.array.element_type
    everyone = ReplicaGroups((tuple(range(scope.program.devices)),))
    reducer = combiner(scope, pick(scope.choices, ("and", "or")), kind)
    return scope.build("all-reduce", [value], to_apply=reducer, replica_groups=everyone)


RECIPES: dict[str, Recipe] = {
    "all-gather": Recipe(NUMBERS, _perhaps_of_two),
    "all-reduce": Recipe(ORDERED, _perhaps_of_two),
    "reduce-scatter": Recipe(ORDERED, _perhaps_of_two),
    "all-to-all": Recipe(NUMBERS, _draw),
    "collective-broadcast": Recipe(NUMBERS, _draw),
    "collective-permute": Recipe(NUMBERS, _permuted),
    **dict.fromkeys(("all-gather-start", "all-gather-done"), Recipe(NUMBERS, _in_halves)),
    **dict.fromkeys(("all-reduce-start", "all-reduce-done"), Recipe(ORDERED, _in_halves)),
    **dict.fromkeys(("collective-permute-start", "collective-permute-done"), Recipe(NUMBERS, _in_halves)),
    "ragged-all-to-all": Recipe(NUMBERS, _ragged),
    "partition-id": Recipe((U32,), _number),
    "replica-id": Recipe((U32,), _number),
}
