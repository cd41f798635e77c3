"""Diagonals of matrices, several of them at once, of different lengths and aligned left or right.

Which element of a matrix is which of the diagonals is known when the graph is compiled: a table of numbers, by which
elements are taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.expansion.expression import Expression
from compiler.ir.types import PRED, S32
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.record import record, table

Table = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Diagonals:
    """Diagonals number `low` to `high` of a matrix of a certain size, and how short ones are aligned."""

    rows: int
    columns: int
    low: int
    high: int
    align: str = "LEFT_LEFT"

    def length(self, number: int) -> int:
        """How many elements one has."""
        return max(0, min(self.rows + min(number, 0), self.columns - max(number, 0)))

    @property
    def longest(self) -> int:
        """The length of the longest."""
        return max(self.length(number) for number in range(self.low, self.high + 1))

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes of all of them as an array."""
        return (self.longest,) if self.low == self.high else (self.high - self.low + 1, self.longest)

    def index_tables(self) -> tuple[Table, Table]:
        """Of each element of the array the element of the matrix, and the other way round; -1 where there is none."""
        count = self.high - self.low + 1
        of_array = np.full((count, self.longest), -1, np.int32)
        of_matrix = np.full((self.rows, self.columns), -1, np.int32)
        above, below = (side == "RIGHT" for side in self.align.split("_"))
        for line, number in enumerate(range(self.high, self.low - 1, -1)):
            length = self.length(number)
            is_right = (number < 0 or above) and (number > 0 or below)
            along = np.arange(length)
            at = along + (self.longest - length if is_right else 0)
            row, column = along + max(-number, 0), along + max(number, 0)
            of_array[line, at] = row * self.columns + column
            of_matrix[row, column] = line * self.longest + at
        return of_array.reshape(self.dims), of_matrix


def _asked(operation: Operation) -> tuple[int, int]:
    if "k" not in [port.name for port in operation.signature.inputs]:
        return 0, 0
    numbers = operation.integers("k")
    operation.require(len(numbers) in (1, 2), f"its k must be one number or two, not {list(numbers)}")
    operation.require(numbers[0] <= numbers[-1], f"its k {list(numbers)} must not fall")
    return numbers[0], numbers[-1]


def _align(operation: Operation) -> str:
    if "align" not in operation.signature.attributes:
        return "LEFT_LEFT"
    stated: str = operation.attribute("align").decode(errors="replace")
    sides = {"LEFT", "RIGHT"}
    operation.require(set(stated.split("_")) <= sides and stated.count("_") == 1, f"{stated!r} is no alignment")
    return stated


def _of_matrix(operation: Operation, x: Expression) -> _Diagonals:
    operation.require(len(x.dims) >= 2, lambda: f"it takes matrices, not an array of the sizes {list(x.dims)}")
    low, high = _asked(operation)
    rows, columns = x.dims[-2:]
    fits = 0 in (rows, columns) or (-rows < low and high < columns)
    operation.require(fits, lambda: f"a matrix of {rows} x {columns} has no diagonals {low} to {high}")
    return _Diagonals(rows, columns, low, high, _align(operation))


def _chosen(operation: Operation, x: Expression, inner: int, positions: Table, otherwise: Expression) -> Expression:
    """Of the last `inner` dimensions those elements whose numbers a table has; where it has -1 another value."""
    outer = x.dims[: len(x.dims) - inner]
    flat = x.reshape(math.prod(outer), math.prod(x.dims[len(outer) :]))
    dims = (*outer, *positions.shape)
    if not flat.dims[1] or not positions.size:
        return otherwise.spread(dims, ()) if not otherwise.dims else otherwise
    indices = operation.constant(np.maximum(positions, 0), S32)
    found = gathered(operation, flat, indices, 1, 0).reshape(*dims)
    if (positions >= 0).all():
        return found
    along = list(range(len(outer), len(dims)))
    return operation.constant(positions >= 0, PRED).spread(dims, along).where(found, otherwise)


def _padding(operation: Operation, x: Expression) -> Expression:
    if "padding_value" not in [port.name for port in operation.signature.inputs]:
        return x.literal(0)
    value = operation["padding_value"]
    operation.require(not value.dims, "its padding value must be a scalar")
    return value


def _diagonal(operation: Operation) -> Expression:
    x = operation["input"]
    of_array, _ = _of_matrix(operation, x).index_tables()
    return _chosen(operation, x, 2, of_array, _padding(operation, x))


