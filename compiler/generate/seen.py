"""Values that are seen through what only moves elements: a few slices, transposes and reshapes in a row.

What reads memory by strides, such as a product, makes no copy of its operands then, and has to know where each of their
elements lies.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.generate.choices import chance, permutation, pick
from compiler.generate.movement import factorised
from compiler.generate.scope import Scope
from compiler.ir.attributes import SliceDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape

_MOST_MOVES, _MOST_OF_SEVERAL = 3, 4
"""Moves in a row, and arrays of which one is taken."""
_CUT_PERCENT, _STRIDED_PERCENT = 50, 30
"""How often a slice leaves something of a dimension out; how often it takes every other element."""


def seen(scope: Scope, shape: ArrayShape) -> Instruction:
    """A value of a shape, which lies in another one; the value itself where moves are banned for its type.

    Args:
        scope: where instructions are added.
        shape: of the value.
    """
    return _seen(scope, shape, scope.choices.integer(1, _MOST_MOVES))


def _seen(scope: Scope, shape: ArrayShape, moves: int) -> Instruction:
    banned, kind = scope.program.space.banned, shape.element_type.name
    allowed = [move for opcodes, move in _MOVES.items() if not any((opcode, kind) in banned for opcode in opcodes)]
    if not (moves and shape.rank and shape.size and allowed):
        return scope.like(shape)
    return pick(scope.choices, allowed)(scope, shape, moves - 1)


def _transposed(scope: Scope, shape: ArrayShape, moves: int) -> Instruction:
    order = permutation(scope.choices, shape.rank)[::-1]
    sizes = dict(zip(order, shape.dims, strict=True))
    given = _seen(scope, shape.with_dims(tuple(sizes[number] for number in range(shape.rank))), moves)
    return scope.build("transpose", [given], dimensions=tuple(order))


def _reshaped(scope: Scope, shape: ArrayShape, moves: int) -> Instruction:
    given = _seen(scope, shape.with_dims(factorised(scope, shape.size)), moves)
    return scope.build("reshape", [given], shape=shape)


def _cut(scope: Scope, shape: ArrayShape, moves: int) -> Instruction:
    ranges = []
    for size in shape.dims:
        stride = 2 if chance(scope.choices, _STRIDED_PERCENT) else 1
        start = scope.choices.integer(0, 2) if chance(scope.choices, _CUT_PERCENT) else 0
        ranges.append(SliceDimension(start, start + (size - 1) * stride + 1, stride))
    dims = tuple(one.limit + chance(scope.choices, _CUT_PERCENT) for one in ranges)
    if not scope.fits(dims):
        return scope.like(shape)
    return scope.build("slice", [_seen(scope, shape.with_dims(dims), moves)], slice=tuple(ranges))


def _cut_at_run_time(scope: Scope, shape: ArrayShape, moves: int) -> Instruction:
    dims = tuple(size + 2 * chance(scope.choices, _CUT_PERCENT) for size in shape.dims)
    if not scope.fits(dims):
        return scope.like(shape)
    given = _seen(scope, shape.with_dims(dims), moves)
    index = ArrayShape(scope.index_type(dims), ())
    starts = [scope.unknown(index) for _ in dims]
    return scope.build("dynamic-slice", [given, *starts], dynamic_slice_sizes=shape.dims)


def _one_of_several(scope: Scope, shape: ArrayShape, moves: int) -> Instruction:
    """One of arrays that lie behind one another, as the weights of one layer among those of all."""
    dims = (scope.choices.integer(2, _MOST_OF_SEVERAL), *shape.dims)
    if not scope.fits(dims):
        return scope.like(shape)
    given, index = _seen(scope, shape.with_dims(dims), moves), ArrayShape(scope.index_type(dims), ())
    starts = [scope.unknown(index), *(scope.constant(0, index.element_type) for _ in shape.dims)]
    one = scope.build("dynamic-slice", [given, *starts], dynamic_slice_sizes=(1, *shape.dims))
    return scope.build("reshape", [one], shape=shape)


_MOVES: dict[tuple[str, ...], Callable[[Scope, ArrayShape, int], Instruction]] = {
    ("transpose",): _transposed,
    ("reshape",): _reshaped,
    ("slice",): _cut,
    ("dynamic-slice",): _cut_at_run_time,
    ("dynamic-slice", "reshape"): _one_of_several,
}
"""What may stand before, by its opcodes."""
