"""Python's indexing in one op: starts, ends and steps for some dimensions, an ellipsis, new and dropped dimensions.

Each number of `begin`, `end` and `strides` is about one thing between the brackets; the bits of the masks say which of
them have no beginning or end, are an ellipsis, a new dimension, or a single index, whose dimension goes.

Where `begin` is known at run time only, sizes must follow without it: a dimension is taken whole, or at one index.  As
in XLA, an index that is out of range is moved to the nearest that there is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from compiler.expansion.expression import Expression
from compiler.ir.attributes import PaddingDimension
from compiler.ir.types import PRED
from compiler.ops.build import build
from compiler.tf2xla.broadcasting import common_dims, spread
from compiler.tf2xla.operation import Operation


@dataclass(frozen=True, slots=True)
class _Cut:
    """What is taken of one dimension: the first index, how many, in which steps; whether the dimension goes.

    `at` is the number of the index that says at run time where, None where that is known.
    """

    start: int
    count: int
    step: int
    drops: bool
    at: int | None = None


def strided_slice(operation: Operation) -> Expression:
    """The part of `input` that the node says."""
    x = operation["input"]
    plan, dims = _plan_of(operation, x.dims)
    taken = _taken_there if _moves(plan) else _taken
    return taken(operation, x, plan).reshape(*dims)


def strided_slice_changed(operation: Operation, x: Expression, value: Expression) -> Expression:
    """An array in which a part, as the node says it, is replaced by a value that is spread over the part.

    Args:
        operation: the node, which says the part.
        x: the array.
        value: what is put there.
    """
    plan, dims = _plan_of(operation, x.dims)
    fits = common_dims(operation, value.dims, dims) == tuple(dims) or 0 in dims
    operation.require(fits, lambda: f"a value of the sizes {list(value.dims)} does not go into {dims}")
    if 0 in dims:
        return x
    if _moves(plan):
        return _put_there(operation, x, spread(value, dims), plan)
    there = operation.full(1, PRED, dims)
    is_written, found = (strided_slice_back(operation, x.dims, one) for one in (there, spread(value, dims)))
    return is_written.where(found, x)


def strided_slice_back(operation: Operation, sizes: tuple[int, ...], update: Expression) -> Expression:
    """An array of zeros with a part where the node says that one was taken.

    Args:
        operation: the node, which says the part.
        sizes: of the array.
        update: the part.
    """
    plan, dims = _plan_of(operation, sizes)
    fits = update.dims == tuple(dims)
    operation.require(fits, lambda: f"the part has the sizes {list(update.dims)}, and {dims} was taken")
    if _moves(plan):
        return _put_there(operation, operation.full(0, update.type, sizes), update, plan)
    update = update.reshape(*(cut.count for cut in plan))
    backwards = tuple(axis for axis, cut in enumerate(plan) if cut.step < 0)
    if backwards:
        update = Expression(build(operation.computation, "reverse", [update.instruction], dimensions=backwards))
    padding = []
    for size, cut in zip(sizes, plan, strict=True):
        last = cut.start + (cut.count - 1) * cut.step
        first, last = min(cut.start, last), max(cut.start, last)
        row = PaddingDimension(first, size - 1 - last, abs(cut.step) - 1) if cut.count else PaddingDimension(0, size)
        padding.append(row)
    operands = [update.instruction, update.literal(0).instruction]
    return Expression(build(operation.computation, "pad", operands, padding=tuple(padding)))


def _moves(plan: list[_Cut]) -> bool:
    return any(cut.at is not None for cut in plan)


def _starts(operation: Operation, sizes: tuple[int, ...], plan: list[_Cut]) -> list[Expression]:
    """Where a part begins in each dimension."""
    begin = operation["begin"]
    found = []
    for size, cut in zip(sizes, plan, strict=True):
        if cut.at is None:
            found.append(begin.literal(0))
        else:
            index = begin.slice((cut.at, cut.at + 1)).reshape()
            found.append(index.compare("LT", 0).where(index + size, index))
    return found


def _taken_there(operation: Operation, x: Expression, plan: list[_Cut]) -> Expression:
    operands = [x.instruction, *(one.instruction for one in _starts(operation, x.dims, plan))]
    counts = tuple(cut.count for cut in plan)
    return Expression(build(operation.computation, "dynamic-slice", operands, dynamic_slice_sizes=counts))


def _put_there(operation: Operation, x: Expression, update: Expression, plan: list[_Cut]) -> Expression:
    update = update.reshape(*(cut.count for cut in plan))
    starts = _starts(operation, x.dims, plan)
    operands = [one.instruction for one in (x, update, *starts)]
    return Expression(build(operation.computation, "dynamic-update-slice", operands))


def _plan_of(operation: Operation, sizes: tuple[int, ...]) -> tuple[list[_Cut], list[int]]:
    """What is taken of each dimension, and the sizes of the result."""
    names = ("begin", "end", "strides")
    counts = {operation[name].dims for name in names}
    operation.require(len(counts) == 1, "begin, end and strides must be as many")
    is_known = all(operation.library.value(operation[name]) is not None for name in names[:2])
    strides = operation.integers("strides")
    begin, end = (operation.integers(name) if is_known else (0,) * len(strides) for name in names[:2])
    rows = list(map(_Index, begin, end, strides))
    return _planned(operation, sizes, rows, _cut if is_known else _cut_there)


class _Index(NamedTuple):
    """What one index of a strided slice says."""

    begin: int
    end: int
    step: int


def _cut_there(operation: Operation, size: int, row: _Index, number: int, *, drops: bool) -> _Cut:
    """What one index takes of a dimension where it is known at run time only."""
    if drops:
        operation.require(size, "it takes an element of a dimension that has none")
        return _Cut(0, 1, 1, drops=True, at=number)
    is_open = all(operation.attribute(f"{name}_mask") >> number & 1 for name in ("begin", "end"))
    if not is_open or row.step != 1:
        raise operation.not_constant("begin")
    return _Cut(0, size, 1, drops=False)


def _planned(
    operation: Operation, sizes: tuple[int, ...], rows: list[_Index], cut_of: Callable[..., _Cut]
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
        rows = [*rows, _Index(0, 0, 1)]
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
            cut = cut_of(operation, sizes[len(plan)], row, number, drops=has("shrink_axis", number))
            plan.append(cut)
            dims += [] if cut.drops else [cut.count]
    return plan, dims


def _cut(operation: Operation, size: int, row: _Index, number: int, *, drops: bool) -> _Cut:
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
    taken_ = x.slice(*kept)
    if not backwards:
        return taken_
    return Expression(build(operation.computation, "reverse", [taken_.instruction], dimensions=tuple(backwards)))
