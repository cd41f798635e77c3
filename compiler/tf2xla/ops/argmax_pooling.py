"""Pools that say where the greatest of each window stands, by its number in the image or in the batch."""

from __future__ import annotations

import math

from compiler.expansion.expression import Expression, iota
from compiler.ir.types import S64
from compiler.tf2xla.greatest import LAYOUT, greatest_of
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table
from compiler.tf2xla.reducing import in_f32
from compiler.tf2xla.scattering import scattered
from compiler.tf2xla.windows import numbers_of, windows


def _pooled(operation: Operation) -> list[Expression]:
    x = operation["input"]
    operation.require(len(x.dims) == 4, lambda: f"it takes images of 4 dimensions, not the sizes {list(x.dims)}")
    rows, columns = windows(operation, LAYOUT, x.dims, numbers_of(operation, "ksize", LAYOUT))
    found = greatest_of(operation, x, (rows, columns))
    dims = found.values.dims

    def positions(axis: int) -> Expression:
        return iota(operation.computation, S64, dims, axis)

    element = found.chosen.to(S64)
    row = positions(1) * rows.stride - rows.low + element.apply("divide", columns.size)
    column = positions(2) * columns.stride - columns.low + element.apply("remainder", columns.size)
    number = (row * x.dims[2] + column) * x.dims[3] + positions(3)
    if operation.attribute("include_batch_in_index"):
        number = number + positions(0) * math.prod(x.dims[1:])
    return [found.values, number.to(operation.type("Targmax"))]


def _back(operation: Operation) -> Expression:
    x, g, number = operation["input"], operation["grad"], operation["argmax"].to(S64)
    fits = len(x.dims) == 4 and g.dims == number.dims and g.dims[:1] == x.dims[:1]
    operation.require(fits, lambda: f"{list(g.dims)} and {list(number.dims)} do not go to images of {list(x.dims)}")
    if not operation.attribute("include_batch_in_index"):
        number = number + iota(operation.computation, S64, g.dims, 0) * math.prod(x.dims[1:])
    count = math.prod(g.dims)
    zeros = operation.full(0, in_f32(x.type), (math.prod(x.dims),))
    summed = scattered(zeros, number.reshape(count, 1), g.to(zeros.type).reshape(count), "add")
    return summed.reshape(*x.dims).to(x.type)


_WINDOWS = "ksize: list(int); strides: list(int); padding: string; include_batch_in_index: bool = false; T: {reals}"
RECORDS = table(
    record(
        "MaxPoolWithArgmax",
        f"input: T -> output: T, argmax: Targmax; {_WINDOWS}; Targmax: {{index}} = int64",
        _pooled,
        "The greatest of each window, and where it stands.",
    ),
    record(
        "MaxPoolGradWithArgmax",
        f"input: T, grad: T, argmax: Targmax -> output: T; {_WINDOWS}; Targmax: {{index}}",
        _back,
        "Gradients of the greatest of windows where these stand.",
    ),
)
