"""Recipes of arrays whose sizes are known at run time only.

Such a value is given or made, goes through a few instructions that keep its sizes at run time, and is a result or ends
as an array of its bounds with zeros beyond its sizes: arrays whose sizes would have to agree are not for other recipes,
as nothing says what it means if they do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.generate import sized_flow
from compiler.generate.choices import chance, permutation, pick, subset
from compiler.generate.combining import ORDERED, combiner, combiners, identity_constant
from compiler.generate.elementwise import spread, takes
from compiler.generate.movement import dims_broadcast, smaller_dims
from compiler.generate.recipe import COMPLEX, NUMBERS, Recipe
from compiler.generate.reducers import in_order
from compiler.generate.scope import Scope
from compiler.generate.sized_products import LEAST_BITS, convolved, multiplied
from compiler.generate.sized_slices import cut_dimensions, longer_by, sliced
from compiler.ir.attributes import PaddingDimension, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED, S32, ElementType
from compiler.ir.windows import output_size, padded_size
from compiler.ops.build import build, parameter

_MOST_STEPS = 4
"""Instructions on arrays of sizes known at run time, one behind the other."""
_SECOND_PERCENT = 50
"""How often another dimension of an array is so."""
_RANKS = (1, 2, 2, 3)
"""Dimensions at least: where several have sizes that are not known, one may be taken for another."""
_WEIGHTS = {"slice": 3}
"""Of how many steps' weight slices are: only they make some sizes known beside others that are not."""
_OTHER_PERCENT = 50
"""How often it is joined with another array, or multiplied with itself."""
_LEAST_PERCENT, _POSITIVE = 60, (1 << 31) - 1
"""How often a size is 1 or more whatever it is made of; the bits of a number without its sign."""
_MERGED_PERCENT, _ONE_MORE_PERCENT, _STATED_PERCENT = 30, 25, 15
"""How often two dimensions become one; how often there is one more, of size 1; how often a size that is known is said
to be no more than a bound."""
_GIVEN_PERCENT, _RESULT_PERCENT = 35, 35
"""How often a program is called with such an array, and how often it gives one."""
_UNKNOWN_PERCENT = 35
"""How often integers are reduced by what no identity is known of."""
_COUNTED = 9
"""Numbers by which elements are added up: some are none of these."""
_INDICES = tuple(t for t in NUMBERS if t.is_integer and t.bits >= LEAST_BITS)
_SMALL = 512
"""Elements of such an array."""
_MOST_SIDE = 64
"""The longest dimension of one: bounds are run through by sorting."""

Step = Callable[[Scope, Instruction], Instruction | None]
"""Makes another value of one with sizes known at run time only; None where there is none, or no room."""


def _transposed(scope: Scope, value: Instruction) -> Instruction:
    return scope.build("transpose", [value], dimensions=tuple(permutation(scope.choices, value.array.rank)))


def _reversed(scope: Scope, value: Instruction) -> Instruction:
    return scope.build("reverse", [value], dimensions=tuple(subset(scope.choices, range(value.array.rank), 60)))


def _padded(scope: Scope, value: Instruction) -> Instruction | None:
    padding = [PaddingDimension(*(pick(scope.choices, (0, 1, 2)) for _ in range(3))) for _ in value.array.dims]
    dims = [padded_size(size, dimension) for size, dimension in zip(value.array.dims, padding, strict=True)]
    if not scope.fits(dims):
        return None
    return scope.build("pad", [value, scope.small_constant(value.array.element_type)], padding=tuple(padding))


def _joined(scope: Scope, value: Instruction) -> Instruction | None:
    """Behind itself, or along the one dimension whose size nobody knows before or behind one whose sizes are known."""
    along, other = scope.choices.integer(0, value.array.rank - 1), value
    if value.array.dynamic[along] and sum(value.array.dynamic) == 1 and chance(scope.choices, _OTHER_PERCENT):
        other = scope.like(ArrayShape(value.array.element_type, value.array.dims))
    pair = [other, value] if chance(scope.choices, 50) else [value, other]
    fits = scope.fits([2 * value.array.size])
    return scope.build("concatenate", pair, dimensions=(along,)) if fits else None


def _spread(scope: Scope, value: Instruction) -> Instruction | None:
    shape = value.array
    dims, mapping = dims_broadcast(scope, shape.dims, 1)
    if not dims:
        return None
    flags = tuple(number in mapping and shape.dynamic[mapping.index(number)] for number in range(len(dims)))
    target = ArrayShape(shape.element_type, dims, flags)
    return scope.build("broadcast", [value], shape=target, dimensions=mapping)


