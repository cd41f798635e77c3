"""The greatest of each window of an image, and which of its elements that is: dilations and pools go back by it.

Of equal ones it is the first.  NaN is greater than nothing, and what lies beyond the edges takes no part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.expansion.expression import Expression
from compiler.ir.attributes import PaddingDimension
from compiler.ir.numbers import finite_bounds
from compiler.ir.types import PRED, S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.windows import Along, Layout

LAYOUT = Layout(0, (1, 2), 3)


class Greatest(NamedTuple):
    """What the windows of an image give.

    Attributes:
        rows: the windows along rows.
        columns: those along columns.
        values: the greatest of each.
        chosen: the number of its element, -1 where there is none.
    """

    rows: Along
    columns: Along
    values: Expression
    chosen: Expression

    def elements(self) -> Iterator[tuple[int, int, int]]:
        """The elements of a window: number, row, column."""
        for number in range(self.rows.size * self.columns.size):
            yield number, *divmod(number, self.columns.size)


def cut(along: Along, number: int) -> tuple[int, int, int]:
    """Where the elements of that number of all windows are: first, beyond the last, step."""
    first = number * along.dilation
    return first, first + (along.output_size - 1) * along.stride + 1, along.stride


def padded(x: Expression, rows: PaddingDimension, columns: PaddingDimension) -> Expression:
    """An image with zeros around it, and between its positions.

    Args:
        x: [batch, rows, columns, channels].
        rows: how many zeros come before, behind and between rows.
        columns: the same of columns.
    """
    none = PaddingDimension(0, 0)
    operands = [x.instruction, x.literal(0).instruction]
    return Expression(build(x.instruction.computation, "pad", operands, padding=(none, rows, columns, none)))


def _is_inside(along: Along, number: int) -> NDArray[np.bool_]:
    positions = np.arange(along.output_size) * along.stride + number * along.dilation - along.low
    return (positions >= 0) & (positions < along.image)


def greatest_of(
    operation: Operation, x: Expression, plan: tuple[Along, Along], kernel: Expression | None = None
) -> Greatest:
    """The greatest of each window.

    Args:
        operation: the node.
        x: images.
        plan: the windows along rows, and along columns.
        kernel: what is added to the elements of each window, which then must be greater than the least number; without
            it the first counts whatever it is.
    """
    rows, columns = plan
    dims = (x.dims[0], rows.output_size, columns.output_size, x.dims[3])
    edged = padded(x, PaddingDimension(rows.low, rows.high), PaddingDimension(columns.low, columns.high))
    least = operation.full(finite_bounds(x.type)[0], x.type, dims)
    found = Greatest(rows, columns, least, operation.full(-1, S32, dims))
    for number, row, column in found.elements():
        candidate = edged.slice((0, dims[0]), cut(rows, row), cut(columns, column), (0, dims[3]))
        if kernel is not None:
            each = kernel.slice((row, row + 1), (column, column + 1), (0, dims[3])).reshape(dims[3])
            candidate = candidate + each.spread(dims, [3])
        is_greater = candidate.compare("GT", found.values)
        if kernel is None:
            is_greater = is_greater | found.chosen.compare("LT", 0)
        inside = np.logical_and.outer(_is_inside(rows, row), _is_inside(columns, column))
        is_greater = is_greater & operation.constant(inside, PRED).spread(dims, [1, 2])
        values = is_greater.where(candidate, found.values)
        chosen = is_greater.where(operation.full(number, S32, dims), found.chosen)
        found = found._replace(values=values, chosen=chosen)
    return found
