"""Pieces of images in another size, and their gradients, as the kernels compute them: in f32, corner by corner.

Where a piece's elements lie in the image follows from its box, which may be computed; what lies outside is one value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from compiler.expansion.expression import Expression, concatenate, iota
from compiler.ir.types import F32, S32
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered_deep
from compiler.tf2xla.record import record, table
from compiler.tf2xla.reducing import total
from compiler.tf2xla.scattering import scattered


class _Along(NamedTuple):
    """For each element of each piece along one dimension: where it lies, and whether that is in the image."""

    position: Expression
    is_inside: Expression

    @property
    def low(self) -> Expression:
        """The element before it."""
        return self.position.apply("floor")

    @property
    def high(self) -> Expression:
        """The element behind it."""
        return self.position.apply("ceil")

    @property
    def weight(self) -> Expression:
        """How much counts of the element behind it."""
        return self.position - self.low


def _along(boxes: Expression, first: int, wanted: int, size: int) -> _Along:
    """Of [count, 4] corners those of one dimension, as [count, wanted]."""
    count = boxes.dims[0]
    low, high = (boxes.slice((0, count), (n, n + 1)).reshape(count) for n in (first, first + 2))
    dims = (count, wanted)
    if wanted > 1:
        step = (high - low) * float(size - 1) / float(wanted - 1)
        number = iota(boxes.instruction.computation, F32, dims, 1)
        position = (low * float(size - 1)).spread(dims, [0]) + number * step.spread(dims, [0])
    else:
        position = ((low + high) * 0.5 * float(size - 1)).spread(dims, [0])
    return _Along(position, position.compare("GE", 0) & position.compare("LE", size - 1))


@dataclass(frozen=True, slots=True)
class _Crops:
    """Pieces of images: the elements of each as [count, rows, columns], with those of channels behind."""

    rows: _Along
    columns: _Along
    numbers: Expression
    channels: int

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes of all pieces."""
        return (*self.rows.position.dims, self.columns.position.dims[1], self.channels)

    def of_rows(self, value: Expression) -> Expression:
        """What is said for each row, said of each element."""
        return value.spread(self.dims, [0, 1])

    def of_columns(self, value: Expression) -> Expression:
        """What is said for each column, said of each element."""
        return value.spread(self.dims, [0, 2])

    @property
    def is_inside(self) -> Expression:
        """Which elements lie in their image."""
        return self.of_rows(self.rows.is_inside) & self.of_columns(self.columns.is_inside)

    def at(self, row: Expression, column: Expression) -> Expression:
        """Vectors of indices of an image's elements, for each row and column."""
        dims = (*self.dims[:3], 1)
        pieces = [(self.numbers, [0]), (row.to(S32), [0, 1]), (column.to(S32), [0, 2])]
        return concatenate([one.spread(dims, where) for one, where in pieces], 3)

    def corners(self) -> list[Expression]:
        """Indices of the four elements around each: those above it, then those below, the left one first."""
        return [self.at(row, column) for row in (self.rows.low, self.rows.high) for column in self._ends()]

    def _ends(self) -> tuple[Expression, Expression]:
        return self.columns.low, self.columns.high

    def nearest(self) -> Expression:
        """Indices of the one element that is nearest to each."""
        row, column = (one.position.apply("round-nearest-afz") for one in (self.rows, self.columns))
        return self.at(row, column)


def _crops(operation: Operation, image: tuple[int, ...], wanted: tuple[int, ...]) -> _Crops:
    boxes, numbers = operation["boxes"], operation["box_ind"]
    operation.require(len(image) == 4, lambda: f"it takes images of 4 dimensions, not the sizes {list(image)}")
    fits = boxes.dims == (*numbers.dims, 4) and len(numbers.dims) == 1
    operation.require(fits, lambda: f"boxes of {list(boxes.dims)} are not those of {list(numbers.dims)} numbers")
    fits = min(*image[1:3], *wanted) > 0
    operation.require(fits, lambda: f"no piece of {list(wanted)} elements can be had of {list(image[1:3])}")
    rows, columns = (_along(boxes, n, wanted[n], image[n + 1]) for n in (0, 1))
    return _Crops(rows, columns, numbers, image[3])


def _is_nearest(operation: Operation) -> bool:
    method = operation.attribute("method")
    operation.require(
        method in (b"bilinear", b"nearest"), f"its method {method.decode()!r} is none of bilinear, nearest"
    )
    return bool(method == b"nearest")


def _between(first: Expression, second: Expression, weight: Expression) -> Expression:
    return first + (second - first) * weight