def _computed(scope: Scope, value: Instruction) -> Instruction | None:
    """The value with itself in an elementwise operation."""
    kind = value.array.element_type
    allowed = [
        opcode for opcode in ("negate", "not", "subtract", "multiply", "maximum", "xor") if kind in takes(opcode)
    ]
    opcode = pick(scope.choices, [o for o in allowed if (o, kind.name) not in scope.program.space.banned] or [""])
    if not opcode:
        return None
    return scope.build(opcode, [value] if opcode in ("negate", "not") else [value, value])


def _reduced(scope: Scope, value: Instruction) -> Instruction | None:
    kind = value.array.element_type
    if kind not in ORDERED or value.array.rank < 2:
        return None
    axes = tuple(subset(scope.choices, range(value.array.rank), 40) or [0])
    if kind.is_integer and chance(scope.choices, _UNKNOWN_PERCENT):
        # Nobody knows an identity of what minds the order: elements say themselves whether they count.
        operands, reducer = in_order(scope, value, most=1)
        return scope.build("reduce", operands, to_apply=reducer, dimensions=axes)
    combining = pick(scope.choices, combiners(kind))
    operands = [value, identity_constant(scope, combining, kind)]
    return scope.build("reduce", operands, to_apply=combiner(scope, combining, kind), dimensions=axes)


def _in_order(scope: Scope, value: Instruction) -> Instruction | None:
    kind = value.array.element_type
    if kind not in ORDERED or kind in COMPLEX or value.array.size > _SMALL:
        return None
    made = scope.program.computation("order")
    pair = [parameter(made, number, ArrayShape(kind, ())) for number in range(2)]
    attributes: dict[str, Any] = {"type": "TOTALORDER"} if kind.is_float else {}
    made.root = build(made, "compare", pair, direction=pick(scope.choices, ("LT", "GT")), **attributes)
    along = scope.choices.integer(0, value.array.rank - 1)
    attributes = {"dimensions": (along,), "to_apply": made, "is_stable": True}
    if not chance(scope.choices, _OTHER_PERCENT):
        return scope.build("sort", [value], **attributes)
    other = ArrayShape(S32, value.array.dims, value.array.dynamic)
    for number in (2, 3):
        parameter(made, number, ArrayShape(S32, ()))
    done = scope.build("sort", [value, scope.build("convert", [value], shape=other)], **attributes)
    return scope.build("get-tuple-element", [done], index=scope.choices.integer(0, 1))


def _windowed(scope: Scope, value: Instruction) -> Instruction | None:
    kind = value.array.element_type
    window = tuple(
        WindowDimension(
            scope.choices.integer(1, min(3, size)),
            pick(scope.choices, (1, 2)),
            pad_low=pick(scope.choices, (0, 1)),
            pad_high=pick(scope.choices, (0, 1)),
        )
        for size in value.array.dims
    )
    dims = [output_size(size, dimension) for size, dimension in zip(value.array.dims, window, strict=True)]
    if kind not in ORDERED or not scope.fits(dims) or 0 in dims:
        return None
    combining = pick(scope.choices, combiners(kind))
    operands, reducer = [value, identity_constant(scope, combining, kind)], combiner(scope, combining, kind)
    shape = ArrayShape(kind, tuple(dims), value.array.dynamic)
    return scope.build("reduce-window", operands, shape=shape, to_apply=reducer, window=window)


def _mapped(scope: Scope, value: Instruction) -> Instruction | None:
    """It and itself taken together, element by element, by a computation."""
    kind = value.array.element_type
    if kind not in ORDERED:
        return None
    by = combiner(scope, pick(scope.choices, combiners(kind)), kind)
    return scope.build("map", [value, value], to_apply=by, dimensions=tuple(range(value.array.rank)))


