"""Arithmetic on whole numbers that stand for floats, each of which is a scale times how far it is from a zero point.

Scales are known when a graph is compiled, so what takes one scale to another is a whole number and a shift, as in the
kernels: results are the same to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.expansion.expression import Expression
from compiler.ir.attributes import ConvolutionDimensions, WindowDimension
from compiler.ir.numbers import bounds
from compiler.ir.types import F32, S32, S64, ElementType
from compiler.ops.build import build
from compiler.tf2xla.broadcasting import together
from compiler.tf2xla.dimension_numbers import fields_of
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Record, record, table

Array = NDArray[Any]
_DIGITS, _LEAST_SHIFT, _MOST_SHIFT = 31, -31, 30
"""Bits of a multiplier behind its point, and the shifts that go with it (TensorFlow, math_utils.cc)."""


@dataclass(frozen=True, slots=True)
class _Scaled:
    """How numbers stand for others: one scale and zero point, or one for each slice along an axis (-1: one)."""

    scales: Array
    zeros: Array
    axis: int

    def at(self, axis: int) -> _Scaled:
        """The same for an array of more or fewer dimensions."""
        return _Scaled(self.scales, self.zeros, axis if self.axis >= 0 else -1)


def _scaled(operation: Operation, dims: Sequence[int], name: str = "", *, is_positive: bool = True) -> _Scaled:
    """What is said of an input or the result.

    Args:
        operation: the node.
        dims: the sizes of the array.
        name: what the names of its inputs and attributes begin with.
        is_positive: whether scales must be.
    """
    axis = int(operation.attribute(f"{name}quantization_axis"))
    operation.require(-1 <= axis < len(dims), f"its {name}quantization_axis {axis} is none of {len(dims)} dimensions")
    scales, zeros = (np.asarray(operation.value(f"{name}{one}")) for one in ("scales", "zero_points"))
    wanted = () if axis < 0 else (dims[axis],)
    fits = scales.shape == zeros.shape == wanted
    operation.require(fits, lambda: f"its {name}scales and {name}zero_points must have the sizes {list(wanted)}")
    if is_positive:
        operation.require((scales > 0).all(), lambda: f"its {name}scales must be positive, not {scales.tolist()}")
    return _Scaled(scales, zeros, axis)


def _along(operation: Operation, values: Array, kind: ElementType, dims: Sequence[int], axis: int) -> Expression:
    """One number for all elements, or one for each slice."""
    given = operation.constant(values.astype(kind.dtype), kind)
    return given.spread(dims, [axis] if values.ndim else [])


def _clipped(operation: Operation, x: Expression, name: str = "") -> Expression:
    """Within the range that the node states, whose lower end goes first."""
    low, high = (operation.attribute(f"{name}quantization_{one}_val") for one in ("min", "max"))
    least, most = bounds(S32)
    fits = all(least.real <= one <= most.real for one in (low, high))
    operation.require(fits, f"its range from {low} to {high} is not one of 32 bits")
    return x.apply("minimum", high).apply("maximum", low)


def _quantized(operation: Operation) -> Expression:
    x = operation["input"]
    scaled = _scaled(operation, x.dims, is_positive=False)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.float32(1) / scaled.scales.astype(np.float32)
    steps = x * _along(operation, np.asarray(inverse), F32, x.dims, scaled.axis) + 0.5
    whole = steps.apply("floor").to(S32) + _along(operation, scaled.zeros, S32, x.dims, scaled.axis)
    return _clipped(operation, whole).to(operation.type("Tout"))


def _from_zero(operation: Operation, x: Expression, scaled: _Scaled) -> Expression:
    """How many steps numbers are from the zero point."""
    return x.to(S32) - _along(operation, scaled.zeros, S32, x.dims, scaled.axis)


def _dequantized(operation: Operation) -> Expression:
    x = operation["input"]
    scaled = _scaled(operation, x.dims, is_positive=False)
    steps = _from_zero(operation, x, scaled).to(F32)
    return steps * _along(operation, scaled.scales, F32, x.dims, scaled.axis)


class _Multiplier(NamedTuple):
    """A factor as a whole number over 2 to the power of how far products are shifted."""

    number: int
    shift: int


def _multiplier(operation: Operation, factor: float) -> _Multiplier:
    fits = math.isfinite(factor) and factor > 0
    operation.require(fits, lambda: f"its scales go together as {factor}, which is no positive number")
    fraction, shift = math.frexp(factor)
    number = math.floor(fraction * 2.0**_DIGITS + 0.5)
    if number == 1 << _DIGITS:
        number, shift = number // 2, shift + 1
    if shift < _LEAST_SHIFT:
        number, shift = 0, 0
    if shift > _MOST_SHIFT:
        number, shift = (1 << _DIGITS) - 1, _MOST_SHIFT
    return _Multiplier(number, _DIGITS - shift)


def _rescaled(operation: Operation, steps: Expression, factors: Array, axis: int) -> Expression:
    """Steps of one scale as those of another, the nearest whole number, within 32 bits.

    Args:
        operation: the node.
        steps: numbers of 32 bits.
        factors: one scale over the other; one of them, or one for each slice.
        axis: along which the slices are.
    """
    found = [_multiplier(operation, float(one)) for one in factors.reshape(-1)]
    numbers = np.array([one.number for one in found], np.int64).reshape(factors.shape)
    shifts = np.array([one.shift for one in found], np.int64).reshape(factors.shape)
    halves = np.array([1 << (one.shift - 1) for one in found], np.int64).reshape(factors.shape)
    number, shift, half = (_along(operation, one, S64, steps.dims, axis) for one in (numbers, shifts, halves))
    product = (steps.to(S64) * number + half).apply("shift-right-arithmetic", shift)
    least, most = (int(one.real) for one in bounds(S32))
    return product.apply("maximum", least).apply("minimum", most).to(S32)


def _from_one_to_other(operation: Operation, x: Expression, given: _Scaled, wanted: _Scaled) -> Expression:
    """Numbers as steps of another scale, from 0."""
    factors = np.asarray(given.scales.astype(np.float64) / wanted.scales.astype(np.float64))
    return _rescaled(operation, _from_zero(operation, x, given), factors, max(given.axis, wanted.axis))


def _result(operation: Operation, steps: Expression, wanted: _Scaled) -> Expression:
    """Steps as numbers of the result's type, from its zero point, within its range."""
    moved = steps + _along(operation, wanted.zeros, S32, steps.dims, wanted.axis)
    kind = operation.type(operation.signature.outputs[0].type)
    return _clipped(operation, moved, "output_").to(kind)


