"""Convolution with any strides, padding, dilations, reversal and groups.

One matrix product per element of the kernel, summed in f64 (integers: exactly): the shifted input times that element's
channels.  So memory stays that of the input, where gathering all windows would multiply it by the kernel's size.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attributes import ConvolutionDimensions, Window, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.products import matrix_product, rounded, summable, wider_type
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.shape_rules import distinct_dimensions, require, result_type, trace_dynamic
from compiler.ir.sparsity import filled, full_shape, sparsity
from compiler.ir.traits import Trait
from compiler.ir.windows import check_window, pad, window_padding

_POINT = WindowDimension()


def _groups(instruction: Instruction) -> tuple[int, int]:
    attributes = instruction.attributes
    return attributes.get("feature_group_count", 1), attributes.get("batch_group_count", 1)


def _infer_convolution(instruction: Instruction) -> Shape:
    lhs, rhs = full_shape(instruction, 0), full_shape(instruction, 1)
    labels: ConvolutionDimensions = instruction.attributes["dim_labels"]
    window: Window = instruction.attributes.get("window", ())
    spatial = len(labels.input_spatial)
    for name, shape, numbers in (
        ("lhs", lhs, (labels.input_batch, labels.input_feature, *labels.input_spatial)),
        ("rhs", rhs, (labels.kernel_input_feature, labels.kernel_output_feature, *labels.kernel_spatial)),
    ):
        distinct_dimensions(numbers, shape.rank, f"dim_labels of {name}:")
        require(len(numbers) == shape.rank, f"dim_labels name {len(numbers)} dimensions of {name}, which is {shape}")
    require(len(window) == spatial, f"the window has {len(window)} dimensions, dim_labels {spatial} spatial ones")
    feature_groups, batch_groups = _groups(instruction)
    _check_groups(lhs, rhs, labels, feature_groups, batch_groups)
    for index, dim in enumerate(labels.kernel_spatial):
        sizes = (rhs.dims[dim], window[index].size)
        require(sizes[0] == sizes[1], f"window size {sizes[1]} of spatial dimension {index} is not that of {rhs}")
    moved = ArrayShape(lhs.element_type, tuple(lhs.dims[d] for d in labels.input_spatial))
    counts = check_window(moved, window)
    dims, origins = [0] * lhs.rank, [(rhs, labels.kernel_output_feature)] * lhs.rank
    dims[labels.output_batch] = lhs.dims[labels.input_batch] // batch_groups
    dims[labels.output_feature] = rhs.dims[labels.kernel_output_feature]
    origins[labels.output_batch] = lhs, labels.input_batch
    for source, dim, size in zip(labels.input_spatial, labels.output_spatial, counts, strict=True):
        dims[dim], origins[dim] = size, (lhs, source)
    return ArrayShape(result_type(instruction, wider_type(lhs, rhs)), tuple(dims), trace_dynamic(origins))


def _check_groups(
    lhs: ArrayShape, rhs: ArrayShape, labels: ConvolutionDimensions, feature_groups: int, batch_groups: int
) -> None:
    require(feature_groups >= 1, f"feature_group_count={feature_groups} must be at least 1")
    require(batch_groups >= 1, f"batch_group_count={batch_groups} must be at least 1")
    require(feature_groups == 1 or batch_groups == 1, "feature_group_count and batch_group_count exclude each other")
    features, wanted = lhs.dims[labels.input_feature], rhs.dims[labels.kernel_input_feature] * feature_groups
    require(features == wanted, f"lhs has {features} features, {rhs} in {feature_groups} groups takes {wanted}")
    outputs = rhs.dims[labels.kernel_output_feature]
    require(outputs % (feature_groups * batch_groups) == 0, f"{outputs} output features do not split into the groups")
    batch = lhs.dims[labels.input_batch]
    require(batch % batch_groups == 0, f"a batch of {batch} does not split into {batch_groups} groups")


def _full(instruction: Instruction, index: int, value: Any) -> Array:
    """An operand with all its elements, as which it may be given, in the type that products are summed in."""
    found = sparsity(instruction, index)
    whole = filled(found, *value) if found is not None and isinstance(value, tuple) else value
    return summable(whole, full_shape(instruction, index).element_type, instruction.array.element_type)


def _convolution(instruction: Instruction, values: Sequence[Value], _: Evaluator) -> Array:
    labels: ConvolutionDimensions = instruction.attributes["dim_labels"]
    window: Window = instruction.attributes.get("window", ())
    feature_groups, batch_groups = _groups(instruction)
    lhs, rhs = (_full(instruction, index, value) for index, value in enumerate(values))
    # To spatial..., batch, feature and spatial..., input feature, output feature.
    lhs = lhs.transpose(*labels.input_spatial, labels.input_batch, labels.input_feature)
    rhs = rhs.transpose(*labels.kernel_spatial, labels.kernel_input_feature, labels.kernel_output_feature)
    none = window_padding(_POINT)
    lhs = pad(lhs, 0, [*(window_padding(dimension) for dimension in window), none, none])
    reversed_axes = tuple(index for index, dimension in enumerate(window) if dimension.reversal)
    rhs = np.flip(rhs, reversed_axes) if reversed_axes else rhs
    product = _sum_of_products(lhs, rhs, window, feature_groups, batch_groups)
    order = np.empty(product.ndim, np.int64)
    order[[*labels.output_spatial, labels.output_batch, labels.output_feature]] = np.arange(product.ndim)
    return rounded(product.transpose(order), instruction.array.element_type)


def _sum_of_products(lhs: Array, rhs: Array, window: Window, feature_groups: int, batch_groups: int) -> Array:
    batch = lhs.shape[-2]
    *_, inputs, outputs = rhs.shape
    groups = feature_groups * batch_groups
    covered = [(dimension.size - 1) * dimension.rhs_dilate + 1 for dimension in window]
    counts = [max(0, (n - c) // p.stride + 1) for n, c, p in zip(lhs.shape, covered, window, strict=False)]
    rows = batch // batch_groups
    total = np.zeros((groups, int(np.prod(counts, dtype=np.int64)) * rows, outputs // groups), lhs.dtype)
    for tap in itertools.product(*(range(dimension.size) for dimension in window)):
        region = tuple(
            slice(
                k * dimension.rhs_dilate,
                k * dimension.rhs_dilate + max(count - 1, 0) * dimension.stride + 1,
                dimension.stride,
            )
            for k, dimension, count in zip(tap, window, counts, strict=True)
        )
        if 0 in counts:
            break
        shifted = lhs[region].reshape(*counts, batch_groups, rows, feature_groups, inputs)
        spatial = range(len(counts))
        count = len(counts)
        left = shifted.transpose(count, count + 2, *spatial, count + 1, count + 3)
        left = left.reshape(groups, total.shape[1], inputs)
        right = rhs[tap].reshape(inputs, groups, outputs // groups).transpose(1, 0, 2)
        total += matrix_product(left, right)
    grouped = total.reshape(groups, *counts, rows, outputs // groups)
    return np.moveaxis(grouped, 0, -2).reshape(*counts, rows, outputs)


OPS: dict[str, Op] = {
    "convolution": Op(
        "convolution",
        (2, 2),
        _infer_convolution,
        _convolution,
        "Products of a kernel with every window of the input, summed.",
        required=("dim_labels",),
        optional=(
            "window",
            "feature_group_count",
            "batch_group_count",
            "convolution_kind",
            "operand_precision",
            "algorithm",
            "sparsity_config",
        ),
        traits=Trait.PRODUCT | Trait.ACCUMULATES,
    )
}
