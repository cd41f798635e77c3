"""Images in other sizes.

Which elements a new one is made of, and with which weights, follows from sizes alone: each of the two dimensions is a
table of elements and weights, in f32 as the kernels compute them.  Their gradients are products with the same tables as
matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.expansion.expression import Expression
from compiler.ir.types import F32, PRED, S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.record import Lower, record, table

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]
_STEPS = 1024  # of the kernel's table of cubic weights
_F32 = np.float32


class _Between(NamedTuple):
    """For each new element the two that it lies between, and the weight of the second."""

    low: Integers
    high: Integers
    weight: Floats


@dataclass(frozen=True, slots=True)
class _Along:
    """How one dimension gets another size."""

    size: int
    wanted: int
    aligns: bool
    is_centred: bool

    @property
    def scale(self) -> np.float32:
        """Elements of the image for each new one."""
        if self.aligns and self.wanted > 1:
            return _F32(self.size - 1) / _F32(self.wanted - 1)
        return _F32(self.size) / _F32(max(self.wanted, 1))

    def coordinates(self) -> Floats:
        """Where new elements lie in the image."""
        number = np.arange(self.wanted, dtype=np.float32)
        if self.is_centred:
            return (number + _F32(0.5)) * self.scale - _F32(0.5)
        return number * self.scale

    def nearest(self) -> Integers:
        """The nearest element of each."""
        number = np.arange(self.wanted, dtype=np.float32)
        at = (number + _F32(0.5) if self.is_centred else number) * self.scale
        # Halves are rounded away from zero, as roundf does.
        whole = np.floor(at + _F32(0.5)) if self.aligns else np.floor(at)
        nearest: Integers = np.clip(whole, 0, self.size - 1).astype(np.int32)
        return nearest

    def linear(self) -> _Between:
        """Between which elements each lies."""
        at = self.coordinates()
        first = np.floor(at)
        low = np.clip(first, 0, self.size - 1).astype(np.int32)
        high = np.clip(first + 1, 0, self.size - 1).astype(np.int32)
        return _Between(low, high, (at - first).astype(np.float32))

    def cubic(self) -> tuple[Integers, Floats]:
        """The four elements around each, and their weights; with centres, what lies outside has none."""
        at = self.coordinates()
        first = np.floor(at).astype(np.int64)
        step = np.rint((at - first) * _STEPS).astype(np.int64)
        near, far = _cubic_weights(-0.5 if self.is_centred else -0.75)
        weights = np.stack([far[step], near[step], near[_STEPS - step], far[_STEPS - step]], 1)
        wanted = first[:, None] + np.arange(-1, 3)
        there = np.clip(wanted, 0, self.size - 1)
        if self.is_centred:
            weights = np.where(there == wanted, weights, _F32(0))
            total = weights.sum(1, dtype=np.float32, keepdims=True)
            weights = np.where(np.abs(total) >= 1000 * np.finfo(_F32).tiny, weights / total, weights)
        return there.astype(np.int32), weights.astype(np.float32)

    def covered(self) -> tuple[Integers, Floats]:
        """The elements that each covers and how much of them, less than 1 at both ends; -1 where there are fewer."""
        number = np.arange(self.wanted, dtype=np.float32)
        first, last = number * self.scale, (number + _F32(1)) * self.scale
        start, stop = np.floor(first).astype(np.int64), np.ceil(last).astype(np.int64)
        there = start[:, None] + np.arange(max(int((stop - start).max(initial=0)), 1))
        at, ends = there.astype(np.float32), there + 1 > last[:, None]
        beginning = np.where(ends, self.scale, at + _F32(1) - first[:, None])
        share = np.where(at < first[:, None], beginning, np.where(ends, last[:, None] - at, _F32(1)))
        taken = np.where(there < stop[:, None], np.clip(there, 0, self.size - 1), -1)
        return taken.astype(np.int32), share.astype(np.float32)


def _cubic_weights(a: float) -> tuple[Floats, Floats]:
    """The weights of an element by its distance in steps: nearer than 1, and from 1 to 2."""
    x = np.arange(_STEPS + 1) / _STEPS
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return near.astype(np.float32), far.astype(np.float32)


def _matrix(plan: _Along, kind: str) -> Floats:
    """[wanted, size]: by which the new elements are products."""
    made = np.zeros((plan.wanted, plan.size), np.float32)
    rows = np.arange(plan.wanted)
    if kind == "nearest":
        made[rows, plan.nearest()] = 1
    elif kind == "linear":
        low, high, weight = plan.linear()
        np.add.at(made, (rows, low), 1 - weight)
        np.add.at(made, (rows, high), weight)
    else:
        there, weights = plan.cubic()
        np.add.at(made, (rows[:, None], there), weights)
    return made


def _plans(operation: Operation, image: tuple[int, ...], wanted: tuple[int, ...]) -> list[_Along]:
    aligns, is_centred = (operation.attribute(name) for name in ("align_corners", "half_pixel_centers"))
    operation.require(not (aligns and is_centred), "align_corners and half_pixel_centers exclude each other")
    return [_Along(size, to, aligns, is_centred) for size, to in zip(image, wanted, strict=True)]


def _image(operation: Operation, name: str) -> Expression:
    x = operation[name]
    operation.require(len(x.dims) == 4, lambda: f"it takes images of 4 dimensions, not the sizes {list(x.dims)}")
    return x


def _size(operation: Operation) -> tuple[int, ...]:
    size = operation.integers("size")
    operation.require(len(size) == 2 and min(size) > 0, f"its size must be two positive numbers, not {list(size)}")
    return size


def _taken(operation: Operation, x: Expression, numbers: Integers, axis: int) -> Expression:
    return gathered(operation, x, operation.constant(numbers, S32), axis, 0)


def _nearest(operation: Operation) -> Expression:
    x = _image(operation, "images")
    for axis, plan in enumerate(_plans(operation, x.dims[1:3], _size(operation)), 1):
        x = _taken(operation, x, plan.nearest(), axis)
    return x


def _linear(operation: Operation) -> Expression:
    """Between columns first, then between rows, as the kernel does."""
    x, size = _image(operation, "images"), _size(operation)
    x = x.to(F32)
    for axis, plan in reversed(list(enumerate(_plans(operation, x.dims[1:3], size), 1))):
        low, high, weight = plan.linear()
        first, second = (_taken(operation, x, numbers, axis) for numbers in (low, high))
        x = first + (second - first) * operation.constant(weight, F32).spread(first.dims, [axis])
    return x


def _cubic(operation: Operation) -> Expression:
    x, size = _image(operation, "images"), _size(operation)
    x = x.to(F32)
    for axis, plan in enumerate(_plans(operation, x.dims[1:3], size), 1):
        there, weights = plan.cubic()
        terms = []
        for number in range(4):
            tap = _taken(operation, x, np.ascontiguousarray(there[:, number]), axis)
            weight = operation.constant(np.ascontiguousarray(weights[:, number]), F32)
            terms.append(tap * weight.spread(tap.dims, [axis]))
        x = terms[0] + terms[1] + terms[2] + terms[3]
    return x


def _area(operation: Operation) -> Expression:
    """Means of what each new element covers, by columns first; what it does not reach adds nothing."""
    x, size = _image(operation, "images"), _size(operation)
    aligns = operation.attribute("align_corners")
    plans = [_Along(was, wanted, aligns, is_centred=False) for was, wanted in zip(x.dims[1:3], size, strict=True)]
    x = x.to(F32)
    for axis, plan in reversed(list(enumerate(plans, 1))):
        there, shares = plan.covered()
        total = None
        for number in range(there.shape[1]):
            tap = _taken(operation, x, np.maximum(there[:, number], 0), axis)
            share = operation.constant(np.ascontiguousarray(shares[:, number]), F32).spread(tap.dims, [axis])
            reaches = operation.constant(there[:, number] >= 0, PRED).spread(tap.dims, [axis])
            term = reaches.where(tap * share, tap.literal(0).spread(tap.dims, ()))
            total = term if total is None else total + term
        assert total is not None
        x = total
    return x * float(_F32(1) / (plans[0].scale * plans[1].scale))


def _back(kind: str) -> Lower:
    """Each new element's gradient to what it was made of."""

    def lower(operation: Operation) -> Expression:
        g = _image(operation, "grads")
        if kind == "nearest":
            image, element_type = _size(operation), g.type
        else:
            like = _image(operation, "original_image")
            image, element_type = like.dims[1:3], like.type
        wide = F32 if g.type.is_float and g.type.bits < F32.bits else g.type
        x = g.to(wide)
        for axis, plan in enumerate(_plans(operation, image, g.dims[1:3]), 1):
            weights = operation.constant(_matrix(plan, kind).astype(wide.dtype), wide)
            operands = [x.instruction, weights.instruction]
            dims: dict[str, Any] = {"lhs_contracting_dims": (axis,), "rhs_contracting_dims": (0,)}
            product = Expression(build(operation.computation, "dot", operands, **dims))
            order = [*range(axis), 3, *range(axis, 3)]
            x = product.transpose(*order)
        return x.to(element_type)

    return lower


