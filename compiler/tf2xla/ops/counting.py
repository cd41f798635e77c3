"""How often numbers are there, where they lie among sorted ones, and rows combined by sorted numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from compiler.expansion.expression import Expression, concatenate, iota
from compiler.ir.numbers import bounds
from compiler.ir.types import F32, F64, PRED, S32
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.record import Record, record, table
from compiler.tf2xla.scattering import scattered


def _bincount(operation: Operation) -> Expression:
    numbers = operation["arr"]
    return _counted(operation, numbers.reshape(int(np.prod(numbers.dims))), is_binary=False)


def _dense_bincount(operation: Operation) -> Expression:
    numbers = operation["input"]
    fits = len(numbers.dims) in (1, 2)
    operation.require(fits, lambda: f"it takes a vector or a matrix, not the sizes {list(numbers.dims)}")
    return _counted(operation, numbers, is_binary=operation.attribute("binary_output"))


def _counted(operation: Operation, numbers: Expression, *, is_binary: bool) -> Expression:
    """The weights of each number, or how often, or whether it is there; for every row by itself."""
    size = operation.integer("size")
    operation.require(size >= 0, f"its size {size} must not be negative")
    weights = operation["weights"]
    fits = weights.dims == numbers.dims or 0 in weights.dims
    operation.require(fits, lambda: f"weights of {list(weights.dims)} are not those of {list(numbers.dims)} numbers")
    is_counted = is_binary or 0 in weights.dims
    updates = weights.literal(1).spread(numbers.dims, ()) if is_counted else weights
    updates = updates.reshape(*numbers.dims)
    zeros = operation.full(0, weights.type, (*numbers.dims[:-1], size))
    indices = numbers.reshape(*numbers.dims, 1)
    if len(numbers.dims) == 2:
        rows = iota(operation.computation, numbers.type, indices.dims, 0)
        indices = concatenate([rows, indices], 2)
    return scattered(zeros, indices, updates, None if is_binary else "add")


def _bucketize(operation: Operation) -> Expression:
    """How many boundaries are no greater than an element; all of them for NaN."""
    x = operation["input"]
    limits = np.array(operation.attribute("boundaries"), np.float32)
    operation.require((np.diff(limits) >= 0).all(), "its boundaries must be sorted")
    if not limits.size:
        return operation.full(0, S32, x.dims)
    # Whole numbers are compared as floats, as the kernel does.
    wide = x if x.type.is_float else x.to(F64 if x.type.bits > F32.bits else F32)
    dims = (*x.dims, limits.size)
    bound = operation.constant(limits.astype(wide.type.dtype), wide.type).spread(dims, [len(x.dims)])
    below = wide.spread(dims, range(len(x.dims))).compare("LT", bound)
    return below.apply("not").to(S32).sum(len(x.dims))


def _histogram(operation: Operation) -> Expression:
    """How many values are in each of the equal parts of a range; what is outside is in the first, or the last."""
    values, limits, count = operation["values"], operation["value_range"], operation.integer("nbins")
    operation.require(limits.dims == (2,), lambda: f"its value_range must be 2 numbers, not {list(limits.dims)}")
    operation.require(count > 0, f"its nbins {count} must be positive")
    flat = values.reshape(int(np.prod(values.dims)))
    low, high = (limits.slice((number, number + 1)).reshape() for number in (0, 1))
    step = (high - low).to(F64) / float(count)
    above = (flat.apply("maximum", low.spread(flat.dims, ())) - low.spread(flat.dims, ())).to(F64)
    number = (above / step.spread(flat.dims, ())).apply("minimum", count - 1).to(S32)
    kind = operation.type("dtype")
    ones = operation.full(1, kind, flat.dims)
    return scattered(operation.full(0, kind, (count,)), number.reshape(*flat.dims, 1), ones, "add")


def _unravelled(operation: Operation) -> Expression:
    """Of numbers of elements of an array their indices, a column for each."""
    indices, dims = operation["indices"], operation.integers("dims")
    operation.require(len(indices.dims) < 2, lambda: f"it takes a vector, or one number, not {list(indices.dims)}")
    operation.require(min(dims, default=1) > 0, lambda: f"an array of {list(dims)} has no elements to number")
    found = []
    for size in reversed(dims):
        found.append(indices.apply("remainder", size).reshape(1, *indices.dims))
        indices = indices.apply("divide", size)
    if not found:
        return operation.full(0, indices.type, (0, *indices.dims))
    return concatenate(found[::-1], 0)


def _of_taken_segments(name: str, types: str) -> Record:
    return record(
        f"SparseSegment{name}",
        f"data: T, indices: Tidx, segment_ids: Tsegmentids -> output: T; T: {{{types}}}; Tidx: {{index}} = int32; "
        "Tsegmentids: {index} = int32; sparse_gradient: bool = false",
        partial(_taken_segments, name),
        "Rows taken by their numbers, and combined that have the same segment, of sorted ones.",
        constants=("segment_ids",),
    )


def _placed(direction: str, operation: Operation) -> Expression:
    """Of each row's values how many of its sorted numbers come before them."""
    among, values = operation["sorted_inputs"], operation["values"]
    fits = len(among.dims) == len(values.dims) == 2 and among.dims[0] == values.dims[0]
    operation.require(fits, lambda: f"rows of {list(among.dims)} and of {list(values.dims)} do not go together")
    dims = (*values.dims, among.dims[1])
    before = among.spread(dims, [0, 2]).compare(direction, values.spread(dims, [0, 1]))
    return before.to(operation.type("out_type")).sum(2)


