"""Elements put at places, or combined there; the sizes of the result are known, the places need not be.

The kernels on CPUs refuse a place that is out of range.  Compiled code leaves it out, as XLA does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import ml_dtypes
import numpy as np

from compiler.expansion.expression import Expression, concatenate, iota
from compiler.ir.numbers import bounds
from compiler.ir.types import ElementType
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.shapes import sizes
from compiler.tf2xla.record import Lower, Record, record, table
from compiler.tf2xla.scattering import depth_of, scattered

Start = Callable[[ElementType], complex]


class _Combined(NamedTuple):
    """How the elements of a segment are combined, what of none, and for which types of elements and indices."""

    opcode: str
    start: Start
    types: str
    indices: str


_COMBINED = {
    "Sum": _Combined("add", lambda _: 0, "numbers", "index int16"),
    "Prod": _Combined("multiply", lambda _: 1, "numbers", "index"),
    "Max": _Combined("maximum", lambda kind: _finite(kind)[0], "reals", "index"),
    "Min": _Combined("minimum", lambda kind: _finite(kind)[1], "reals", "index"),
}


def _finite(kind: ElementType) -> tuple[complex, complex]:
    """The least and the greatest number of a type that is finite."""
    if not kind.is_float:
        return bounds(kind)
    high = float(ml_dtypes.finfo(kind.dtype).max)  # type: ignore[no-untyped-call]  # as the package has it
    return -high, high


def _segments(name: str, op: str, doc: str) -> Record:
    opcode, start, types, indices = _COMBINED[name]
    indices = indices if op.startswith("Unsorted") else "index"

    def lower(operation: Operation) -> Expression:
        data, ids = operation["data"], operation["segment_ids"]
        fits = data.dims[: len(ids.dims)] == ids.dims
        operation.require(fits, lambda: f"{list(ids.dims)} do not number the rows of {list(data.dims)}")
        count = operation.integer("num_segments")
        operation.require(count >= 0, f"it makes {count} segments")
        result = operation.full(start(data.type), data.type, (count, *data.dims[len(ids.dims) :]))
        return scattered(result, ids.reshape(*ids.dims, 1), data, opcode)

    return record(
        op,
        "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T; "
        f"T: {{{types}}}; Tindices: {{{indices}}}; Tnumsegments: {{index}} = int32",
        lower,
        doc,
        constants=("num_segments",),
    )


def _scatter_nd(operation: Operation) -> Expression:
    """Updates in an array of zeros, added where several have the same place."""
    updates, indices = operation["updates"], operation["indices"]
    result = operation.full(0, updates.type, sizes(operation, "shape"))
    return combined(operation, result, indices, updates, "add")


def combined(
    operation: Operation, x: Expression, indices: Expression, updates: Expression, opcode: str | None
) -> Expression:
    """Slices of an array, at vectors of indices, combined with others by an opcode, or replaced.

    Args:
        operation: the node.
        x: the array.
        indices: of which the last dimension holds vectors.
        updates: a slice for each vector.
        opcode: HLO's; None for those that replace.
    """
    depth = depth_of(operation, x.dims, indices)
    wanted = (*indices.dims[:-1], *x.dims[depth:])
    fits = updates.dims == wanted
    operation.require(fits, lambda: f"its updates must have the sizes {list(wanted)}, and have {list(updates.dims)}")
    return scattered(x, indices, updates, opcode)


def _into(opcode: str | None) -> Lower:
    return lambda operation: combined(
        operation, operation["tensor"], operation["indices"], operation["updates"], opcode
    )


def _stitch(operation: Operation) -> Expression:
    """Rows of several arrays where their numbers say; the last of the same number counts, zeros stand for none."""
    numbers = [value.reshape(-1) for value in operation.values("indices")]
    indices, data = operation.list("indices"), operation.list("data")
    inner = data[0].dims[len(indices[0].dims) :]
    for index, one in zip(indices, data, strict=True):
        fits = one.dims == (*index.dims, *inner)
        operation.require(fits, lambda: f"{list(one.dims)} are not rows for the numbers {list(index.dims)}")  # noqa: B023  # called at once
    joined = np.concatenate(numbers)
    operation.require(min(joined, default=0) >= 0, f"a number of a row is negative: {min(joined, default=0)}")
    count = int(max(joined, default=-1)) + 1
    last = np.full(count, joined.size, np.int64)
    last[joined] = np.arange(joined.size)
    rows = [one.reshape(index.size, *inner) for index, one in zip(numbers, data, strict=True)]
    if joined.size in last:
        rows.append(operation.full(0, rows[0].type, (1, *inner)))
    every = concatenate(rows, 0) if len(rows) > 1 else rows[0]
    return _rows(operation, every, last)


def _rows(operation: Operation, x: Expression, numbers: np.ndarray) -> Expression:
    """Rows of an array by numbers that are known."""
    kept = [(0, size) for size in x.dims[1:]]
    if (np.diff(numbers) == 1).all() and numbers.size:
        return x.slice((int(numbers[0]), int(numbers[-1]) + 1), *kept)
    rows = [x.slice((int(number), int(number) + 1), *kept) for number in numbers]
    if not rows:
        return operation.full(0, x.type, (0, *x.dims[1:]))
    return concatenate(rows, 0) if len(rows) > 1 else rows[0]


def _inverted(operation: Operation) -> Expression:
    x = operation["x"]
    operation.require(len(x.dims) == 1, lambda: f"{list(x.dims)} are not the sizes of a permutation")
    positions = iota(operation.computation, x.type, x.dims)
    return scattered(operation.full(0, x.type, x.dims), x.reshape(*x.dims, 1), positions, None)


_INTO = "tensor: T, indices: Tindices, updates: T -> output: T; T: {any}"
_STITCH = "indices: N*int32, data: N*T -> merged: T; N: int; T: {any}"
_POLICY = "bad_indices_policy: string = ''"
RECORDS = table(
    *(_segments(name, f"UnsortedSegment{name}", "Rows combined that have the same number.") for name in _COMBINED),
    *(
        _segments(name, f"Segment{name}V2", "The same of sorted numbers, of as many as are stated.")
        for name in _COMBINED
    ),
    record(
        "ScatterNd",
        "indices: Tindices, updates: T, shape: Tindices -> output: T; T: {any}; "
        f"Tindices: {{index int16}}; {_POLICY}",
        _scatter_nd,
        "An array of zeros with elements added at places.",
        constants=("shape",),
    ),
    record(
        "TensorScatterUpdate",
        f"{_INTO}; Tindices: {{index int16 uint16}}; {_POLICY}",
        _into(None),
        "An array with elements replaced.",
    ),
    *(
        record(f"TensorScatter{name}", f"{_INTO}; Tindices: {{index}}; {_POLICY}", _into(opcode), doc)
        for name, opcode, doc in (
            ("Add", "add", "An array with elements added to."),
            ("Sub", "subtract", "An array with elements subtracted from."),
            ("Max", "maximum", "An array with the greater of elements."),
            ("Min", "minimum", "An array with the less of elements."),
        )
    ),
    record("DynamicStitch", _STITCH, _stitch, "Rows of several arrays, in an order.", constants=("indices",)),
    record("ParallelDynamicStitch", _STITCH, _stitch, "The same, in any order.", constants=("indices",)),
    record("InvertPermutation", "x: T -> y: T; T: {index} = int32", _inverted, "The order that undoes another."),
)
