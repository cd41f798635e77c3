"""Recipes of opcodes that move data: by a pattern written in the program, or by indices computed at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from compiler.generate.choices import chance, permutation, pick, subset, turned
from compiler.generate.derived import derived
from compiler.generate.elementwise import takes
from compiler.generate.recipe import NUMBERS, Recipe, narrowed
from compiler.generate.scope import SIZES, Scope
from compiler.ir.attributes import PaddingDimension, SliceDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, Layout
from compiler.ir.types import PRED, ElementType, Kind
from compiler.ir.windows import padded_size
from compiler.ops import Trait, having
from compiler.ops.build import build

_SQUARE_PERCENT = 40  # what takes one dimension for another shows where both have the same size
_TURNED, _TURNED_PERCENT = 3, 60
"""Dimensions from which on there are orders that are not their own inverses, and how often one is drawn."""
_DERIVED_PERCENT = 25
"""How often what is moved is derived from a value at hand."""
_PAIRED_PERCENT, _BARE_PERCENT, _ONE_PERCENT = 20, 30, 20
"""How often indices go along with dimensions of what they are into; how often single ones have no dimension of 1; how
often there is but one of them, which rewrites look for."""
_OF_SLICE_PERCENT, _REVERSED_PERCENT, _CHANGES = 30, 25, sorted(having(Trait.ASSOCIATIVE))
"""How often an array is updated by what is made of a slice of it, as where something is added to one; how often that
is turned round first; and how it is made."""
_UNEVEN_PERCENT = 40
"""How often padding that is the same at both ends is made uneven."""
_READ_AS_PERCENT, _LAID_OUT_PERCENT, _BYTE = 30, 50, 8
"""How often memory is read as another type, and how often in another order; the least bits of what it is read as."""
_UNITS_PERCENT, _NEW_UNIT_PERCENT = 35, 20
"""How often a reshape only adds or drops dimensions of size 1, and how often one that a broadcast adds is such."""


def _broadcast(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    value = scope.array(element_type, most_rank=3)
    if 0 in value.array.dims:
        return None
    dims, mapping = dims_broadcast(scope, value.array.dims, scope.choices.integer(1, 2))
    return scope.build(opcode, [value], shape=ArrayShape(element_type, dims), dimensions=mapping) if dims else None


def dims_broadcast(scope: Scope, dims: Sequence[int], more: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Dimensions with so many more among them, and the places of the old ones; nothing where there is no room.

    Now and then one of the new ones is as long as one that is there, or 1.

    Args:
        scope: says how large arrays may be.
        dims: of the array that is broadcast.
        more: dimensions that are added.
    """
    sides, is_new = list(dims), [False] * len(dims)
    for _ in range(more):
        fitting = [n for n in SIZES if scope.fits([*sides, n])]
        present = [n for n in sides if n > 1 and n in fitting]
        if not fitting:
            return (), ()
        wanted = present if present and chance(scope.choices, _SQUARE_PERCENT) else fitting
        position = scope.choices.integer(0, len(sides))
        sides.insert(position, pick(scope.choices, [1] if chance(scope.choices, _NEW_UNIT_PERCENT) else wanted))
        is_new.insert(position, True)
    return tuple(sides), tuple(position for position, new in enumerate(is_new) if not new)


def factorised(scope: Scope, size: int) -> tuple[int, ...]:
    """Dimensions whose product is `size`."""
    dims: list[int] = []
    rest = size
    while rest > 1 and len(dims) < 3 and scope.choices.more(len(dims), 3):
        divisors = [d for d in range(2, min(rest, 64) + 1) if rest % d == 0]
        if not divisors:
            break
        dims.append(pick(scope.choices, divisors))
        rest //= dims[-1]
    dims.append(rest)
    if chance(scope.choices, 20):
        dims.insert(scope.choices.integer(0, len(dims)), 1)
    return tuple(dims)


def _reshape(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type)
    is_near = chance(scope.choices, _UNITS_PERCENT)
    dims = _with_units(scope, value.array.dims) if is_near else factorised(scope, value.array.size)
    return scope.build(opcode, [value], shape=ArrayShape(element_type, dims))


def _with_units(scope: Scope, dims: Sequence[int]) -> tuple[int, ...]:
    """The same dimensions, with others of size 1 among them."""
    sides = [n for n in dims if n != 1]
    for _ in range(scope.choices.integer(0, 2)):
        sides.insert(scope.choices.integer(0, len(sides)), 1)
    return tuple(sides)