_CENTRES = "align_corners: bool = false; half_pixel_centers: bool = false"
_TYPES = "T: {floats ints uint8 uint16}"
_SIZED = ("size",)
RECORDS = table(
    record(
        "ResizeNearestNeighbor",
        f"images: T, size: int32 -> resized_images: T; {_TYPES}; {_CENTRES}",
        _nearest,
        "The nearest element of an image for each of a new one.",
        constants=_SIZED,
    ),
    record(
        "ResizeNearestNeighborGrad",
        f"grads: T, size: int32 -> output: T; T: {{floats int8 int32 uint8}}; {_CENTRES}",
        _back("nearest"),
        "The gradient of ResizeNearestNeighbor.",
        constants=_SIZED,
    ),
    record(
        "ResizeArea",
        f"images: T, size: int32 -> resized_images: float32; {_TYPES}; align_corners: bool = false",
        _area,
        "Means of the elements that each new one covers.",
        constants=_SIZED,
    ),
    record(
        "ResizeBilinear",
        f"images: T, size: int32 -> resized_images: float32; {_TYPES}; {_CENTRES}",
        _linear,
        "Elements between those of an image, by straight lines.",
        constants=_SIZED,
    ),
    record(
        "ResizeBilinearGrad",
        f"grads: float32, original_image: T -> output: T; T: {{floats}}; {_CENTRES}",
        _back("linear"),
        "The gradient of ResizeBilinear.",
    ),
    record(
        "ResizeBicubic",
        f"images: T, size: int32 -> resized_images: float32; {_TYPES}; {_CENTRES}",
        _cubic,
        "Elements between those of an image, by cubic curves.",
        constants=_SIZED,
    ),
    record(
        "ResizeBicubicGrad",
        f"grads: float32, original_image: T -> output: T; T: {{float32 float64}}; {_CENTRES}",
        _back("cubic"),
        "The gradient of ResizeBicubic.",
    ),
)
