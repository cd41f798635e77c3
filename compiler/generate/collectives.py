"""Recipes of exchanges among devices: mostly of the one that there is, now and then of several, in groups of any order.

Where a program is for several devices, exchanges stand only where all of them come equally often: in a branch or a loop
some might never come to them, and the others would wait for ever.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from compiler.generate import bodies
from compiler.generate.choices import chance, permutation, pick
from compiler.generate.combining import ORDERED, combiner, combiners
from compiler.generate.elementwise import takes
from compiler.generate.movement import smaller_dims
from compiler.generate.recipe import NUMBERS, Draw, Recipe
from compiler.generate.scope import Scope
from compiler.ir.devices import ReplicaGroups
from compiler.ir.literal import array_literal
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.shape_rules import tuple_or_single
from compiler.ir.types import S32, U32, ElementType
from compiler.ops import Trait, having
from compiler.ops.build import build, constant

_GROUPED_PERCENT = 70
"""How often a collective is among groups of devices; of such percentages see `generate/scope.py`."""
_SENT_PERCENT = 75
"""How often a device sends to its target: receivers without a sender get zeros."""
_HALVES_PERCENT = 30
"""How often slices are sent in two halves."""
_SEVERAL_PERCENT = 25
"""How often two arrays are exchanged at once."""
_MOST_ROWS, _MOST_PIECES = 4, 2
"""Rows of a piece that a device sends another in a ragged exchange, and pieces that it sends each."""
_MOST_AT_ONCE, _MOST_GOING, _MORE_PERCENT, _READ_PERCENT = 3, 3, 40, 60
"""Arrays that an exchange in two halves carries; exchanges that are begun before one ends; how often there is
another of either; how often an operand is read meanwhile, or something else computed."""
_BEGUN = sorted(op for op in having(Trait.ASYNC) & having(Trait.COLLECTIVE) if op.endswith("-start"))


def _groups(scope: Scope, devices: int) -> tuple[tuple[int, ...], ...]:
    """Groups of equal sizes, each in any order."""
    order = permutation(scope.choices, devices)
    sizes = [n for n in range(devices, 0, -1) if devices % n == 0]
    size = pick(scope.choices, [*sizes, *sizes[1:-1]])  # groups of several twice as often
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
    """What begins exchanges, what is computed meanwhile, and what ends them, in any order."""
    first = _begun(scope, opcode.rpartition("-")[0], element_type)
    if first is None:
        return None
    going = [first]
    while scope.choices.more(len(going), _MOST_GOING) and chance(scope.choices, _MORE_PERCENT):
        allowed = [
            s
            for s in _BEGUN
            if element_type in RECIPES[s].element_types and scope.program.space.allows(s, element_type)
        ]
        other = _begun(scope, pick(scope.choices, allowed).removesuffix("-start"), element_type) if allowed else None
        going += [other] if other is not None else []
    _meanwhile(scope, [operand for start in going for operand in start.operands])
    ended = [going[number] for number in permutation(scope.choices, len(going))]
    return [bodies.elements(scope, scope.build(s.opcode.replace("-start", "-done"), [s])) for s in ended][-1][-1]


def _begun(scope: Scope, whole: str, element_type: ElementType) -> Instruction | None:
    """What begins an exchange of an array, or of several at once."""
    drawn = _drawn(scope, whole, element_type)
    if drawn is None:
        return None
    values, shapes = [drawn.value], [drawn.shape]
    while chance(scope.choices, _MORE_PERCENT) and len(values) < _MOST_AT_ONCE:
        is_alike = whole == "all-gather" or chance(scope.choices, 50)
        other = scope.like(drawn.value.array, beside=drawn.value) if is_alike else scope.array(element_type)
        values.append(other)
        shapes.append(drawn.shape if is_alike else ArrayShape(element_type, other.array.dims))
    given, made = (tuple_or_single(found) for found in ([value.array for value in values], shapes))
    number = ArrayShape(U32, ())
    begun = {"all-reduce": made, "all-gather": TupleShape((given, made))}
    carried = begun.get(whole, TupleShape((given, made, number, number)))
    # Not offered, even where it is an array: nothing may read it before it is ended.
    return build(scope.computation, f"{whole}-start", values, shape=carried, **drawn.attributes)


def _meanwhile(scope: Scope, operands: list[Instruction]) -> None:
    """What reads operands while they are exchanged, and what has nothing to do with them."""
    for value in operands:
        kind = value.array.element_type
        allowed = [
            opcode for opcode in bodies.UNARY if scope.program.space.allows(opcode, kind) and kind in takes(opcode)
        ]
        if allowed and chance(scope.choices, _READ_PERCENT):
            scope.build(pick(scope.choices, allowed), [value])
    if chance(scope.choices, _READ_PERCENT):
        bodies.fill_elementwise(scope)


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
    """Each device sends others of its group rows from anywhere, to places of its own at each receiver."""
    devices, choices = scope.program.devices, scope.choices
    if (devices > 1 and not scope.everyone) or not _has_own(scope):
        return None
    value = scope.array(element_type, least_rank=1, most_rank=3)
    rows, rest, groups = value.array.dims[0], value.array.dims[1:], _groups(scope, devices)
    size, pieces = len(groups[0]), choices.integer(1, _MOST_PIECES)
    sizes = [[choices.integer(0, min(rows, _MOST_ROWS)) for _ in range(size * pieces)] for _ in range(devices)]
    starts = [[choices.integer(0, rows - length) for length in line] for line in sizes]
    longest = max(map(max, sizes))
    room = longest * size * pieces + choices.integer(0, 2)
    if not scope.fits([room, *rest]):
        return None
    offsets, received = ([[0] * (size * pieces) for _ in range(devices)] for _ in range(2))
    for group in groups:
        for sender, receiver, piece in product(range(size), range(size), range(pieces)):
            at = receiver * pieces + piece
            offsets[group[sender]][at] = longest * (sender * pieces + piece)
            received[group[receiver]][sender * pieces + piece] = sizes[group[sender]][at]
    target = scope.like(ArrayShape(element_type, (room, *rest)))
    tables = [_own_line(scope, lines) for lines in (starts, sizes, offsets, received)]
    return scope.build(opcode, [value, target, *tables], replica_groups=ReplicaGroups(groups))


def _table(scope: Scope, numbers: list[int]) -> Instruction:
    return constant(scope.computation, array_literal(np.asarray(numbers, np.int32), S32))


def _has_own(scope: Scope) -> bool:
    """Whether a device may be asked for its number."""
    return ("replica-id", U32.name) not in scope.program.space.banned


def _own(scope: Scope, numbers: list[int]) -> Instruction:
    """Of numbers for all devices a device's own."""
    own = _own_line(scope, [[number] for number in numbers])
    return scope.build("reshape", [own], shape=ArrayShape(S32, ()))


