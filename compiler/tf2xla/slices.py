"""Python's indexing in one op: starts, ends and steps for some dimensions, an ellipsis, new and dropped dimensions.

Each number of `begin`, `end` and `strides` is about one thing between the brackets; the bits of the masks say which of
them have no beginning or end, are an ellipsis, a new dimension, or a single index, whose dimension goes.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.expansion.expression import Expression
from compiler.ir.attributes import PaddingDimension
from compiler.ir.types import PRED
from compiler.ops.build import build
from compiler.tf2xla.broadcasting import common_dims, spread
from compiler.tf2xla.operation import Operation


@dataclass(frozen=True, slots=True)
class _Cut:
    """What is taken of one dimension: the first index, how many, in which steps; whether the dimension goes."""

    start: int
    count: int
    step: int
    drops: bool


def strided_slice(operation: Operation) -> Expression:
    """The part of `input` that the node says."""
    x = operation["input"]
    begin, end, strides = (operation.integers(name) for name in ("begin", "end", "strides"))
    operation.require(len(begin) == len(end) == len(strides), "begin, end and strides must be as many")
    plan, dims = _planned(operation, x.dims, list(zip(begin, end, strides, strict=True)))
    return _taken(operation, x, plan).reshape(*dims)


def strided_slice_changed(operation: Operation, x: Expression, value: Expression) -> Expression:
    """An array in which a part, as the node says it, is replaced by a value that is spread over the part."""
    begin, end, strides = (operation.integers(name) for name in ("begin", "end", "strides"))
    operation.require(len(begin) == len(end) == len(strides), "begin, end and strides must be as many")
    _, dims = _planned(operation, x.dims, list(zip(begin, end, strides, strict=True)))
    fits = common_dims(operation, value.dims, dims) == tuple(dims) or 0 in dims
    operation.require(fits, lambda: f"a value of the sizes {list(value.dims)} does not go into {dims}")
    if 0 in dims:
        return x
    there = operation.full(1, PRED, dims)
    places, found = (strided_slice_back(operation, x.dims, one) for one in (there, spread(value, dims)))
    return places.where(found, x)


def strided_slice_back(operation: Operation, sizes: tuple[int, ...], part: Expression) -> Expression:
    """An array of zeros with a part where the node says that one was taken."""
    begin, end, strides = (operation.integers(name) for name in ("begin", "end", "strides"))
    operation.require(len(begin) == len(end) == len(strides), "begin, end and strides must be as many")
    plan, dims = _planned(operation, sizes, list(zip(begin, end, strides, strict=True)))
    fits = part.dims == tuple(dims)
    operation.require(fits, lambda: f"the part has the sizes {list(part.dims)}, and {dims} was taken")
    part = part.reshape(*(cut.count for cut in plan))
    backwards = tuple(axis for axis, cut in enumerate(plan) if cut.step < 0)
    if backwards:
        part = Expression(build(operation.computation, "reverse", [part.instruction], dimensions=backwards))
    padding = []
    for size, cut in zip(sizes, plan, strict=True):
        last = cut.start + (cut.count - 1) * cut.step
        first, last = min(cut.start, last), max(cut.start, last)
        row = PaddingDimension(first, size - 1 - last, abs(cut.step) - 1) if cut.count else PaddingDimension(0, size)
        padding.append(row)
    operands = [part.instruction, part.literal(0).instruction]
    return Expression(build(operation.computation, "pad", operands, padding=tuple(padding)))


def _planned(
    operation: Operation, sizes: tuple[int, ...], rows: list[tuple[int, int, int]]
) -> tuple[list[_Cut], list[int]]:
    """What is taken of each dimension, and the sizes of the result."""
    masks = {name: operation.attribute(f"{name}_mask") for name in ("ellipsis", "new_axis", "shrink_axis")}

    def has(name: str, number: int) -> bool:
        return bool(masks[name] >> number & 1)

    ellipses = [number for number in range(len(rows)) if has("ellipsis", number)]
    operation.require(len(ellipses) <= 1, "it has more than one ellipsis")
    new = sum(1 for n in range(len(rows)) if has("new_axis", n) and not has("ellipsis", n))
    spelled = len(rows) - new - len(ellipses)
    operation.require(spelled <= len(sizes), lambda: f"{spelled} indices are more than {list(sizes)} has dimensions")
    if not ellipses:
        rows = [*rows, (0, 0, 1)]
        ellipses = [len(rows) - 1]
    plan: list[_Cut] = []
    dims: list[int] = []
    for number, row in enumerate(rows):
        if number == ellipses[0]:
            for size in sizes[len(plan) : len(plan) + len(sizes) - spelled]:
                plan.append(_Cut(0, size, 1, drops=False))
                dims.append(size)
        elif has("new_axis", number):
            dims.append(1)
        else:
            cut = _cut(operation, sizes[len(plan)], row, number, drops=has("shrink_axis", number))
            plan.append(cut)
            dims += [] if cut.drops else [cut.count]
    return plan, dims


def _cut(operation: Operation, size: int, row: tuple[int, int, int], number: int, *, drops: bool) -> _Cut:
    """What one index takes of a dimension."""
    begin, end, step = row
    operation.require(step, f"the step of index {number} is 0")
    if drops:
        operation.require(step > 0, f"index {number} is single, and has a negative step")
        at = begin + size if begin < 0 else begin
        operation.require(0 <= at < size, f"index {begin} is none of {size} elements")
        return _Cut(at, 1, 1, drops=True)
    open_start = bool(operation.attribute("begin_mask") >> number & 1)
    open_end = bool(operation.attribute("end_mask") >> number & 1)
    chosen = slice(None if open_start else begin, None if open_end else end, step)
    indices = range(*chosen.indices(size))
    return _Cut(indices.start, len(indices), step, drops=False)


def _taken(operation: Operation, x: Expression, plan: list[_Cut]) -> Expression:
    """The elements, in the sizes that they are taken with; what is taken backwards is turned afterwards."""
    kept, backwards = [], []
    for axis, cut in enumerate(plan):
        last = cut.start + (cut.count - 1) * cut.step
        if not cut.count:
            kept.append((0, 0, 1))
        elif cut.step > 0:
            kept.append((cut.start, last + 1, cut.step))
        else:
            kept.append((last, cut.start + 1, -cut.step))
            backwards.append(axis)
    part = x.slice(*kept)
    if not backwards:
        return part
    return Expression(build(operation.computation, "reverse", [part.instruction], dimensions=tuple(backwards)))
