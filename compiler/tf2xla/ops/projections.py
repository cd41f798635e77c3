"""Images seen in perspective: each new element is taken from where a projection of its place leads to.

The place is that of scipy's `map_coordinates`: what lies outside of the image is a fill value, or is found inside by
reflecting, wrapping or staying at the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from compiler.expansion.expression import Expression, iota
from compiler.ir.types import F32, S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table

T = TypeVar("T")
_FIELDS = 8  # of a projection, the ninth is 1


def _transformed(operation: Operation) -> Expression:
    images, transforms = operation["images"], operation["transforms"]
    operation.require(len(images.dims) == 4, lambda: f"it takes images of 4 dimensions, not {list(images.dims)}")
    batch, height, width, _ = images.dims
    fits = len(transforms.dims) == 2 and transforms.dims[1] == _FIELDS and transforms.dims[0] in (1, batch)
    operation.require(fits, lambda: f"its projections must be [1 or {batch}, 8], not {list(transforms.dims)}")
    size = operation.integers("output_shape")
    operation.require(len(size) == 2 and min(size) > 0, f"its size must be two positive numbers, not {list(size)}")
    fill = operation["fill_value"].to(images.type)
    dims = (batch, *size)
    x, y, is_finite = _sources(operation, dims)
    mode = _choice(operation, "fill_mode", _MODES)
    x, y = mode(x, width), mode(y, height)
    kind = _choice(operation, "interpolation", {"NEAREST": _nearest, "BILINEAR": _bilinear})
    found = kind(images, x, y, fill)
    return is_finite.spread(found.dims, [0, 1, 2]).where(found, fill.spread(found.dims, ()))


def _choice(operation: Operation, name: str, known: Mapping[str, T]) -> T:
    said = operation.attribute(name).decode(errors="replace").upper()
    operation.require(said in known, f"its {name} must be one of {', '.join(known)}, not {said}")
    return known[said]


class _Source(NamedTuple):
    """The column and row that each new element comes from, and whether there are any."""

    column: Expression
    row: Expression
    is_finite: Expression


def _sources(operation: Operation, dims: tuple[int, ...]) -> _Source:
    column, row = (iota(operation.computation, F32, dims, axis) for axis in (2, 1))
    transforms = operation["transforms"]

    def field(number: int) -> Expression:
        count = transforms.dims[0]
        one = transforms.slice((0, count), (number, number + 1))
        return one.reshape(count).spread(dims, [0]) if count == dims[0] else one.reshape().spread(dims, ())

    def mixed(first: int) -> Expression:
        return field(first) * column + field(first + 1) * row

    scale = mixed(6) + column.literal(1).spread(dims, ())
    zero = column.literal(0).spread(dims, ())
    is_finite = scale.compare("NE", zero)
    scale = is_finite.where(scale, column.literal(1).spread(dims, ()))
    return _Source((mixed(0) + field(2)) / scale, (mixed(3) + field(5)) / scale, is_finite)


def _between(coordinate: Expression, size: int) -> Expression:
    """The place, or the edge that it is beyond."""
    return coordinate.apply("maximum", 0).apply("minimum", size - 1)


def _reflected(coordinate: Expression, size: int) -> Expression:
    """The place in `dcba|abcd|dcba`."""
    if size == 1:
        return _between(coordinate, size)
    period = 2 * size
    before = coordinate + _floor(-coordinate / period) * period
    before = before.compare("LT", -size).where(before + period, -before - 1)
    after = coordinate - _floor(coordinate / period) * period
    after = after.compare("GE", size).where(-after + (period - 1), after)
    return _between(_outside(coordinate, size, before, after), size)


def _wrapped(coordinate: Expression, size: int) -> Expression:
    """The place in `abcd|abcd|abcd`."""
    if size == 1:
        return _between(coordinate, size)
    before = coordinate + (_floor(-coordinate / (size - 1)) + 1) * size
    after = coordinate - _floor(coordinate / (size - 1)) * size
    return _between(_outside(coordinate, size, before, after), size)


def _outside(coordinate: Expression, size: int, before: Expression, after: Expression) -> Expression:
    return coordinate.compare("LT", 0).where(before, coordinate.compare("GT", size - 1).where(after, coordinate))


def _floor(value: Expression) -> Expression:
    return value.apply("floor")


def _nearest(images: Expression, x: Expression, y: Expression, fill: Expression) -> Expression:
    return _read(images, x.apply("round-nearest-afz"), y.apply("round-nearest-afz"), fill)


def _bilinear(images: Expression, x: Expression, y: Expression, fill: Expression) -> Expression:
    """Between the four elements around a place; one that is outside of the image is the fill value."""
    left, top = _floor(x), _floor(y)

    def along(row: Expression) -> Expression:
        values = [_read(images, column, row, fill).to(F32) for column in (left, left + 1)]
        weights = [one.spread(values[0].dims, [0, 1, 2]) for one in (left + 1 - x, x - left)]
        return weights[0] * values[0] + weights[1] * values[1]

    first, second = along(top), along(top + 1)
    weights = [one.spread(first.dims, [0, 1, 2]) for one in (top + 1 - y, y - top)]
    return (weights[0] * first + weights[1] * second).to(images.type)


def _read(images: Expression, x: Expression, y: Expression, fill: Expression) -> Expression:
    """The elements at whole places."""
    batch, height, width, channels = images.dims
    is_there = x.compare("GE", 0) & x.compare("LE", width - 1) & y.compare("GE", 0) & y.compare("LE", height - 1)
    number = (_between(y, height) * width + _between(x, width)).to(S32)
    gather = build(
        images.instruction.computation,
        "gather",
        [images.reshape(batch, height * width, channels).instruction, number.instruction],
        offset_dims=(3,),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
        index_vector_dim=3,
        slice_sizes=(1, 1, channels),
    )
    found = Expression(gather)
    return is_there.spread(found.dims, [0, 1, 2]).where(found, fill.spread(found.dims, ()))


_Mode = Callable[[Expression, int], Expression]
_MODES: Mapping[str, _Mode] = {
    "REFLECT": _reflected,
    "WRAP": _wrapped,
    "CONSTANT": lambda coordinate, _size: coordinate,
    "NEAREST": _between,
}
RECORDS = table(
    record(
        "ImageProjectiveTransformV3",
        "images: dtype, transforms: float32, output_shape: int32, fill_value: float32 -> transformed_images: dtype; "
        "dtype: {uint8 int32 int64 float16 bfloat16 float32 float64}; interpolation: string; "
        "fill_mode: string = 'CONSTANT'",
        _transformed,
        "Images seen in perspective.",
        constants=("output_shape", "fill_value"),
    ),
)
