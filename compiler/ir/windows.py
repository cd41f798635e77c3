"""Padding and windows over arrays: what pad, reduce-window, select-and-scatter and convolution have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from compiler.diagnostics import UnsupportedError
from compiler.ir.attributes import PaddingDimension, Window, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import UNBOUNDED, ArrayShape
from compiler.ir.shape_rules import require

Array = NDArray[Any]


def padded_size(size: int, padding: PaddingDimension) -> int:
    """The length of a dimension after padding at both ends and between elements."""
    return padding.low + size + max(size - 1, 0) * padding.interior + padding.high


def pad(value: Array, filler: Any, padding: Sequence[PaddingDimension]) -> Array:
    """Pad with a scalar; negative padding cuts off, after interior padding was done.

    Args:
        value: an array.
        filler: a scalar of its type.
        padding: for each dimension, at either end and between elements.

    Raises:
        UnsupportedError: the result does not fit into this machine's memory.
    """
    if all(p == PaddingDimension(0, 0) for p in padding):
        return value
    dims = [max(padded_size(n, p), 0) for n, p in zip(value.shape, padding, strict=True)]
    try:
        result = np.empty(dims, value.dtype)
    except (MemoryError, ValueError) as error:
        # The planner counts operands and results only; padding may be the greater part of what lies between.
        need = math.prod(dims) * value.dtype.itemsize
        raise UnsupportedError(f"padding to {dims}", "this machine", f"it would need {need} bytes of memory") from error
    result[...] = filler
    into, out_of = [], []
    for size, dimension in zip(value.shape, padding, strict=True):
        step, end = dimension.interior + 1, padded_size(size, dimension)
        first = min(size, max(0, -(dimension.low // step)))
        last = max(first, min(size, -((dimension.low - end) // step)))
        start = dimension.low + first * step
        into.append(slice(start, start + max((last - first - 1) * step + 1, 0) if last > first else start, step))
        out_of.append(slice(first, last))
    if all(dimension.start < dimension.stop for dimension in out_of):
        result[tuple(into)] = value[tuple(out_of)]
    return result


def output_size(size: int, window: WindowDimension) -> int:
    """How many places a window has along a dimension."""
    if size == UNBOUNDED:
        return UNBOUNDED
    padded = padded_size(size, window_padding(window))
    covered = (window.size - 1) * window.rhs_dilate + 1
    return 0 if padded < covered or (size == 0 and padded == 0) else (padded - covered) // window.stride + 1


def window_of(instruction: Instruction, rank: int) -> Window:
    """The window of an instruction; where none is written, one of single elements."""
    window: Window = instruction.attributes.get("window", ())
    return window or (WindowDimension(),) * rank


def window_padding(window: WindowDimension) -> PaddingDimension:
    """The padding that a window asks of the dimension that it moves along."""
    return PaddingDimension(window.pad_low, window.pad_high, window.lhs_dilate - 1)


def check_window(shape: ArrayShape, window: Window) -> tuple[int, ...]:
    """The dimensions of a window op's result; a ShapeError where the window does not fit the array."""
    require(len(window) == shape.rank, f"the window has {len(window)} dimensions, {shape} has {shape.rank}")
    for index, dimension in enumerate(window):
        for name in ("size", "stride", "lhs_dilate", "rhs_dilate"):
            number = getattr(dimension, name)
            require(number >= 1, f"window {name} {number} of dimension {index} must be at least 1")
    return tuple(output_size(size, dimension) for size, dimension in zip(shape.dims, window, strict=True))


def window_view(padded: Array, window: Window) -> Array:
    """A view of a padded array with the windows' places as first and the elements within each as last dimensions."""
    counts, strides, steps = [], [], []
    for size, stride, dimension in zip(padded.shape, padded.strides, window, strict=True):
        covered = (dimension.size - 1) * dimension.rhs_dilate + 1
        counts.append(0 if size < covered else (size - covered) // dimension.stride + 1)
        # Steps that are never made may be longer than NumPy can say.
        strides.append(stride * dimension.stride if counts[-1] > 1 else 0)
        steps.append(stride * dimension.rhs_dilate if dimension.size > 1 else 0)
    sizes = [dimension.size for dimension in window]
    if 0 in counts:
        return np.empty((*counts, *sizes), padded.dtype)
    view = as_strided(padded, (*counts, *sizes), (*strides, *steps), writeable=False)
    reversed_axes = tuple(padded.ndim + index for index, dimension in enumerate(window) if dimension.reversal)
    return np.flip(view, reversed_axes) if reversed_axes else view
