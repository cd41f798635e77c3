"""Formulas that several families of ops need: arrays of different sizes together, by NumPy's rules, and conjugates."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.expansion.expression import Expression
from compiler.tf2xla.operation import Operation


def common_dims(operation: Operation, *dims: Sequence[int]) -> tuple[int, ...]:
    """The sizes that arrays of these sizes are spread to.

    Raises:
        InputError: there are none.
    """
    rank = max(map(len, dims), default=0)
    result = []
    for column in zip(*((1,) * (rank - len(one)) + tuple(one) for one in dims), strict=True):
        sizes = {size for size in column if size != 1}
        if len(sizes) > 1:
            shown = " and ".join(str(list(one)) for one in dims)
            raise operation.invalid(f"arrays of the sizes {shown} do not go together")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def spread(value: Expression, dims: Sequence[int]) -> Expression:
    """An array spread to sizes that it fits: dimensions are aligned at their ends, and a 1 becomes any size."""
    wanted = tuple(dims)
    if value.dims == wanted:
        return value
    first = len(wanted) - len(value.dims)
    kept = [number for number, size in enumerate(value.dims) if size == wanted[first + number]]
    squeezed = value.reshape(*(value.dims[number] for number in kept))
    return squeezed.spread(wanted, [first + number for number in kept])


def together(operation: Operation, *values: Expression) -> list[Expression]:
    """Arrays spread to sizes that all of them have."""
    dims = common_dims(operation, *(value.dims for value in values))
    return [spread(value, dims) for value in values]