def _requantized(operation: Operation) -> Expression:
    x = operation["input"]
    given, wanted = (_scaled(operation, x.dims, name) for name in ("input_", "output_"))
    fits = given.axis == wanted.axis or min(given.axis, wanted.axis) < 0
    operation.require(fits, f"its axes {given.axis} and {wanted.axis} must be the same")
    return _result(operation, _from_one_to_other(operation, x, given, wanted), wanted)


def _sum(operation: Operation) -> Expression:
    """Of numbers that are steps of the result's scale first."""
    sides = [operation[name] for name in ("lhs", "rhs")]
    dims = together(operation, *sides)[0].dims
    wanted = _scaled(operation, dims, "output_")
    moved = []
    for name, x in zip(("lhs_", "rhs_"), sides, strict=True):
        given, axis = _scaled(operation, x.dims, name), wanted.axis - (len(dims) - len(x.dims))
        if wanted.axis >= 0:
            fits = axis >= 0 and x.dims[axis] == dims[wanted.axis] and given.axis in (-1, axis)
            operation.require(fits, f"its {name}quantization_axis must be that of the result")
        moved.append(_from_one_to_other(operation, x, given, wanted.at(axis)))
    left, right = together(operation, *moved)
    return _result(operation, left + right, wanted)


def _limited(operation: Operation) -> Expression:
    x, low, high = (operation[name] for name in ("operand", "min", "max"))
    scaled = _scaled(operation, x.dims, is_positive=False)
    wanted = scaled.scales.shape
    operation.require(low.dims == high.dims == wanted, lambda: f"its min and max must have the sizes {list(wanted)}")
    along = [scaled.axis] if wanted else []
    return x.apply("maximum", low.spread(x.dims, along)).apply("minimum", high.spread(x.dims, along))