def _transpose(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.cube(element_type) or scope.array(element_type, least_rank=1)
    rank = value.array.rank
    is_turned = rank >= _TURNED and chance(scope.choices, _TURNED_PERCENT)
    order = turned(scope.choices, rank) if is_turned else list(reversed(permutation(scope.choices, rank)))
    return scope.build(opcode, [value], dimensions=tuple(order))


def _reverse(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type, least_rank=1)
    return scope.build(opcode, [value], dimensions=tuple(subset(scope.choices, range(value.array.rank), 60)))


def _slice(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type, least_rank=1)
    ranges = []
    for size in value.array.dims:
        start = scope.choices.integer(0, max(0, size - 1))
        limit = scope.choices.integer(min(size, start + 1), size)
        ranges.append(SliceDimension(start, limit, pick(scope.choices, (1, 1, 1, 2, 3))))
    return scope.build(opcode, [value], slice=tuple(ranges))


_PADDINGS = (0, 0, 1, 2, 7, -1)
"""Elements of padding at an end: mostly none, one more than a stride, more than a vector's half, and one taken away."""


def _pad(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    value = scope.array(element_type, least_rank=1)
    padding = []
    for size in value.array.dims:
        low, high = (pick(scope.choices, _PADDINGS) for _ in range(2))
        if low == high and chance(scope.choices, _UNEVEN_PERCENT):
            high = low + 1
        dimension = PaddingDimension(low, high, pick(scope.choices, (0, 0, 0, 1, 2)))
        padding.append(dimension if padded_size(size, dimension) >= 0 else PaddingDimension(0, 0))
    dims = [padded_size(size, dimension) for size, dimension in zip(value.array.dims, padding, strict=True)]
    if not scope.fits(dims):
        return None
    filling = scope.find(lambda shape: shape == ArrayShape(element_type, ())) or scope.small_constant(element_type)
    return scope.build(opcode, [value, filling], padding=tuple(padding))


def _concatenate(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    first = scope.array(element_type, least_rank=1)
    along = scope.choices.integer(0, first.array.rank - 1)
    operands = [first]
    rest = [n for d, n in enumerate(first.array.dims) if d != along]
    while scope.choices.more(len(operands) - 1, 3):
        found = scope.find(
            lambda shape: (
                shape.element_type is element_type
                and shape.rank == first.array.rank
                and [n for d, n in enumerate(shape.dims) if d != along] == rest
            )
        )
        operands.append(found or first)
    total = sum(operand.array.dims[along] for operand in operands)
    return scope.build(opcode, operands, dimensions=(along,)) if scope.fits([*rest, total]) else None


def _iota(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    shape = ArrayShape(element_type, scope.dims(1))
    return scope.build(opcode, shape=shape, iota_dimension=scope.choices.integer(0, shape.rank - 1))


def _bitcast(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    """What lies in memory as another array: of other dimensions in another order, at times of another type."""
    value = scope.array(element_type)
    kind = _read_as(scope, value.array) if chance(scope.choices, _READ_AS_PERCENT) else element_type
    shape = ArrayShape(kind, factorised(scope, value.array.size * element_type.bits // kind.bits))
    if not scope.fits(shape.dims):
        return None
    if kind is element_type and not chance(scope.choices, _LAID_OUT_PERCENT):
        return scope.build(opcode, [value], shape=shape)
    # Only the last is offered: other recipes know of no layouts.
    laid_out = build(scope.computation, "copy", [value], shape=_laid_out(scope, value.array))
    read = build(scope.computation, opcode, [laid_out], shape=_laid_out(scope, shape))
    return scope.build("copy", [read], shape=shape)


def _read_as(scope: Scope, shape: ArrayShape) -> ElementType:
    """A type as elements of which an array may be read, be they wider or narrower."""
    kinds = (Kind.COMPLEX, Kind.PRED)
    if shape.element_type.kind in kinds or shape.element_type.bits < _BYTE:
        return shape.element_type
    bits = shape.size * shape.element_type.bits
    others = [t for t in narrowed(NUMBERS, scope) if t.kind not in kinds and t.bits >= _BYTE and not bits % t.bits]
    return pick(scope.choices, others or [shape.element_type])


def _laid_out(scope: Scope, shape: ArrayShape) -> ArrayShape:
    """An array whose dimensions lie in memory in any order; a scalar has none to say."""
    if not shape.rank:
        return shape
    return replace(shape, layout=Layout(tuple(permutation(scope.choices, shape.rank))))


def _get_dimension_size(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type, least_rank=1)
    return scope.build(opcode, [value], dimensions=(scope.choices.integer(0, value.array.rank - 1),))


def _starts(scope: Scope, value: Instruction) -> list[Instruction]:
    """Start indices as scalars: small numbers, parameters, elements of whatever is there, and of the array itself."""
    shape = ArrayShape(scope.index_type(value.array.dims), ())
    return [
        scope.small_constant(shape.element_type) if chance(scope.choices, 20) else perhaps_of(scope, value, shape)
        for _ in range(value.array.rank)
    ]


def perhaps_of(scope: Scope, source: Instruction, shape: ArrayShape) -> Instruction:
    """A value of a shape, now and then one that is made of another value.

    Args:
        scope: where instructions are added.
        source: the other value.
        shape: of the result.
    """
    made = derived(scope, source, shape) if chance(scope.choices, _DERIVED_PERCENT) else None
    return made or scope.like(shape)


def smaller_dims(scope: Scope, dims: tuple[int, ...], *, least: int = 1) -> tuple[int, ...]:
    """Sizes that fit into dimensions.

    Args:
        scope: whose choices are asked.
        dims: sizes of an array.
        least: the smallest size of the part along each dimension, where there is room.
    """
    return tuple(scope.choices.integer(min(least, n), n) for n in dims)


def _dynamic_slice(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type, least_rank=1, most_rank=3)
    sizes = smaller_dims(scope, value.array.dims)
    return scope.build(opcode, [value, *_starts(scope, value)], dynamic_slice_sizes=sizes)


def _dynamic_update_slice(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type, least_rank=1, most_rank=3)
    inside = scope.find(
        lambda shape: (
            shape.element_type is element_type
            and shape.rank == value.array.rank
            and all(a <= b for a, b in zip(shape.dims, value.array.dims, strict=True))
        )
    )
    if chance(scope.choices, _OF_SLICE_PERCENT):
        starts = _starts(scope, value)
        return scope.build(opcode, [value, _changed_slice(scope, value, starts), *starts])
    update = inside if inside is not None and inside is not value else None
    update = update or perhaps_of(scope, value, ArrayShape(element_type, smaller_dims(scope, value.array.dims)))
    return scope.build(opcode, [value, update, *_starts(scope, value)])


def _changed_slice(scope: Scope, value: Instruction, starts: Sequence[Instruction]) -> Instruction:
    """Something made of a slice of an array that is to be updated: of the same one as the update, or of another."""
    others = starts if chance(scope.choices, 50) else _starts(scope, value)
    sizes, element_type = smaller_dims(scope, value.array.dims), value.array.element_type
    taken = scope.build("dynamic-slice", [value, *others], dynamic_slice_sizes=sizes)
    banned = scope.program.space.banned
    if ("reverse", element_type.name) not in banned and chance(scope.choices, _REVERSED_PERCENT):
        # Whoever writes the update in place must have read this end of the slice before.
        taken = scope.build("reverse", [taken], dimensions=tuple(subset(scope.choices, range(len(sizes)), 60)))
    able = [name for name in _CHANGES if element_type in takes(name) and (name, element_type.name) not in banned]
    if not able:
        return taken
    return scope.build(pick(scope.choices, able), [taken, scope.like(taken.array, beside=taken)])


class Indices(NamedTuple):
    """Indices into an array: how they lie, and which dimensions of it they are for.

    Attributes:
        dims: of the array that holds them.
        vector: its dimension that has an index for each of the `mapped` dimensions, or one behind all.
        batch: how many indices there are along the other dimensions.
        paired: dimensions of the indexed array each of whose places has indices of its own.
        beside: those of `dims` that go along with them.
    """

    dims: tuple[int, ...]
    vector: int
    mapped: tuple[int, ...]
    batch: tuple[int, ...]
    paired: tuple[int, ...]
    beside: tuple[int, ...]


def indices_into(scope: Scope, dims: Sequence[int]) -> Indices:
    """Indices into an array of these dimensions, in any order, now and then along with some of its dimensions."""
    order = permutation(scope.choices, len(dims))
    paired = sorted(order[1:][: scope.choices.integer(1, 2)]) if chance(scope.choices, _PAIRED_PERCENT) else []
    rest = [d for d in order if d not in paired]
    mapped = subset(scope.choices, rest, 60) or rest[:1]
    outer = () if chance(scope.choices, _ONE_PERCENT) else scope.dims(0, 1 if paired else 2, size=64)
    batch: list[tuple[int, int]] = [(n, -1) for n in outer]
    for d in paired:
        batch.insert(scope.choices.integer(0, len(batch)), (dims[d], d))
    sizes, sources = [n for n, _ in batch], [d for _, d in batch]
    is_bare = len(mapped) == 1 and chance(scope.choices, _BARE_PERCENT)
    vector = len(batch) if is_bare else scope.choices.integer(0, len(batch))
    positions = [sources.index(d) for d in paired]
    return Indices(
        tuple(sizes if is_bare else [*sizes[:vector], len(mapped), *sizes[vector:]]),
        vector,
        tuple(mapped),
        tuple(sizes),
        tuple(paired),
        tuple(position + (position >= vector) for position in positions),
    )


def _gather(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    value = scope.array(element_type, least_rank=1, most_rank=3)
    dims = value.array.dims
    if 0 in dims:
        return None
    found = indices_into(scope, dims)
    sizes = tuple(
        scope.choices.integer(1, n) if d not in found.paired and chance(scope.choices, 60) else 1
        for d, n in enumerate(dims)
    )
    free = [d for d in range(len(dims)) if d not in found.paired]
    collapsed = tuple(d for d in free if sizes[d] == 1 and chance(scope.choices, 70))
    window = [sizes[d] for d in free if d not in collapsed]
    if not scope.fits([*found.batch, *window]) or not scope.fits(found.dims):
        return None
    window_dims = sorted(permutation(scope.choices, len(found.batch) + len(window))[: len(window)])
    indices = perhaps_of(scope, value, ArrayShape(scope.index_type(dims), found.dims))
    along = {"operand_batching_dims": found.paired, "start_indices_batching_dims": found.beside}
    return scope.build(
        opcode,
        [value, indices],
        offset_dims=tuple(window_dims),
        collapsed_slice_dims=collapsed,
        start_index_map=found.mapped,
        index_vector_dim=found.vector,
        slice_sizes=sizes,
        **(along if found.paired else {}),
    )


_EXCHANGED_PERCENT = 30
"""How often elements of a tuple change places."""


def _tuple(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """A tuple and one of its elements, now and then of another tuple of these in another order."""
    operands = [scope.array(element_type)]
    while scope.choices.more(len(operands), 3):
        operands.append(pick(scope.choices, scope.values[::-1]))
    made = scope.build(opcode, operands)
    if chance(scope.choices, _EXCHANGED_PERCENT):
        order = permutation(scope.choices, len(operands))
        made = scope.build(opcode, [scope.build("get-tuple-element", [made], index=k) for k in order])
    return scope.build("get-tuple-element", [made], index=scope.choices.integer(0, len(operands) - 1))


def _same(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    return scope.build(opcode, [scope.array(element_type)])


def _copy_pair(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    return scope.build("copy-done", [scope.build("copy-start", [scope.array(element_type)])])


def _add_dependency(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    return scope.build("add-dependency", [scope.array(element_type), scope.build("after-all")])


_COUNTED = tuple(t for t in NUMBERS if t is not PRED)

RECIPES: dict[str, Recipe] = {
    "broadcast": Recipe(NUMBERS, _broadcast),
    "reshape": Recipe(NUMBERS, _reshape),
    "transpose": Recipe(NUMBERS, _transpose),
    "reverse": Recipe(NUMBERS, _reverse),
    "slice": Recipe(NUMBERS, _slice),
    "pad": Recipe(NUMBERS, _pad),
    "concatenate": Recipe(NUMBERS, _concatenate),
    "iota": Recipe(_COUNTED, _iota),
    "bitcast": Recipe(NUMBERS, _bitcast),
    "get-dimension-size": Recipe(NUMBERS, _get_dimension_size),
    "dynamic-slice": Recipe(NUMBERS, _dynamic_slice),
    "dynamic-update-slice": Recipe(NUMBERS, _dynamic_update_slice),
    "gather": Recipe(NUMBERS, _gather),
    "tuple": Recipe(NUMBERS, _tuple),
    "get-tuple-element": Recipe(NUMBERS, lambda scope, _, kind: _tuple(scope, "tuple", kind)),
    "opt-barrier": Recipe(NUMBERS, _same),
    "copy-start": Recipe(NUMBERS, _copy_pair),
    "copy-done": Recipe(NUMBERS, _copy_pair),
    "add-dependency": Recipe(NUMBERS, _add_dependency),
    "after-all": Recipe(NUMBERS, _add_dependency),
}
