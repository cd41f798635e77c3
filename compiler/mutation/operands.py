"""The same instruction in another form: operands swapped, joined otherwise, or an elementwise op done in another view.

Only ops whose every element is exactly determined by those of its operands stand here, for an engine may compute a
function such as `exp` otherwise at the end of a row than in the middle of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from compiler.generate.choices import permutation, pick
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.mutation.movement import inverse, is_ranked, slice_of
from compiler.mutation.site import Mutation, Site, bare, is_movable
from compiler.ops import Trait, having, narrowing

_COMMUTATIVE = having(Trait.COMMUTATIVE)
_MIRRORED: Mapping[str, str] = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}
_EXACT = narrowing(
    Trait.ELEMENTWISE,
    "abs add and ceil compare convert copy divide floor maximum minimum multiply negate not or select shift-left "
    "shift-right-logical sign subtract xor",
)
"""What gives the same bits on part of an array as on all of it, on every back end: nothing is approximated."""
_CLOSED_UNDER_NEGATION = frozenset({"bf16", "f16", "f32", "f64"})


def _with(site: Site, operands: Sequence[Instruction], **changed: object) -> Instruction:
    """The site's instruction on other operands, with some attributes changed."""
    copy = site.instruction.clone(operands)
    copy.attributes.update(changed)
    return site.computation.add(copy)


def _swap(site: Site) -> Instruction:
    """`a op b -> b op a`."""
    left, right = site.instruction.operands
    return _with(site, [right, left])


def _mirror(site: Site) -> Instruction:
    """`a < b -> b > a`."""
    left, right = site.instruction.operands
    return _with(site, [right, left], direction=_MIRRORED[site.instruction.attributes["direction"]])


def _swap_branches(site: Site) -> Instruction:
    """select(p, a, b) -> select(not p, b, a)."""
    test, on_true, on_false = site.instruction.operands
    return _with(site, [site.build("not", [test]), on_false, on_true])


def _add_negated(site: Site) -> Instruction:
    """`a - b -> a + -b`."""
    left, right = site.instruction.operands
    return site.build("add", [left, site.build("negate", [right])])


def _rotate(site: Site) -> Instruction:
    """concatenate(a, b, c) -> the same from slices of concatenate(c, a, b)."""
    operands, (along,) = site.instruction.operands, site.instruction.attributes["dimensions"]
    turned = site.build("concatenate", [operands[-1], *operands[:-1]], dimensions=(along,))
    first = operands[-1].array.dims[along]
    size = turned.array.dims[along]
    ends = [slice_of(site, turned, along, first, size), slice_of(site, turned, along, 0, first)]
    return site.build("concatenate", ends, dimensions=(along,))


def _nest(site: Site) -> Instruction:
    """concatenate(a, b, c) -> concatenate(concatenate(a, b), c)."""
    operands, dimensions = site.instruction.operands, site.instruction.attributes["dimensions"]
    first = site.build("concatenate", operands[:-1], dimensions=dimensions)
    return site.build("concatenate", [first, operands[-1]], dimensions=dimensions)


_There = Callable[[Instruction], Instruction]


def _views(site: Site) -> list[Callable[[], tuple[_There, _There]]]:
    """Pairs of moving an array into a view and a result back out of it."""
    dims = site.shape.dims

    def flat() -> tuple[_There, _There]:
        return (
            lambda v: site.build("reshape", [v], shape=bare(v).with_dims((site.shape.size,))),
            lambda v: site.build("reshape", [v], shape=bare(v).with_dims(dims)),
        )

    def turned() -> tuple[_There, _There]:
        order = tuple(reversed(permutation(site.choices, len(dims))))
        return (
            lambda v: site.build("transpose", [v], dimensions=order),
            lambda v: site.build("transpose", [v], dimensions=inverse(order)),
        )

    def backwards() -> tuple[_There, _There]:
        along = (site.choices.integer(0, len(dims) - 1),)
        both: _There = lambda v: site.build("reverse", [v], dimensions=along)  # noqa: E731
        return both, both

    return [flat, turned, backwards]


