"""Convolutions of images with filters, and the two products that are their gradients.

A convolution by groups of channels, and one of each channel by itself (depthwise), are HLO's convolution with groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from compiler.expansion.expression import Expression
from compiler.ir.attributes import ConvolutionDimensions, WindowDimension
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.shapes import sizes
from compiler.tf2xla.record import Record, record, table
from compiler.tf2xla.windows import Along, Layout, layout_of, numbers_of, windows


class _Plan(NamedTuple):
    """Dimensions, a window along each that is spatial, and in how many groups channels are."""

    layout: Layout
    windows: list[Along]
    groups: int


def _planned(operation: Operation, image: Sequence[int], kernel: Sequence[int]) -> _Plan:
    layout = layout_of(operation, image)
    rank = len(image)
    operation.require(len(kernel) == rank, lambda: f"its filter must have {rank} dimensions, not {list(kernel)}")
    dilations = numbers_of(operation, "dilations", layout)
    plan = windows(operation, layout, image, kernel[:-2], dilations)
    channels, own = image[layout.channel], kernel[-2]
    fits = own > 0 and channels % own == 0 and kernel[-1] % max(channels // own, 1) == 0
    operation.require(fits, lambda: f"{channels} channels do not go with a filter of the sizes {list(kernel)}")
    return _Plan(layout, plan, channels // own)


def _labels(layout: Layout, kernel_in: int, kernel_out: int) -> ConvolutionDimensions:
    spatial_dims = tuple(range(len(layout.spatial)))
    return ConvolutionDimensions(
        *(layout.batch, layout.channel, layout.spatial, kernel_in, kernel_out, spatial_dims),
        *(layout.batch, layout.channel, layout.spatial),
    )


def _convolved(
    x: Expression, kernel: Expression, labels: ConvolutionDimensions, window: Sequence[WindowDimension], **groups: int
) -> Expression:
    attributes: dict[str, Any] = {name: count for name, count in groups.items() if count != 1}
    operands = [x.instruction, kernel.instruction]
    computation = x.instruction.computation
    return Expression(
        build(computation, "convolution", operands, dim_labels=labels, window=tuple(window), **attributes)
    )


def _forward(operation: Operation, x: Expression, kernel: Expression) -> Expression:
    layout, plan, groups = _planned(operation, x.dims, kernel.dims)
    window = [WindowDimension(one.size, one.stride, one.low, one.high, rhs_dilate=one.dilation) for one in plan]
    rank = len(x.dims)
    return _convolved(x, kernel, _labels(layout, rank - 2, rank - 1), window, feature_group_count=groups)


def _to_image(operation: Operation, image: Sequence[int], kernel: Expression, g: Expression) -> Expression:
    """The gradient of images: that of the result, its elements as far apart as the strides, with the filter turned."""
    layout, plan, groups = _planned(operation, image, kernel.dims)
    _require_result(operation, layout, plan, g, (image[layout.batch], kernel.dims[-1]))
    window = []
    for one in plan:
        spread = (one.output_size - 1) * one.stride + 1
        low = one.extent - 1 - one.low
        high = one.image - spread - low + one.extent - 1
        window.append(
            WindowDimension(one.size, 1, low, high, lhs_dilate=one.stride, rhs_dilate=one.dilation, reversal=True)
        )
    rank = len(image)
    if groups == 1:
        return _convolved(g, kernel, _labels(layout, rank - 1, rank - 2), window)
    spatial_sizes, own, made = kernel.dims[:-2], kernel.dims[-2], kernel.dims[-1] // groups
    grouped = kernel.reshape(*spatial_sizes, own, groups, made).transpose(*range(rank - 2), rank, rank - 1, rank - 2)
    turned = grouped.reshape(*spatial_sizes, made, groups * own)
    return _convolved(g, turned, _labels(layout, rank - 2, rank - 1), window, feature_group_count=groups)


def _to_filter(operation: Operation, x: Expression, kernel: Sequence[int], g: Expression) -> Expression:
    """The gradient of the filter: images with the gradient of the result as their filter, batches as channels."""
    layout, plan, groups = _planned(operation, x.dims, kernel)
    _require_result(operation, layout, plan, g, (x.dims[layout.batch], kernel[-1]))
    window = []
    for one in plan:
        reach = (one.size - 1) * one.dilation + (one.output_size - 1) * one.stride + 1
        high = reach - one.image - one.low
        window.append(WindowDimension(one.output_size, one.dilation, one.low, high, rhs_dilate=one.stride))
    rank = len(x.dims)
    labels = ConvolutionDimensions(
        *(layout.channel, layout.batch, layout.spatial, layout.batch, layout.channel, layout.spatial),
        *(rank - 2, rank - 1, tuple(range(rank - 2))),
    )
    return _convolved(x, g, labels, window, batch_group_count=groups)


def _require_result(
    operation: Operation, layout: Layout, plan: Sequence[Along], g: Expression, others: tuple[int, int]
) -> None:
    wanted = list(layout.to([one.output_size for one in plan]))
    wanted[layout.batch], wanted[layout.channel] = others
    fits = list(g.dims) == wanted
    operation.require(fits, lambda: f"its out_backprop must have the sizes {wanted}, and has {list(g.dims)}")


def _plain(kernel: Sequence[int]) -> tuple[int, ...]:
    return tuple(kernel)


def _by_channel(kernel: Sequence[int]) -> tuple[int, ...]:
    """The sizes of a filter of each channel by itself, as one of as many groups."""
    return (*kernel[:-2], 1, math.prod(kernel[-2:]))


Sizes = Callable[[Sequence[int]], tuple[int, ...]]


def _family(
    prefix: str, suffixes: tuple[str, str], types: tuple[str, str], more: str, as_groups: Sizes, index: str = "int32"
) -> list[Record]:
    """A convolution and its two gradients."""

    def forward(operation: Operation) -> Expression:
        kernel = operation["filter"]
        return _forward(operation, operation["input"], kernel.reshape(*as_groups(kernel.dims)))

    def to_image(operation: Operation) -> Expression:
        kernel = operation["filter"].reshape(*as_groups(operation["filter"].dims))
        image, g = sizes(operation, "input_sizes"), operation["out_backprop"]
        if len(image) == len(layout_of(operation, g.dims).spatial):  # places alone
            layout = layout_of(operation, g.dims)
            whole = list(layout.to(image))
            whole[layout.batch], whole[layout.channel] = g.dims[layout.batch], operation["filter"].dims[-2]
            image = tuple(whole)
        return _to_image(operation, image, kernel, g)

    def to_filter(operation: Operation) -> Expression:
        kernel = sizes(operation, "filter_sizes")
        found = _to_filter(operation, operation["input"], as_groups(kernel), operation["out_backprop"])
        return found.reshape(*kernel)

    of_image, of_filter = suffixes
    of_index = "" if index == "int32" else f"; {index}: {{index}} = int32"
    return [
        record(
            prefix,
            f"input: T, filter: T -> output: T; T: {{{types[0]}}}; {more}",
            forward,
            "Images with filters.",
        ),
        record(
            f"{prefix}{of_image}",
            f"input_sizes: {index}, filter: T, out_backprop: T -> output: T; T: {{{types[0]}}}; {more}{of_index}",
            to_image,
            "The gradient of the images.",
            constants=("input_sizes",),
        ),
        record(
            f"{prefix}{of_filter}",
            f"input: T, filter_sizes: int32, out_backprop: T -> output: T; T: {{{types[1]}}}; {more}",
            to_filter,
            "The gradient of the filter.",
            constants=("filter_sizes",),
        ),
    ]


_EDGES = "strides: list(int); padding: string; explicit_paddings: list(int) = []; data_format: string = 'NHWC'"
_APART = "dilations: list(int) = [1 1 1 1]"
_BACK = ("BackpropInput", "BackpropFilter")
_IN_SPACE = "strides: list(int); padding: string; data_format: string = 'NDHWC'; dilations: list(int) = [1 1 1 1 1]"
RECORDS = table(
    *_family("Conv2D", _BACK, ("floats int32", "floats"), f"{_EDGES}; {_APART}; use_cudnn_on_gpu: bool = true", _plain),
    *_family("Conv3D", ("BackpropInputV2", "BackpropFilterV2"), ("floats", "floats"), _IN_SPACE, _plain, "Tshape"),
    *_family("DepthwiseConv2dNative", _BACK, ("floats", "floats"), f"{_EDGES}; {_APART}", _by_channel),
)
