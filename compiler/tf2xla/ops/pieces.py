"""Parts of arrays put back where they were cut, bands of matrices, and arrays turned around."""

from __future__ import annotations

import numpy as np

from compiler.expansion.expression import Expression, concatenate, iota
from compiler.expansion.matrices import cut
from compiler.ir.attributes import PaddingDimension
from compiler.ir.types import PRED, S64
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.movement import paddings
from compiler.tf2xla.ops.shapes import sizes
from compiler.tf2xla.record import record, table
from compiler.tf2xla.slices import strided_slice_back


def _put_back(operation: Operation) -> Expression:
    return strided_slice_back(operation, sizes(operation, "shape"), operation["dy"])


def _mirror_back(operation: Operation) -> Expression:
    """What was continued by its mirror image: the image is added to what it is the image of."""
    x, mode = operation["input"], operation.attribute("mode")
    operation.require(mode in (b"REFLECT", b"SYMMETRIC"), f"its mode must be REFLECT or SYMMETRIC, not {mode!r}")
    skipped = 1 if mode == b"REFLECT" else 0
    for axis, (low, high) in enumerate(paddings(operation, len(x.dims))):
        if not low and not high:
            continue
        own = x.dims[axis] - low - high
        operation.require(max(low, high) <= own - skipped, f"{low} and {high} are more than a mirror of {own} has")
        middle = cut(x, axis, low, low + own)
        before = _backwards(cut(x, axis, 0, low), axis)
        after = _backwards(cut(x, axis, low + own, x.dims[axis]), axis)
        x = middle + _placed(before, axis, skipped, own) + _placed(after, axis, own - skipped - high, own)
    return x


def _backwards(x: Expression, axis: int) -> Expression:
    return Expression(build(x.instruction.computation, "reverse", [x.instruction], dimensions=(axis,)))


def _placed(x: Expression, axis: int, start: int, size: int) -> Expression:
    """With zeros around it along an axis."""
    padding = [PaddingDimension(0, 0)] * len(x.dims)
    padding[axis] = PaddingDimension(start, size - start - x.dims[axis])
    operands = [x.instruction, x.literal(0).instruction]
    return Expression(build(x.instruction.computation, "pad", operands, padding=tuple(padding)))


def _offsets(operation: Operation) -> list[list[Expression]]:
    """Where each array begins in what joins them."""
    axis = operation.integer("concat_dim")
    shapes = [value.astype(np.int64) for value in operation.values("shape")]
    at = operation.axis(axis, shapes[0].size)
    found, start = [], 0
    for shape in shapes:
        offset = np.zeros(shape.size, np.int64)
        offset[at] = start
        start += int(shape[at])
        found.append(offset)
    kind = operation.type("shape_type")
    return [[operation.constant(one.astype(kind.dtype), kind) for one in found]]


def _band(operation: Operation) -> Expression:
    """Of matrices what is not further below, or above, the diagonal than so many; a negative number is all."""
    x = operation["input"]
    rank = len(x.dims)
    operation.require(rank >= 2, lambda: f"it takes matrices, not arrays of the sizes {list(x.dims)}")
    below, above = operation["num_lower"], operation["num_upper"]
    row, column = (iota(operation.computation, S64, x.dims, axis) for axis in (rank - 2, rank - 1))
    keeps = operation.full(1, PRED, x.dims)
    for bound, distance in ((below.to(S64), row - column), (above.to(S64), column - row)):
        keeps = keeps & (distance.compare("LE", bound) | bound.compare("LT", 0).spread(x.dims, ()))
    return keeps.where(x, x.literal(0))


def _roll(operation: Operation) -> Expression:
    """Elements moved along axes; those that leave at one end come in at the other."""
    x = operation["input"]
    shifts, axes = operation.integers("shift"), operation.integers("axis")
    operation.require(len(shifts) == len(axes), "it has not as many shifts as axes")
    for shift, axis in zip(shifts, axes, strict=True):
        at = operation.axis(axis, len(x.dims))
        size = x.dims[at]
        by = shift % size if size else 0
        if by:
            x = concatenate([cut(x, at, size - by, size), cut(x, at, 0, size - by)], at)
    return x


def _ensured(operation: Operation) -> Expression:
    x, wanted = operation["input"], operation.attribute("shape")
    fits = wanted.dims is None or (
        len(wanted.dims) == len(x.dims) and all(a in (None, b) for a, b in zip(wanted.dims, x.dims, strict=True))
    )
    operation.require(fits, lambda: f"{list(x.dims)} is not compatible with expected shape {wanted}")
    return x


RECORDS = table(
    record(
        "StridedSliceGrad",
        "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T; T: {any}; Index: {index}; "
        "begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0; "
        "shrink_axis_mask: int = 0",
        _put_back,
        "A part as Python's indexing takes it, in zeros.",
        constants=("shape", "begin", "end", "strides"),
    ),
    record(
        "MirrorPadGrad",
        "input: T, paddings: Tpaddings -> output: T; T: {any}; Tpaddings: {index} = int32; mode: string",
        _mirror_back,
        "The gradient of MirrorPad.",
        constants=("paddings",),
    ),
    record(
        "ConcatOffset",
        "concat_dim: int32, shape: N*shape_type -> offset: N*shape_type; N: int; shape_type: {index} = int32",
        _offsets,
        "Where each array begins in what joins them.",
        constants=("concat_dim", "shape"),
    ),
    record(
        "MatrixBandPart",
        "input: T, num_lower: Tindex, num_upper: Tindex -> band: T; T: {any}; Tindex: {index} = int64",
        _band,
        "Of matrices what is near the diagonal.",
    ),
    record(
        "Roll",
        "input: T, shift: Tshift, axis: Taxis -> output: T; T: {any}; Tshift: {index}; Taxis: {index}",
        _roll,
        "Elements moved around along axes.",
        constants=("shift", "axis"),
    ),
    record(
        "EnsureShape", "input: T -> output: T; shape: shape; T: {any}", _ensured, "Its input, which must have a shape."
    ),
)