def _of_products(
    operation: Operation, left: _Scaled, right: _Scaled, total: Expression, axes: Sequence[int]
) -> Expression:
    """Sums of products as numbers of the result's scale.

    Args:
        operation: the node.
        left: how the numbers on the left stand for others; all alike.
        right: those on the right; all alike, or by the elements that become the result's along an axis.
        total: the sums.
        axes: of the right side and of the result, along which scales may differ.
    """
    wanted = _scaled(operation, total.dims, "output_")
    operation.require(left.axis < 0, "its lhs_quantization_axis must be -1")
    for name, one, axis in (("rhs", right, axes[0]), ("output", wanted, axes[1])):
        operation.require(one.axis in (-1, axis), f"its {name}_quantization_axis must be -1 or {axis}")
    fits = right.axis >= 0 or wanted.axis < 0
    operation.require(fits, "where the right side has one scale, the result has one")
    factors = left.scales.astype(np.float64) * right.scales.astype(np.float64) / wanted.scales.astype(np.float64)
    return _result(operation, _rescaled(operation, total, np.asarray(factors), axes[1]), wanted)


def _dot(operation: Operation) -> Expression:
    x, y = operation["lhs"], operation["rhs"]
    fits = len(x.dims) == len(y.dims) == 2 and x.dims[1] == y.dims[0]
    operation.require(fits, lambda: f"matrices of {list(x.dims)} and {list(y.dims)} do not go together")
    left, right = _scaled(operation, x.dims, "lhs_"), _scaled(operation, y.dims, "rhs_")
    operands = [_from_zero(operation, *one).instruction for one in ((x, left), (y, right))]
    dims: dict[str, Any] = {"lhs_contracting_dims": (1,), "rhs_contracting_dims": (0,)}
    total = Expression(build(operation.computation, "dot", operands, **dims))
    return _of_products(operation, left, right, total, (1, 1))


def _labels(operation: Operation, rank: int) -> ConvolutionDimensions:
    """The dimensions that the node's message says, or batches, channels and places in this order."""
    fields = fields_of(operation, "dimension_numbers")
    spatial = tuple(range(2, rank))
    if not fields.get(3):
        return ConvolutionDimensions(0, 1, spatial, 1, 0, spatial, 0, 1, spatial)
    one = {number: fields.get(number, [0])[-1] for number in (1, 2, 4, 5, 7, 8)}
    many = {number: tuple(fields.get(number, ())) for number in (3, 6, 9)}
    for first, second, others in ((1, 2, 3), (4, 5, 6), (7, 8, 9)):
        fits = sorted((one[first], one[second], *many[others])) == list(range(rank))
        operation.require(fits, "its dimension_numbers do not name every dimension once")
    return ConvolutionDimensions(*(one[1], one[2], many[3]), *(one[4], one[5], many[6]), *(one[7], one[8], many[9]))


