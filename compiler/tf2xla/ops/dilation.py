"""Morphological dilation: the greatest sum of a filter and the part of an image below it, and the way back from there.

The element of a window that is the greatest gets the gradient; from a window in which nothing is greater than the least
number none goes back.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from compiler.expansion.expression import Expression, concatenate
from compiler.ir.attributes import PaddingDimension
from compiler.tf2xla.greatest import LAYOUT, Greatest, cut, greatest_of, padded
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table
from compiler.tf2xla.reducing import in_f32
from compiler.tf2xla.windows import Along, numbers_of, windows


def _greatest(operation: Operation) -> Greatest:
    x, kernel = operation["input"], operation["filter"]
    fits = len(x.dims) == 4 and len(kernel.dims) == 3 and x.dims[3] == kernel.dims[2]
    operation.require(fits, lambda: f"images of {list(x.dims)} and a filter of {list(kernel.dims)} do not go together")
    rates = numbers_of(operation, "rates", LAYOUT)
    rows, columns = windows(operation, LAYOUT, x.dims, kernel.dims[:2], rates)
    return greatest_of(operation, x, (rows, columns), kernel)


def _dilated(operation: Operation) -> Expression:
    return _greatest(operation).values


def _given_back(operation: Operation, found: Greatest) -> list[Expression]:
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
        first, end, step = cut(along, number)
        return PaddingDimension(first - along.low, along.low + along.image - end, step - 1)

    given = _given_back(operation, found)
    whole = [
        padded(given[number], spread_out(found.rows, row), spread_out(found.columns, column))
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