def _cropped(operation: Operation) -> Expression:
    image = operation["image"]
    crops = _crops(operation, image.dims, operation.integers("crop_size", 2))
    outside = operation.full(operation.attribute("extrapolation_value"), F32, crops.dims)
    if 0 in crops.dims or not image.dims[0]:
        return outside
    if _is_nearest(operation):
        found = gathered_deep(operation, image, crops.nearest()).to(F32)
    else:
        corners = [gathered_deep(operation, image, one).to(F32) for one in crops.corners()]
        across = crops.of_columns(crops.columns.weight)
        above, below = (_between(corners[n], corners[n + 1], across) for n in (0, 2))
        found = _between(above, below, crops.of_rows(crops.rows.weight))
    return crops.is_inside.where(found, outside)


def _of_image(operation: Operation) -> Expression:
    """Each element's gradient added to those that it was made of."""
    grads, kind = operation["grads"], operation.type("T")
    image = operation.integers("image_size", 4)
    operation.require(
        len(grads.dims) == 4, lambda: f"it takes pieces of 4 dimensions, not the sizes {list(grads.dims)}"
    )
    crops = _crops(operation, image, grads.dims[1:3])
    operation.require(grads.dims == crops.dims, lambda: f"pieces of {list(grads.dims)} are not {list(crops.dims)}")
    grads = crops.is_inside.where(grads, operation.full(0, F32, grads.dims))
    found = operation.full(0, kind, image)
    if _is_nearest(operation):
        return scattered(found, crops.nearest(), grads.to(kind), "add")
    below, right = crops.of_rows(crops.rows.weight), crops.of_columns(crops.columns.weight)
    shares = [one * other for one in ((-below + 1) * grads, below * grads) for other in (-right + 1, right)]
    for corner, share in zip(crops.corners(), shares, strict=True):
        found = scattered(found, corner, share.to(kind), "add")
    return found


def _of_boxes(operation: Operation) -> Expression:
    """How the corners move what an element is made of, times its gradient."""
    grads, image = operation["grads"], operation["image"]
    operation.require(
        len(grads.dims) == 4, lambda: f"it takes pieces of 4 dimensions, not the sizes {list(grads.dims)}"
    )
    operation.require(not _is_nearest(operation), "its method must be bilinear: the nearest element has no gradient")
    crops = _crops(operation, image.dims, grads.dims[1:3])
    operation.require(grads.dims == crops.dims, lambda: f"pieces of {list(grads.dims)} are not {list(crops.dims)}")
    if 0 in grads.dims:
        return operation.full(0, F32, (grads.dims[0], 4))
    left, right, low_left, low_right = (gathered_deep(operation, image, one).to(F32) for one in crops.corners())
    down, across = crops.of_rows(crops.rows.weight), crops.of_columns(crops.columns.weight)
    slopes = (_between(low_left - left, low_right - right, across), _between(right - left, low_right - low_left, down))
    nothing = operation.full(0, F32, grads.dims)
    columns: list[Expression] = [nothing] * 4
    for number, slope in enumerate(slopes):
        moved = crops.is_inside.where(slope * grads, nothing)
        size, wanted = image.dims[number + 1] - 1, grads.dims[number + 1]
        if wanted > 1:
            later = iota(operation.computation, F32, grads.dims, number + 1) * (size / (wanted - 1))
        else:
            later = operation.full(0.5 * size, F32, grads.dims)
        columns[number], columns[number + 2] = moved * (-later + float(size)), moved * later
    return concatenate([total(one, (1, 2, 3)).reshape(grads.dims[0], 1) for one in columns], 1)


_ANY = "T: {uint8 uint16 int8 int16 int32 int64 float16 float32 float64}"
_METHOD = "method: string = 'bilinear'"
RECORDS = table(
    record(
        "CropAndResize",
        "image: T, boxes: float32, box_ind: int32, crop_size: int32 -> crops: float32; "
        f"{_ANY}; {_METHOD}; extrapolation_value: float = 0",
        _cropped,
        "Pieces of images, in one size.",
        constants=("crop_size",),
    ),
    record(
        "CropAndResizeGradImage",
        "grads: float32, boxes: float32, box_ind: int32, image_size: int32 -> output: T; "
        f"T: {{float16 float32 float64}}; {_METHOD}",
        _of_image,
        "The gradient of CropAndResize by its images.",
        constants=("image_size",),
    ),
    record(
        "CropAndResizeGradBoxes",
        f"grads: float32, image: T, boxes: float32, box_ind: int32 -> output: float32; {_ANY}; {_METHOD}",
        _of_boxes,
        "The gradient of CropAndResize by its boxes.",
    ),
)
