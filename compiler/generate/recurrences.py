"""Loops in each of whose iterations another slice of an array meets the same matrix, as recurrent networks have them.

A compiler may multiply all slices at once before the loop, where that pays: for few rows, a large matrix, and about as
many iterations as slices.  Sizes drawn at random hardly ever come to that, and what it takes for granted shows only
where the slice lies anywhere among the dimensions, beside batches and rows, and is either factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from compiler.generate import bodies
from compiler.generate.choices import chance, permutation, pick
from compiler.generate.combining import combiners
from compiler.generate.products import RECIPES as PRODUCTS
from compiler.generate.recipe import Recipe
from compiler.generate.scope import Scope
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import BF16, F16, F32, F64, S32, ElementType
from compiler.ops.build import build

_ALONG, _BATCH, _ROWS, _SUMMED, _COLUMNS = "slices", "batch", "rows", "summed", "columns"
_SIZES: Mapping[str, tuple[int, int]] = {
    _ALONG: (8, 16), _BATCH: (2, 3), _ROWS: (1, 4), _SUMMED: (64, 80), _COLUMNS: (64, 80),
}  # fmt: skip
"""From where a product of all slices pays (`expansion.sliced_products`)."""
_BATCH_PERCENT, _ROWS_PERCENT, _KEPT_PERCENT = 40, 60, 40
"""How often there are batches, and rows; how often the slice keeps its dimension of size 1."""
_NARROW_PERCENT, _BACKWARDS_PERCENT, _FEWER_PERCENT = 25, 30, 25
"""How often slices are of narrower numbers; how often the last one comes first; how often some are left out."""
_NARROW: Mapping[ElementType, Sequence[ElementType]] = {F32: (F16, BF16), F64: (F32,)}
_LEAST_BITS = 16
"""Bits of the numbers: sums over some iterations have room."""


class _Factors(NamedTuple):
    """The array that is sliced and the matrix, by names of their dimensions, and the sizes of these."""

    sliced: list[str]
    matrix: list[str]
    sizes: dict[str, int]

    def dims(self, names: Sequence[str]) -> tuple[int, ...]:
        """The sizes of dimensions."""
        return tuple(self.sizes[name] for name in names)


def _factors(scope: Scope) -> _Factors:
    choices = scope.choices
    batch = [_BATCH] if chance(choices, _BATCH_PERCENT) else []
    rows = [_ROWS] if chance(choices, _ROWS_PERCENT) else []
    sliced, matrix = [_ALONG, *batch, *rows, _SUMMED], [*batch, _SUMMED, _COLUMNS]
    sizes = {name: choices.integer(*within) for name, within in _SIZES.items()}
    sliced, matrix = ([names[k] for k in permutation(choices, len(names))] for names in (sliced, matrix))
    return _Factors(sliced, matrix, sizes)


def _recurrent(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    """What has been gathered of the products of all slices, and of what was there before."""
    found = _factors(scope)
    is_narrow = element_type in _NARROW and chance(scope.choices, _NARROW_PERCENT)
    kind = pick(scope.choices, _NARROW[element_type]) if is_narrow else element_type
    array = scope.parameter(ArrayShape(kind, found.dims(found.sliced)))
    matrix = scope.parameter(ArrayShape(element_type, found.dims(found.matrix)))
    is_kept, is_first = chance(scope.choices, _KEPT_PERCENT), chance(scope.choices, 50)
    cut = [name for name in found.sliced if is_kept or name != _ALONG]
    sides = (cut, found.matrix) if is_first else (found.matrix, cut)
    shared = [name for name in cut if name == _BATCH]
    free = [name for side in sides for name in side if name not in (*shared, _SUMMED)]
    sizes = {**found.sizes, _ALONG: 1}
    before = scope.parameter(ArrayShape(element_type, tuple(sizes[name] for name in (*shared, *free))))
    pieces = [scope.constant(0, S32), before, array, matrix]
    shape = TupleShape(tuple(piece.array for piece in pieces))
    state = scope.build("tuple", pieces)
    condition = _condition(scope, shape, found.sizes[_ALONG])
    body = bodies.inner_of(scope, "body")
    number, old, sliced, other = bodies.unpacked(body, shape)
    piece = _slice(body, found, sliced, number)
    piece = body.build("convert", [piece], shape=piece.array.with_type(element_type)) if is_narrow else piece
    if not is_kept:
        piece = body.build("reshape", [piece], shape=piece.array.with_dims(tuple(sizes[name] for name in cut)))
    product = body.build("dot", [piece, other] if is_first else [other, piece], **_numbers(sides, shared))
    gathered = body.build(pick(scope.choices, combiners(element_type)[:3]), [old, product])
    following = build(body.computation, "add", [number, body.constant(1, S32)])
    body.computation.root = body.build("tuple", [following, gathered, sliced, other])
    done = scope.build("while", [state], condition=condition, body=body.computation)
    return scope.build("get-tuple-element", [done], index=1)


def _condition(scope: Scope, state: TupleShape, slices: int) -> Computation:
    """That not all slices have been taken, or not nearly all."""
    left_out = scope.choices.integer(0, slices // 2) if chance(scope.choices, _FEWER_PERCENT) else 0
    inner = bodies.inner_of(scope, "condition")
    pair = [bodies.unpacked(inner, state)[0], inner.constant(slices - left_out, S32)]
    inner.computation.root = build(inner.computation, "compare", pair, direction="LT")
    return inner.computation


def _slice(body: Scope, found: _Factors, array: Instruction, number: Instruction) -> Instruction:
    """The slice of an iteration."""
    zero, start = body.constant(0, S32), number
    if chance(body.choices, _BACKWARDS_PERCENT):
        start = build(body.computation, "subtract", [body.constant(found.sizes[_ALONG] - 1, S32), number])
    starts = [start if name == _ALONG else zero for name in found.sliced]
    dims = tuple(1 if name == _ALONG else found.sizes[name] for name in found.sliced)
    return build(body.computation, "dynamic-slice", [array, *starts], dynamic_slice_sizes=dims)


def _numbers(sides: Sequence[Sequence[str]], shared: Sequence[str]) -> dict[str, Any]:
    """Which dimensions of the left factor and of the right one are batches, and which are summed over."""
    given: dict[str, Any] = {}
    for name, side in zip(("lhs", "rhs"), sides, strict=True):
        given[f"{name}_contracting_dims"] = (side.index(_SUMMED),)
        if shared:
            given[f"{name}_batch_dims"] = (side.index(_BATCH),)
    return given


_TYPES = tuple(t for t in PRODUCTS["dot"].element_types if t.bits >= _LEAST_BITS and not t.is_complex)
RECURRENCES: Mapping[str, Recipe] = {"recurrence": Recipe(_TYPES, _recurrent)}
"""The loops by name, as kernels are (`compiler.generate.kernels`)."""