def _padding(operation: Operation, sizes: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """How many zeros are before and behind, of an image, a window and a stride for each dimension."""
    kind, stated = operation.attribute("padding"), tuple(operation.attribute("explicit_padding"))
    operation.require(kind in (b"EXPLICIT", b"SAME", b"VALID"), f"its padding {kind!r} has no meaning")
    if kind == b"EXPLICIT":
        fits = len(stated) == 2 * len(sizes) and min(stated, default=0) >= 0
        operation.require(fits, f"its explicit_padding must be {2 * len(sizes)} numbers that are not negative")
        return list(zip(stated[::2], stated[1::2], strict=True))
    operation.require(not stated, "explicit_padding is for the padding EXPLICIT")
    if kind == b"VALID":
        return [(0, 0)] * len(sizes)
    totals = [max((-(-image // stride) - 1) * stride + window - image, 0) for image, window, stride in sizes]
    return [(one // 2, one - one // 2) for one in totals]


def _spread_size(size: int, dilation: int) -> int:
    return size and size + (dilation - 1) * (size - 1)


def _window(operation: Operation, image: Sequence[int], kernel: Sequence[int]) -> tuple[WindowDimension, ...]:
    count = len(image)
    steps = []
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        stated = tuple(operation.attribute(name)) or (1,) * count
        fits = len(stated) == count and min(stated) >= 1
        operation.require(fits, f"its {name} must be {count} positive numbers, not {list(stated)}")
        steps.append(stated)
    strides, before, behind = steps
    sizes = [
        (_spread_size(one, apart), _spread_size(size, own), stride)
        for one, apart, size, own, stride in zip(image, before, kernel, behind, strides, strict=True)
    ]
    rows = zip(kernel, strides, _padding(operation, sizes), before, behind, strict=True)
    return tuple(
        WindowDimension(size, stride, low, high, lhs_dilate=apart, rhs_dilate=own)
        for size, stride, (low, high), apart, own in rows
    )


def _convolution(operation: Operation) -> Expression:
    x, y = operation["lhs"], operation["rhs"]
    rank = len(x.dims)
    fits = rank == len(y.dims) >= 3
    operation.require(fits, lambda: f"arrays of {list(x.dims)} and filters of {list(y.dims)} do not go together")
    labels = _labels(operation, rank)
    left, right = _scaled(operation, x.dims, "lhs_"), _scaled(operation, y.dims, "rhs_")
    image, kernel = (
        [one.dims[axis] for axis in axes] for one, axes in ((x, labels.input_spatial), (y, labels.kernel_spatial))
    )
    groups = {name: operation.attribute(name) for name in ("feature_group_count", "batch_group_count")}
    attributes: dict[str, Any] = {"dim_labels": labels, "window": _window(operation, image, kernel)}
    attributes |= {name: count for name, count in groups.items() if count != 1}
    operands = [_from_zero(operation, *one).instruction for one in ((x, left), (y, right))]
    total = Expression(build(operation.computation, "convolution", operands, **attributes))
    return _of_products(operation, left, right, total, (labels.kernel_output_feature, labels.output_feature))


def _ranges(*names: str) -> str:
    return "; ".join(
        f"{name}quantization_axis: int = -1; {name}quantization_min_val: int; {name}quantization_max_val: int"
        for name in names
    )


def _ports(*names: str) -> str:
    return ", ".join(f"{name}scales: float32, {name}zero_points: int32" for name in names)


def _row(name: str, text: str, lower: Any, doc: str, *sides: str) -> Record:
    """A record whose scales and zero points are known."""
    constants = [f"{side}{one}" for side in sides for one in ("scales", "zero_points")]
    return record(f"Uniform{name}", f"{text}; {_ranges(*sides)}", lower, doc, constants)


_BOTH = ("lhs_", "rhs_", "output_")
_STEPS = "; ".join(
    f"{name}: list(int) = []" for name in ("window_strides", "explicit_padding", "lhs_dilation", "rhs_dilation")
)
_GROUPS = "batch_group_count: int = 1; feature_group_count: int = 1; dimension_numbers: string = ''"
_MIXED = f"lhs: Tin, rhs: Tin, {_ports(*_BOTH)} -> output: Tout; Tin: {{qint8}}; Tout: {{qint32}}"
RECORDS = table(
    _row(
        "Quantize",
        f"input: Tin, {_ports('')} -> output: Tout; Tin: {{float32}}; Tout: {{qint8 quint8 qint32}}",
        _quantized,
        "The whole numbers that stand for floats.",
        "",
    ),
    _row(
        "Dequantize",
        f"input: Tin, {_ports('')} -> output: Tout; Tin: {{qint8 quint8 qint32}}; Tout: {{float32}}",
        _dequantized,
        "The floats that whole numbers stand for.",
        "",
    ),
    _row(
        "Requantize",
        f"input: Tin, {_ports('input_', 'output_')} -> output: Tout; Tin: {{qint8 qint32}}; Tout: {{qint8 qint32}}",
        _requantized,
        "The whole numbers of another scale.",
        *("input_", "output_"),
    ),
    _row("QuantizedAdd", f"lhs: T, rhs: T, {_ports(*_BOTH)} -> output: T; T: {{qint32}}", _sum, "A sum.", *_BOTH),
    _row(
        "QuantizedClipByValue",
        f"operand: T, min: T, max: T, {_ports('')} -> output: T; T: {{qint32}}",
        _limited,
        "Numbers within bounds.",
        "",
    ),
    _row("QuantizedDot", _MIXED, _dot, "A product of matrices.", *_BOTH),
    _row(
        "QuantizedConvolution",
        f"{_MIXED}; padding: string; {_STEPS}; {_GROUPS}",
        _convolution,
        "Arrays with filters.",
        *_BOTH,
    ),
)