def _elsewhere(site: Site) -> Instruction:
    """f(x) -> back(f(there(x))), by a reshape, a transpose or a reverse."""
    there, back = pick(site.choices, _views(site))()
    operands = [there(o) if o.array.dims else o for o in site.instruction.operands]
    size = next(o for o in operands if o.array.dims).array.dims
    copy = site.instruction.clone(operands, shape=ArrayShape(site.shape.element_type, size))
    return back(site.computation.add(copy))


def _in_pieces(site: Site) -> Instruction:
    """f(x) -> concatenate(f(slice(x)), f(slice(x)))."""
    along = pick(site.choices, [d for d, size in enumerate(site.shape.dims) if size > 1])
    size = site.shape.dims[along]
    at = site.choices.integer(1, size - 1)
    pieces = []
    for start, limit in ((0, at), (at, size)):
        operands = [slice_of(site, o, along, start, limit) if o.array.dims else o for o in site.instruction.operands]
        dims = tuple(limit - start if d == along else n for d, n in enumerate(site.shape.dims))
        copy = site.instruction.clone(operands, shape=ArrayShape(site.shape.element_type, dims))
        pieces.append(site.computation.add(copy))
    return site.build("concatenate", pieces, dimensions=(along,))


def _of_scalar(site: Site) -> Instruction:
    """broadcast(x) -> broadcast(broadcast(x)), first into a new dimension of one element."""
    (value,) = site.instruction.operands
    dimensions = site.instruction.attributes["dimensions"]
    longer = site.build(
        "broadcast",
        [value],
        shape=bare(value).with_dims((1, *value.array.dims)),
        dimensions=tuple(range(1, value.array.rank + 1)),
    )
    narrow = site.build("reshape", [longer], shape=bare(value))
    return site.build("broadcast", [narrow], shape=site.shape, dimensions=dimensions)


def _is_commutative(instruction: Instruction) -> bool:
    return instruction.opcode in _COMMUTATIVE and is_movable(instruction)


def _is_comparison(instruction: Instruction) -> bool:
    return instruction.opcode == "compare" and is_movable(instruction)


def _is_select(instruction: Instruction) -> bool:
    return instruction.opcode == "select" and is_movable(instruction)


def _is_difference(instruction: Instruction) -> bool:
    if instruction.opcode != "subtract" or not is_movable(instruction):
        return False
    element_type = instruction.array.element_type
    return element_type.is_integer or element_type.name in _CLOSED_UNDER_NEGATION


def _is_elementwise(instruction: Instruction) -> bool:
    return instruction.opcode in _EXACT and is_ranked(instruction) and is_movable(instruction)


def _is_long(instruction: Instruction) -> bool:
    return _is_elementwise(instruction) and max(instruction.array.dims) > 1


def _joins(least: int) -> Callable[[Instruction], bool]:
    return lambda i: i.opcode == "concatenate" and len(i.operands) >= least and is_movable(i)


def _is_broadcast(instruction: Instruction) -> bool:
    return instruction.opcode == "broadcast" and is_movable(instruction)


MUTATIONS: dict[str, Mutation] = {
    "swap-operands": Mutation(_is_commutative, _swap, everywhere=True),
    "mirror-comparison": Mutation(_is_comparison, _mirror, everywhere=True),
    "swap-branches": Mutation(_is_select, _swap_branches, everywhere=True),
    "add-negated": Mutation(_is_difference, _add_negated, everywhere=True),
    "rotate-concatenation": Mutation(_joins(2), _rotate),
    "nest-concatenation": Mutation(_joins(3), _nest),
    "in-another-view": Mutation(_is_elementwise, _elsewhere),
    "in-parts": Mutation(_is_long, _in_pieces),
    "broadcast-twice": Mutation(_is_broadcast, _of_scalar),
}
