"""Morphological dilation: the greatest sum of a filter and the part of an image below it, and the way back from there.

The element of a window that is the greatest gets the gradient, of equal ones the first.  NaN is greater than nothing,
and what lies beyond the edges takes no part; a window in which nothing is greater than the least number has that as its
result, and no gradient goes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from compiler.expansion.expression import Expression, concatenate
from compiler.ir.attributes import PaddingDimension
from compiler.ir.numbers import finite_bounds
from compiler.ir.types import PRED, S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table
from compiler.tf2xla.reducing import in_f32
from compiler.tf2xla.windows import Along, Layout, numbers_of, windows

_LAYOUT = Layout(0, (1, 2), 3)


class _Greatest(NamedTuple):
    """What the windows of an image give: their sizes, the results, and the number of the filter's element of each."""

    rows: Along
    columns: Along
    values: Expression
    chosen: Expression

    def elements(self) -> Iterator[tuple[int, int, int]]:
        """The elements of the filter: number, row, column."""
        for number in range(self.rows.size * self.columns.size):
            yield number, *divmod(number, self.columns.size)


def _cut(along: Along, number: int) -> tuple[int, int, int]:
    """Where the elements of that number of all windows are: first, beyond the last, step."""
    first = number * along.dilation
    return first, first + (along.output_size - 1) * along.stride + 1, along.stride


def _is_inside(along: Along, number: int) -> np.ndarray:  # type: ignore[type-arg]  # of truth values
    places = np.arange(along.output_size) * along.stride + number * along.dilation - along.low
    return (places >= 0) & (places < along.image)


def _padded(x: Expression, rows: PaddingDimension, columns: PaddingDimension) -> Expression:
    none = PaddingDimension(0, 0)
    operands = [x.instruction, x.literal(0).instruction]
    return Expression(build(x.instruction.computation, "pad", operands, padding=(none, rows, columns, none)))


def _greatest(operation: Operation) -> _Greatest:
    x, kernel = operation["input"], operation["filter"]
    fits = len(x.dims) == 4 and len(kernel.dims) == 3 and x.dims[3] == kernel.dims[2]
    operation.require(fits, lambda: f"images of {list(x.dims)} and a filter of {list(kernel.dims)} do not go together")
    rates = numbers_of(operation, "rates", _LAYOUT)
    rows, columns = windows(operation, _LAYOUT, x.dims, kernel.dims[:2], rates)
    dims = (x.dims[0], rows.output_size, columns.output_size, x.dims[3])
    edged = _padded(x, PaddingDimension(rows.low, rows.high), PaddingDimension(columns.low, columns.high))
    found = _Greatest(
        rows, columns, operation.full(finite_bounds(x.type)[0], x.type, dims), operation.full(-1, S32, dims)
    )
    for number, row, column in found.elements():
        under = edged.slice((0, dims[0]), _cut(rows, row), _cut(columns, column), (0, dims[3]))
        each = kernel.slice((row, row + 1), (column, column + 1), (0, dims[3])).reshape(dims[3])
        candidate = under + each.spread(dims, [3])
        inside = np.logical_and.outer(_is_inside(rows, row), _is_inside(columns, column))
        is_greater = candidate.compare("GT", found.values) & operation.constant(inside, PRED).spread(dims, [1, 2])
        values = is_greater.where(candidate, found.values)
        chosen = is_greater.where(operation.full(number, S32, dims), found.chosen)
        found = found._replace(values=values, chosen=chosen)
    return found


def _dilated(operation: Operation) -> Expression:
    return _greatest(operation).values


def _given_back(operation: Operation, found: _Greatest) -> list[Expression]:
    """Of the gradient what goes to each element of the filter, and to what lies below it."""
    g = operation["out_backprop"]
    fits = g.dims == found.values.dims
    operation.require(fits, lambda: f"the gradient of {list(g.dims)} is not that of results of {found.values.dims}")
    g = g.to(in_f32(g.type))
    nothing = g.literal(0).spread(g.dims, ())
    return [found.chosen.compare("EQ", number).where(g, nothing) for number, *_ in found.elements()]


def _to_image(operation: Operation) -> Expression:
    x, found = operation["input"], _greatest(operation)

    def spread_out(along: Along, number: int) -> PaddingDimension:
        first, end, step = _cut(along, number)
        return PaddingDimension(first - along.low, along.low + along.image - end, step - 1)

    given = _given_back(operation, found)
    whole = [
        _padded(given[number], spread_out(found.rows, row), spread_out(found.columns, column))
        for number, row, column in found.elements()
    ]
    return reduce(add, whole).to(x.type)


def _to_filter(operation: Operation) -> Expression:
    kernel, found = operation["filter"], _greatest(operation)
    sums = [one.sum(0, 1, 2).reshape(1, kernel.dims[2]) for one in _given_back(operation, found)]
    return concatenate(sums, 0).reshape(*kernel.dims).to(kernel.type)


_IMAGES = "input: T, filter: T"
_WINDOWS = "strides: list(int); rates: list(int); padding: string; T: {reals}"
RECORDS = table(
    record(
        "Dilation2D",
        f"{_IMAGES} -> output: T; {_WINDOWS}",
        _dilated,
        "The greatest sums of a filter and what it is on.",
    ),
    *(
        record(f"Dilation2DBackprop{what}", f"{_IMAGES}, out_backprop: T -> {result}: T; {_WINDOWS}", lower, doc)
        for what, result, lower, doc in (
            ("Input", "in_backprop", _to_image, "The gradient of a dilation to its image."),
            ("Filter", "filter_backprop", _to_filter, "The gradient of a dilation to its filter."),
        )
    ),
)