def _scattered(scope: Scope, value: Instruction) -> Instruction | None:
    """Its elements added up by their own numbers: what lies beyond its sizes goes nowhere."""
    shape = value.array
    if shape.element_type not in ORDERED or shape.element_type is PRED or shape.element_type.is_complex:
        return None
    indices = ArrayShape(S32, shape.dims, shape.dynamic)
    made = scope.build("convert", [value], shape=indices) if shape.element_type is not S32 else value
    target = spread(scope, scope.constant(0, shape.element_type), ArrayShape(shape.element_type, (_COUNTED,)))
    reducer = combiner(scope, pick(scope.choices, combiners(shape.element_type)), shape.element_type)
    along = {"update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    return scope.build("scatter", [target, made, value], to_apply=reducer, index_vector_dim=shape.rank, **along)


def _looked_up(scope: Scope, value: Instruction) -> Instruction | None:
    """What stands in a line at the positions that its elements name."""
    shape = value.array
    if shape.element_type not in _INDICES:
        return None
    line = scope.fresh(ArrayShape(shape.element_type, (_COUNTED,)))
    along = {"offset_dims": (), "collapsed_slice_dims": (0,), "start_index_map": (0,), "slice_sizes": (1,)}
    return scope.build("gather", [line, value], shape=shape, index_vector_dim=shape.rank, **along)


def _with_room(scope: Scope, value: Instruction) -> tuple[Instruction, tuple[int, ...]] | None:
    """The value made longer where its sizes are not known, and dimensions that fit whatever they are."""
    room = [scope.choices.integer(1, 3) if is_cut else 0 for is_cut in value.array.dynamic]
    longer = longer_by(scope, value, room)
    if longer is None:
        return None
    return longer, smaller_dims(scope, tuple(more or size for more, size in zip(room, value.array.dims, strict=True)))


def _starts(scope: Scope, value: Instruction) -> list[Instruction]:
    kind = scope.index_type(value.array.dims)
    return [scope.unknown(ArrayShape(kind, ())) for _ in value.array.dims]


def _cut_out(scope: Scope, value: Instruction) -> Instruction | None:
    """A slice from anywhere, whose sizes are known."""
    made = _with_room(scope, value)
    if made is None:
        return None
    longer, dims = made
    return scope.build("dynamic-slice", [longer, *_starts(scope, longer)], dynamic_slice_sizes=dims)


def _updated(scope: Scope, value: Instruction) -> Instruction | None:
    """The value with another array in it, from anywhere on."""
    made = _with_room(scope, value)
    if made is None:
        return None
    longer, dims = made
    update = scope.like(ArrayShape(value.array.element_type, dims))
    return scope.build("dynamic-update-slice", [longer, update, *_starts(scope, longer)])


def _shortened(scope: Scope, value: Instruction) -> Instruction:
    """The value with a size that is no greater than the one that it has."""
    dimension = pick(scope.choices, cut_dimensions(value))
    size = scope.build("get-dimension-size", [value], dimensions=(dimension,))
    kept = scope.build("clamp", [scope.constant(0, S32), scope.unknown(ArrayShape(S32, ())), size])
    return scope.build("set-dimension-size", [value, kept], shape=value.array, dimensions=(dimension,))


def _reshaped(scope: Scope, value: Instruction) -> Instruction | None:
    """With another dimension of size 1, or in a single one that has what all had."""
    shape = value.array
    if sum(shape.dynamic) > 1:  # which of them has which size, the number of elements does not tell
        return None
    if chance(scope.choices, 50):
        return scope.build("reshape", [value], shape=ArrayShape(shape.element_type, (shape.size,), (True,)))
    at = scope.choices.integer(0, shape.rank)
    dims, flags = (*shape.dims[:at], 1, *shape.dims[at:]), (*shape.dynamic[:at], False, *shape.dynamic[at:])
    return scope.build("reshape", [value], shape=ArrayShape(shape.element_type, dims, flags))


def _rearranged(scope: Scope, value: Instruction) -> Instruction | None:
    """The same elements under the products of sizes in any order, of which those of known sizes alone may be known."""
    shape, choices = value.array, scope.choices
    groups = [[dimension] for dimension in permutation(choices, shape.rank)]
    while len(groups) > 1 and chance(choices, _MERGED_PERCENT):
        groups.append([*groups.pop(), *groups.pop()])
    if chance(choices, _ONE_MORE_PERCENT):
        groups.insert(choices.integer(0, len(groups)), [])
    dims = tuple(math.prod(shape.dims[d] for d in group) for group in groups)
    if max(dims) > _MOST_SIDE:
        return None
    flags = tuple(
        any(shape.dynamic[d] for d in group) or (bool(group) and chance(choices, _STATED_PERCENT)) for group in groups
    )
    sizes = [_product_of_sizes(scope, value, group) for group in groups]
    target = ArrayShape(shape.element_type, dims, flags)
    return scope.build("dynamic-reshape", [value, *sizes], shape=target)


def _product_of_sizes(scope: Scope, value: Instruction, group: Sequence[int]) -> Instruction:
    """What some dimensions have together, as a number."""
    made = scope.constant(1, S32)
    for dimension in group:
        size = scope.build("get-dimension-size", [value], dimensions=(dimension,))
        made = size if made.opcode == "constant" else scope.build("multiply", [made, size])
    return made


def _any_step(scope: Scope, value: Instruction) -> Instruction | None:
    """One of the steps that are not banned for its type."""
    banned, kind = scope.program.space.banned, value.array.element_type.name
    steps = [step for name, step in STEPS.items() if (name, kind) not in banned for _ in range(_WEIGHTS.get(name, 1))]
    return pick(scope.choices, steps)(scope, value)


def _kept(scope: Scope, value: Instruction) -> Instruction | None:
    """The value with its elements in other places, with others, or fewer of them; or as it is."""
    kept: tuple[Step, ...] = (_shortened, _shortened, _reversed, _computed, _same)
    return pick(scope.choices, kept)(scope, value)


def _same(_: Scope, value: Instruction) -> Instruction:
    return value


STEPS: Mapping[str, Step] = {
    "slice": sliced,
    "transpose": _transposed,
    "reverse": _reversed,
    "pad": _padded,
    "concatenate": _joined,
    "broadcast": _spread,
    "": _computed,
    "reduce": _reduced,
    "sort": _in_order,
    "reduce-window": _windowed,
    "dot": multiplied,
    "convolution": convolved,
    "map": _mapped,
    "reshape": _reshaped,
    "dynamic-reshape": _rearranged,
    "scatter": _scattered,
    "gather": _looked_up,
    "dynamic-slice": _cut_out,
    "dynamic-update-slice": _updated,
    "set-dimension-size": _shortened,
    **sized_flow.steps(_any_step, _kept),
}
"""What a value goes through, by the opcode that must not be banned."""


def _draw(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    value = scope.array(element_type, least_rank=pick(scope.choices, _RANKS), most_rank=max(_RANKS), size=_SMALL)
    if 0 in value.array.dims or max(value.array.dims) > _MOST_SIDE:
        return None
    along = permutation(scope.choices, value.array.rank)
    several = 1
    while several < value.array.rank and chance(scope.choices, _SECOND_PERCENT):
        several += 1
    if ("set-dimension-size", element_type.name) in scope.program.space.banned:
        return None
    value = _of_sizes(scope, value, along[:several])
    if opcode == "dynamic-reshape":
        value = STEPS[opcode](scope, value) or value
    drawn = 0
    while scope.choices.more(drawn, _MOST_STEPS) and value.array.is_dynamic:
        drawn += 1
        value = _any_step(scope, value) or value
    if scope.depth or scope.program.devices > 1 or not chance(scope.choices, _RESULT_PERCENT):
        return at_its_bounds(scope, value)
    scope.kept.append(value)
    return value


def _of_sizes(scope: Scope, value: Instruction, along: Sequence[int]) -> Instruction:
    """The value, or one that is given as it is, with sizes in some dimensions that nobody knows beforehand."""
    if scope.takes_parameters() and scope.program.devices == 1 and chance(scope.choices, _GIVEN_PERCENT):
        flags = tuple(number in along for number in range(value.array.rank))
        return scope.parameter(ArrayShape(value.array.element_type, value.array.dims, flags))
    for dimension in along:
        value = _cut(scope, value, dimension)
    return value


def _cut(scope: Scope, value: Instruction, dimension: int) -> Instruction:
    """The value with a size in one dimension that nobody knows beforehand, and that there is."""
    size = value.array.dims[dimension]
    least = scope.choices.integer(1, size) if chance(scope.choices, _LEAST_PERCENT) else 0
    # Each is as likely as another: of a size that is mostly 0, or all, little shows.
    wanted = scope.build("and", [scope.unknown(ArrayShape(S32, ())), scope.constant(_POSITIVE, S32)])
    more = scope.build("remainder", [wanted, scope.constant(size - least + 1, S32)])
    kept = scope.build("add", [more, scope.constant(least, S32)])
    return scope.build("set-dimension-size", [value, kept], dimensions=(dimension,))


def at_its_bounds(scope: Scope, value: Instruction) -> Instruction:
    """A value at its bounds, with zeros beyond its sizes, which are known at run time only."""
    found = cut_dimensions(value)
    cut = [found[number] for number in permutation(scope.choices, len(found))]
    sizes = [build(scope.computation, "get-dimension-size", [value], dimensions=(d,)) for d in cut]
    scope.give(sizes, are_kept=True)
    for number, dimension in enumerate(cut):
        flags = tuple(d in cut[number + 1 :] for d in range(value.array.rank))
        bounds = ArrayShape(value.array.element_type, value.array.dims, flags if any(flags) else ())
        size = scope.constant(bounds.dims[dimension], S32)
        # Not offered: what lies beyond the sizes is open.
        value = build(scope.computation, "set-dimension-size", [value, size], shape=bounds, dimensions=(dimension,))
    for size, dimension in zip(sizes, cut, strict=True):
        value = _masked(scope, value, size, dimension)
    return value


def _masked(scope: Scope, value: Instruction, size: Instruction, dimension: int) -> Instruction:
    """Zeros from a size on, where the language leaves open what there is."""
    shape, numbers = value.array, ArrayShape(S32, value.array.dims)
    indices = scope.build("iota", shape=numbers, iota_dimension=dimension)
    inside = scope.build("compare", [indices, spread(scope, size, numbers)], direction="LT")
    return scope.build("select", [inside, value, spread(scope, scope.constant(0, shape.element_type), shape)])


RECIPES: dict[str, Recipe] = {
    opcode: Recipe(tuple(t for t in NUMBERS if t is not PRED), _draw)
    for opcode in ("set-dimension-size", "dynamic-reshape")
}
"""What sets sizes, and what gives the elements within them others: the first step of what it is drawn for."""