def _own_line(scope: Scope, lines: list[list[int]]) -> Instruction:
    """Of lines of numbers for all devices a device's own."""
    if scope.program.devices == 1:
        return _table(scope, lines[0])
    device = scope.build("convert", [scope.build("replica-id")], shape=ArrayShape(S32, ()))
    length = len(lines[0])
    starts = [_table(scope, [number for line in lines for number in line]), scope.build(
        "multiply", [device, scope.constant(length, S32)])]  # fmt: skip
    return scope.build("dynamic-slice", starts, dynamic_slice_sizes=(length,))


def _permuted(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    """What another device has, or zeros: as one exchange, in two halves, or slices of it in an array of one's own."""
    forms: tuple[Draw, ...] = (_draw, _perhaps_of_two, _sent, _slices_sent)
    if scope.program.devices == 1:
        forms = (_draw, _slices_sent)
    elif scope.depth or not _has_own(scope):
        forms = (_draw,)
    return pick(scope.choices, forms)(scope, opcode, element_type)


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
    given: dict[str, Any] = {
        "slice_sizes": sizes[0] if is_one else tuple(sizes),
        "source_target_pairs": _pairs(scope, devices),
    }
    if not (chance(scope.choices, _HALVES_PERCENT) and scope.program.space.allows(f"{opcode}-start", element_type)):
        return scope.build(opcode, operands, **given)
    number = ArrayShape(U32, ())
    carried = TupleShape((value.array, target.array, number, number))
    begun = build(scope.computation, f"{opcode}-start", operands, shape=carried, **given)
    return scope.build(f"{opcode}-done", [begun])


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
