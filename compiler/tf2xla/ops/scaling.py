"""Images scaled and moved, each new element a mean of those near it by one of several kernels.

With known scales every dimension is a matrix of weights, computed in f32 as TensorFlow's kernel does, and the gradient
is a product with the same matrices the other way around.  An element whose place lies outside of the image is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.expansion.expression import Expression
from compiler.ir.types import F32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table

Floats = NDArray[np.float32]
_F32 = np.float32


def _lanczos(radius: float) -> tuple[float, Callable[[Floats], Floats]]:
    def weight(x: Floats) -> Floats:
        angle = _F32(math.pi) * np.maximum(x, _F32(1e-3))
        found = _F32(radius) * np.sin(angle) * np.sin(angle / _F32(radius)) / (angle * angle)
        return np.where(x > radius, 0, np.where(x <= _F32(1e-3), 1, found)).astype(_F32)

    return radius, weight


def _cubic(outer: Callable[[Floats], Floats], inner: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    return lambda x: np.where(x >= 2, 0, np.where(x >= 1, outer(x), inner(x))).astype(_F32)


_KERNELS: dict[str, tuple[float, Callable[[Floats], Floats]]] = {
    **{f"lanczos{radius}": _lanczos(radius) for radius in (1, 3, 5)},
    "gaussian": (1.5, lambda x: np.where(x >= _F32(1.5), 0, np.exp(-x * x / _F32(0.5))).astype(_F32)),
    "box": (0.5, lambda x: np.where(x < _F32(0.5), 1, np.where(x == _F32(0.5), 0.5, 0)).astype(_F32)),
    "triangle": (1.0, lambda x: np.maximum(1 - x, 0).astype(_F32)),
    "keyscubic": (
        2.0,
        _cubic(
            lambda x: ((_F32(-0.5) * x + _F32(2.5)) * x - 4) * x + 2,
            lambda x: ((_F32(1.5) * x - _F32(2.5)) * x) * x + 1,
        ),
    ),
    "mitchellcubic": (
        2.0,
        _cubic(
            lambda x: ((_F32(-7 / 18) * x + 2) * x - _F32(10 / 3)) * x + _F32(16 / 9),
            lambda x: ((_F32(7 / 6) * x - 2) * x) * x + _F32(8 / 9),
        ),
    ),
}
"""Kernels with their radius: the weight of an element by its distance."""


def _matrix(operation: Operation, size: int, wanted: int, axis: int) -> Floats:
    """Weights as [new elements, elements]."""
    name = operation.attribute("kernel_type").decode()
    operation.require(name in _KERNELS, lambda: f"kernel_type {name!r} is none of {', '.join(_KERNELS)}")
    radius, kernel = _KERNELS[name]
    scale, move = (operation.value(port).astype(_F32).reshape(-1)[axis] for port in ("scale", "translation"))
    operation.require(scale > 0, f"scale must be greater than zero, and is {scale}")
    inverse = _F32(1) / scale
    stretch = np.maximum(inverse, _F32(1)) if operation.attribute("antialias") else _F32(1)
    centre = (np.arange(wanted, dtype=_F32) + _F32(0.5)) * inverse - inverse * move
    reach = _F32(radius) * stretch
    first = np.clip(np.ceil(centre - reach - _F32(0.5)), 0, size - 1)
    last = np.clip(np.floor(centre + reach - _F32(0.5)), 0, size - 1)
    position = np.arange(size, dtype=_F32)
    weights = kernel(np.abs((position + _F32(0.5) - centre[:, None]) * (_F32(1) / stretch)))
    weights[(position < first[:, None]) | (position > last[:, None])] = 0
    total = weights.sum(1, dtype=_F32, keepdims=True)
    usable = np.abs(total) >= 1000 * np.finfo(_F32).tiny
    weights = np.where(usable, weights / np.where(usable, total, 1), 0)
    weights[(centre < 0) | (centre > size)] = 0
    return weights.astype(_F32)


def _check(operation: Operation, image: tuple[int, ...]) -> None:
    operation.require(len(image) == 4, lambda: f"it takes images of 4 dimensions, not the sizes {list(image)}")
    for port in ("scale", "translation"):
        sizes = operation[port].dims
        operation.require(sizes == (2,), lambda: f"its {port} must be two numbers, not the sizes {list(sizes)}")  # noqa: B023  # said at once


def _along(operation: Operation, x: Expression, weights: Floats, axis: int) -> Expression:
    """A dimension of an image as a product with a matrix of [new elements, elements]."""
    dims: dict[str, Any] = {"lhs_contracting_dims": (axis,), "rhs_contracting_dims": (1,)}
    operands = [x.instruction, operation.constant(weights, F32).instruction]
    product = Expression(build(operation.computation, "dot", operands, **dims))
    return product.transpose(*range(axis), 3, *range(axis, 3))


def _scaled(operation: Operation) -> Expression:
    x, size = operation["images"].to(F32), operation.integers("size")
    _check(operation, x.dims)
    operation.require(len(size) == 2 and min(size) > 0, f"its size must be two positive numbers, not {list(size)}")
    for axis, wanted in enumerate(size, 1):
        x = _along(operation, x, _matrix(operation, x.dims[axis], wanted, axis - 1), axis)
    return x


def _back(operation: Operation) -> Expression:
    g, image = operation["grads"], operation["original_image"].dims
    _check(operation, g.dims)
    _check(operation, image)
    for axis in (1, 2):
        g = _along(operation, g, _matrix(operation, image[axis], g.dims[axis], axis - 1).T.copy(), axis)
    return g


_HOW = "kernel_type: string = 'lanczos3'; antialias: bool = true"
RECORDS = table(
    record(
        "ScaleAndTranslate",
        "images: T, size: int32, scale: float32, translation: float32 -> resized_images: float32; "
        f"T: {{floats ints uint8 uint16}}; {_HOW}",
        _scaled,
        "Images scaled and moved.",
        constants=("size", "scale", "translation"),
    ),
    record(
        "ScaleAndTranslateGrad",
        f"grads: T, original_image: T, scale: float32, translation: float32 -> output: T; T: {{float32}}; {_HOW}",
        _back,
        "The gradient of ScaleAndTranslate.",
        constants=("scale", "translation"),
    ),
)
