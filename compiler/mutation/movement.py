"""Ways to move the elements of an array about and back again."""

from __future__ import annotations

import math
from itertools import pairwise

from compiler.generate.choices import chance, permutation, pick, subset
from compiler.generate.elementwise import takes
from compiler.ir.attributes import PaddingDimension, SliceDimension
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import integer_bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32
from compiler.mutation.site import Mutation, Site, is_value
from compiler.ops.build import build, parameter

_GROWN = 1 << 20
"""Elements that an array may have before it is made larger: 4 MiB of f32."""
_WITH_INFINITY = frozenset({"f16", "bf16", "f32", "f64"})


def is_ranked(instruction: Instruction) -> bool:
    """Whether an instruction yields an array that has dimensions, none of them empty."""
    return is_value(instruction) and bool(instruction.array.dims) and instruction.array.size > 0


def whole(dims: tuple[int, ...]) -> list[SliceDimension]:
    """The slice of an array that is all of it."""
    return [SliceDimension(0, size) for size in dims]


def slice_of(site: Site, value: Instruction, along: int, start: int, limit: int, stride: int = 1) -> Instruction:
    """A range of one dimension.

    Args:
        site: where instructions are added.
        value: an array.
        along: the dimension.
        start: its first index.
        limit: the one behind the last.
        stride: every how many.
    """
    ranges = whole(value.array.dims)
    ranges[along] = SliceDimension(start, limit, stride)
    return site.build("slice", [value], slice=tuple(ranges))


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes another."""
    return tuple(order.index(index) for index in range(len(order)))


def _transpose_pair(site: Site) -> Instruction:
    """`x -> transpose(transpose(x))`, one undoing the other."""
    order = tuple(reversed(permutation(site.choices, site.shape.rank)))
    there = site.build("transpose", [site.instruction], dimensions=order)
    return site.build("transpose", [there], dimensions=inverse(order))


def _reshape_pair(site: Site) -> Instruction:
    """`x -> reshape(reshape(x))`, by one dimension, or with two neighbours merged or one split."""
    dims, size = site.shape.dims, site.shape.size
    forms: list[tuple[int, ...]] = [(size,), (*dims, 1), (1, *dims)]
    at = site.choices.integer(0, len(dims) - 1)
    divisors = [d for d in (2, 3, 4, 5, 7, 8) if dims[at] % d == 0]
    if divisors:
        first = pick(site.choices, divisors)
        forms.append((*dims[:at], first, dims[at] // first, *dims[at + 1 :]))
    if at:
        forms.append((*dims[: at - 1], math.prod(dims[at - 1 : at + 1]), *dims[at + 1 :]))
    there = site.build("reshape", [site.instruction], shape=site.shape.with_dims(pick(site.choices, forms)))
    return site.build("reshape", [there], shape=site.shape)


def _reverse_pair(site: Site) -> Instruction:
    """`x -> reverse(reverse(x))`."""
    dimensions = tuple(subset(site.choices, range(site.shape.rank), 60)) or (0,)
    return site.build(
        "reverse", [site.build("reverse", [site.instruction], dimensions=dimensions)], dimensions=dimensions
    )


def _split_and_join(site: Site) -> Instruction:
    """`x -> concatenate(slice(x), slice(x))`, two or three ranges of one dimension."""
    along = pick(site.choices, [d for d, size in enumerate(site.shape.dims) if size > 1])
    size = site.shape.dims[along]
    cuts = sorted({0, *(site.choices.integer(1, size - 1) for _ in range(site.choices.integer(1, 2))), size})
    ranges = [slice_of(site, site.instruction, along, start, limit) for start, limit in pairwise(cuts)]
    return site.build("concatenate", ranges, dimensions=(along,))


def _pad_and_slice(site: Site) -> Instruction:
    """`x -> slice(pad(x, v))`, every added element being cut off again."""
    along = site.choices.integer(0, site.shape.rank - 1)
    size = site.shape.dims[along]
    low, high, interior = (site.choices.integer(0, most) for most in (3, 3, 1))
    padding = [PaddingDimension(0, 0) for _ in site.shape.dims]
    padding[along] = PaddingDimension(low, high, interior)
    value = site.scalar(site.choices.integer(0, 1))
    padded = site.build("pad", [site.instruction, value], padding=tuple(padding))
    return slice_of(site, padded, along, low, low + (size - 1) * (interior + 1) + 1, interior + 1)


def _doubled(site: Site) -> Instruction:
    """`x -> slice(concatenate(x, x))`, the first or the second."""
    along = site.choices.integer(0, site.shape.rank - 1)
    size = site.shape.dims[along]
    both = site.build("concatenate", [site.instruction, site.instruction], dimensions=(along,))
    start = size if chance(site.choices, 50) else 0
    return slice_of(site, both, along, start, start + size)


def _starts(site: Site) -> list[Instruction]:
    return [site.scalar(0, S32)] * site.shape.rank


def _dynamic_slice(site: Site) -> Instruction:
    """`x -> dynamic-slice(x, 0...)` of all of it; indices that lie outside are clamped to 0 as well."""
    starts = [site.scalar(pick(site.choices, (0, 0, 7, -1)), S32) for _ in site.shape.dims]
    return site.build("dynamic-slice", [site.instruction, *starts], dynamic_slice_sizes=site.shape.dims)


def _update_with_itself(site: Site) -> Instruction:
    """`x -> dynamic-update-slice(x, slice(x))`, the slice going where it came from."""
    along = site.choices.integer(0, site.shape.rank - 1)
    size = site.shape.dims[along]
    start = site.choices.integer(0, size - 1)
    limit = site.choices.integer(start + 1, size)
    starts = _starts(site)
    starts[along] = site.scalar(start, S32)
    return site.build(
        "dynamic-update-slice", [site.instruction, slice_of(site, site.instruction, along, start, limit), *starts]
    )


def _overwrite(site: Site) -> Instruction:
    """`x -> dynamic-update-slice(0, x)` where nothing of the first is left."""
    return site.build("dynamic-update-slice", [site.filled(0), site.instruction, *_starts(site)])


def _copies(site: Site) -> Instruction:
    """Several copies of an array, side by side in a new first dimension."""
    dims = site.shape.dims
    shape = site.shape.with_dims((site.choices.integer(1, 3), *dims))
    return site.build("broadcast", [site.instruction], shape=shape, dimensions=tuple(range(1, len(dims) + 1)))


def _broadcast_and_slice(site: Site) -> Instruction:
    """`x -> reshape(slice(broadcast(x)))`, one of several copies."""
    copies = _copies(site)
    at = site.choices.integer(0, copies.array.dims[0] - 1)
    return site.build("reshape", [slice_of(site, copies, 0, at, at + 1)], shape=site.shape)


def _broadcast_and_reduce(site: Site) -> Instruction:
    """`x -> reduce(broadcast(x))` by maximum, whose neutral element is the start."""
    copies = _copies(site)
    element_type = site.shape.element_type
    single = ArrayShape(element_type, ())
    body = site.module.add_computation(Computation("largest"))
    body.root = build(body, "maximum", [parameter(body, number, single) for number in range(2)])
    start = -math.inf if element_type.is_float else integer_bounds(element_type)[0]
    return site.build("reduce", [copies, site.scalar(start)], dimensions=(0,), to_apply=body)


def _gather_all(site: Site) -> Instruction:
    """`x -> gather(x, iota)`, every row in its place."""
    dims = site.shape.dims
    rows = site.build("iota", shape=ArrayShape(S32, (dims[0], 1)), iota_dimension=0)
    return site.build(
        "gather",
        [site.instruction, rows],
        offset_dims=tuple(range(1, len(dims))),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1, *dims[1:]),
    )


def _may_grow(instruction: Instruction) -> bool:
    return is_ranked(instruction) and instruction.array.size <= _GROWN


def _has_pairs(instruction: Instruction) -> bool:
    return is_ranked(instruction) and max(instruction.array.dims) > 1


def _has_maximum(instruction: Instruction) -> bool:
    if not _may_grow(instruction) or instruction.array.element_type not in takes("maximum"):
        return False
    element_type = instruction.array.element_type
    return element_type.is_integer or element_type.name in _WITH_INFINITY


MUTATIONS: dict[str, Mutation] = {
    "transpose-pair": Mutation(is_ranked, _transpose_pair),
    "reshape-pair": Mutation(is_ranked, _reshape_pair),
    "reverse-pair": Mutation(is_ranked, _reverse_pair),
    "split-and-join": Mutation(_has_pairs, _split_and_join),
    "pad-and-slice": Mutation(is_ranked, _pad_and_slice),
    "double-and-slice": Mutation(_may_grow, _doubled),
    "dynamic-slice-of-all": Mutation(is_ranked, _dynamic_slice),
    "update-with-itself": Mutation(is_ranked, _update_with_itself),
    "overwrite": Mutation(is_ranked, _overwrite),
    "broadcast-and-slice": Mutation(_may_grow, _broadcast_and_slice),
    "broadcast-and-reduce": Mutation(_has_maximum, _broadcast_and_reduce),
    "gather-all": Mutation(is_ranked, _gather_all),
}