def _size(operation: Operation, name: str) -> int:
    if name not in [port.name for port in operation.signature.inputs]:
        return -1
    return operation.integer(name)


def _made(operation: Operation) -> Expression:
    """Matrices with these diagonals, as small as they can be where nobody says their sizes."""
    x, (low, high) = operation["diagonal"], _asked(operation)
    inner = 1 if low == high else 2
    operation.require(len(x.dims) >= inner, lambda: f"{list(x.dims)} are no sizes of diagonals {low} to {high}")
    fewest_rows, fewest_columns = x.dims[-1] - min(high, 0), x.dims[-1] + max(low, 0)
    rows, columns = _size(operation, "num_rows"), _size(operation, "num_cols")
    if rows == columns == -1:
        rows = columns = max(fewest_rows, fewest_columns)
    rows, columns = (fewest_rows if rows == -1 else rows), (fewest_columns if columns == -1 else columns)
    asked = _Diagonals(rows, columns, low, high, _align(operation))
    operation.require(
        x.dims[-inner:] == asked.dims,
        lambda: f"{list(x.dims)} are no sizes of diagonals {low} to {high} of {rows} x {columns}",
    )
    return _chosen(operation, x, inner, asked.index_tables()[1], _padding(operation, x))


def _set(operation: Operation) -> Expression:
    x, diagonal = operation["input"], operation["diagonal"]
    asked = _of_matrix(operation, x)
    wanted = (*x.dims[:-2], *asked.dims)
    fits = diagonal.dims == wanted
    operation.require(fits, lambda: f"its diagonal must have the sizes {list(wanted)}, and has {list(diagonal.dims)}")
    return _chosen(operation, diagonal, len(asked.dims), asked.index_tables()[1], x)


def _whole(operation: Operation) -> Expression:
    """An array of twice as many dimensions, whose diagonal another is."""
    x = operation["diagonal"]
    size = math.prod(x.dims)
    positions = np.full((size, size), -1, np.int32)
    np.fill_diagonal(positions, np.arange(size, dtype=np.int32))
    found = _chosen(operation, x.reshape(size), 1, positions, x.literal(0))
    return found.reshape(*x.dims, *x.dims)


def _whole_diagonal(operation: Operation) -> Expression:
    x = operation["input"]
    half = len(x.dims) // 2
    fits = half and x.dims[:half] == x.dims[half:]
    operation.require(fits, lambda: f"the sizes {list(x.dims)} are not the same twice")
    size = math.prod(x.dims[:half])
    positions = np.arange(size, dtype=np.int32) * (size + 1)
    return _chosen(operation, x.reshape(size * size), 1, positions, x.literal(0)).reshape(*x.dims[:half])


_ALIGN = "align: string = 'RIGHT_LEFT'"
_VERSIONS = {"V2": "T: {any}", "V3": f"T: {{any}}; {_ALIGN}"}
RECORDS = table(
    record("Diag", "diagonal: T -> output: T; T: {floats complexes index}", _whole, "An array with a diagonal."),
    record("DiagPart", "input: T -> diagonal: T; T: {floats complexes index}", _whole_diagonal, "The diagonal."),
    record("MatrixDiag", "diagonal: T -> output: T; T: {any}", _made, "Matrices with diagonals."),
    record("MatrixDiagPart", "input: T -> diagonal: T; T: {any}", _diagonal, "The diagonals of matrices."),
    record("MatrixSetDiag", "input: T, diagonal: T -> output: T; T: {any}", _set, "Matrices with other diagonals."),
    *(
        record(
            f"MatrixDiag{version}",
            f"diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T; {rest}",
            _made,
            "Matrices with diagonals.",
            constants=("k", "num_rows", "num_cols"),
        )
        for version, rest in _VERSIONS.items()
    ),
    *(
        record(
            f"MatrixDiagPart{version}",
            f"input: T, k: int32, padding_value: T -> diagonal: T; {rest}",
            _diagonal,
            "The diagonals of matrices.",
            constants=("k",),
        )
        for version, rest in _VERSIONS.items()
    ),
    *(
        record(
            f"MatrixSetDiag{version}",
            f"input: T, diagonal: T, k: int32 -> output: T; {rest}",
            _set,
            "Matrices with other diagonals.",
            constants=("k",),
        )
        for version, rest in _VERSIONS.items()
    ),
)