_COMBINED = {
    "Sum": ("add", "numbers"),
    "Mean": ("add", "numbers"),
    "SqrtN": ("add", "floats"),
    "Prod": ("multiply", "numbers"),
    "Max": ("maximum", "reals"),
    "Min": ("minimum", "reals"),
}
"""How the rows of a segment are combined, and for which types; a segment of no rows is zeros, or ones of a product."""


_SCALED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "Mean": ("divide", lambda count: count),
    "SqrtN": ("multiply", lambda count: 1 / np.sqrt(count)),
}
"""How the sum of a segment is scaled by the number of its rows."""


def _segments(name: str, operation: Operation) -> Expression:
    return _combined(name, operation, operation["data"])


def _taken_segments(name: str, operation: Operation) -> Expression:
    """The same of rows that are taken by their numbers first."""
    data, numbers = operation["data"], operation["indices"]
    operation.require(len(numbers.dims) == 1, lambda: f"{list(numbers.dims)} are no sizes of a list of numbers")
    return _combined(name, operation, gathered(operation, data, numbers, 0, 0))


def _combined(name: str, operation: Operation, data: Expression) -> Expression:
    ids = operation.value("segment_ids")
    fits = ids.ndim == 1 and data.dims[:1] == ids.shape and (np.diff(ids) >= 0).all() and (ids >= 0).all()
    operation.require(fits, lambda: f"{ids.tolist()} are no sorted numbers of the rows of {list(data.dims)}")
    count = int(ids[-1]) + 1 if ids.size else 0
    dims = (count, *data.dims[1:])
    opcode = _COMBINED[name][0]
    start: complex = {"add": 0, "multiply": 1, "maximum": bounds(data.type)[0], "minimum": bounds(data.type)[1]}[opcode]
    indices = operation.constant(ids.astype(np.int32).reshape(-1, 1), S32)
    found = scattered(operation.full(start, data.type, dims), indices, data, opcode)
    each = np.bincount(ids, minlength=count)
    if name in _SCALED:
        scale, of = _SCALED[name]
        number = operation.constant(of(np.maximum(each, 1)).astype(data.type.dtype), data.type)
        found = found.apply(scale, number.spread(dims, [0]))
    if opcode in ("maximum", "minimum") and (each == 0).any():
        is_there = operation.constant(each > 0, PRED).spread(dims, [0])
        found = is_there.where(found, found.literal(0))
    return found


def _of_segments(name: str) -> Record:
    return record(
        f"Segment{name}",
        f"data: T, segment_ids: Tindices -> output: T; T: {{{_COMBINED[name][1]}}}; Tindices: {{index}}",
        partial(_segments, name),
        "Rows combined that have the same number, of sorted ones.",
        constants=("segment_ids",),
    )


_BINNED = "T: {index float32 float64}"
_SORTED = "sorted_inputs: T, values: T -> output: out_type; T: {any}; out_type: {index} = int32"
RECORDS = table(
    record(
        "Bincount",
        f"arr: int32, size: int32, weights: T -> bins: T; {_BINNED}",
        _bincount,
        "How often each number is there.",
        constants=("size",),
    ),
    record(
        "DenseBincount",
        f"input: Tidx, size: Tidx, weights: T -> output: T; Tidx: {{index}}; {_BINNED}; binary_output: bool = false",
        _dense_bincount,
        "How often each number is there, by rows.",
        constants=("size",),
    ),
    record(
        "Bucketize",
        "input: T -> output: int32; T: {index float32 float64}; boundaries: list(float)",
        _bucketize,
        "Between which boundaries elements lie.",
    ),
    record(
        "HistogramFixedWidth",
        f"values: T, value_range: T, nbins: int32 -> out: dtype; {_BINNED}; dtype: {{index}} = int32",
        _histogram,
        "How many values are in each of the equal parts of a range.",
        constants=("nbins",),
    ),
    record(
        "UnravelIndex",
        "indices: Tidx, dims: Tidx -> output: Tidx; Tidx: {index} = int32",
        _unravelled,
        "The indices of elements that are numbered.",
        constants=("dims",),
    ),
    record("LowerBound", _SORTED, partial(_placed, "LT"), "Where values go before equal ones."),
    record("UpperBound", _SORTED, partial(_placed, "LE"), "Where values go behind equal ones."),
    *(_of_segments(name) for name in _COMBINED if name != "SqrtN"),
    _of_taken_segments("Sum", "reals"),
    _of_taken_segments("Mean", "floats"),
    _of_taken_segments("SqrtN", "floats"),
)
