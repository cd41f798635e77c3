"""Normalisation over batches, and over neighbouring channels; numbers of 16 bits go through f32.

Trained, batches are normalised by their own mean and variance, which are given out (the variance as the best guess of
that of all data), mixed with those of before; else by those that are given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from compiler.expansion.expression import Expression, combiner
from compiler.ir.attributes import WindowDimension
from compiler.ir.types import F32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Lower, Record, record, table
from compiler.tf2xla.windows import layout_of


class _Channels(NamedTuple):
    """The dimension of channels, the others, and how many elements each channel has."""

    channel: int
    others: tuple[int, ...]
    elements: float


def _channels(operation: Operation, x: Expression) -> _Channels:
    channel = layout_of(operation, x.dims).channel
    others = tuple(axis for axis in range(len(x.dims)) if axis != channel)
    return _Channels(channel, others, math.prod(x.dims[axis] for axis in others))


def _sum(x: Expression, axes: Sequence[int]) -> Expression:
    return x.sum(*axes)


def _normalise(results: int) -> Lower:
    def lower(operation: Operation) -> list[Expression]:
        x, scale, offset = operation["x"], operation["scale"], operation["offset"]
        given = [operation["mean"], operation["variance"]]
        channel, others, count = _channels(operation, x)
        for one in (scale, offset):
            operation.require(one.dims == (x.dims[channel],), "scale and offset must have one number for each channel")
        wide = x.to(F32)
        is_training = operation.attribute("is_training")
        if is_training:
            mean = _sum(wide, others) / count
            centered = wide - mean.spread(x.dims, [channel])
            variance = _sum(centered * centered, others) / count
        else:
            mean, variance = given
            centered = wide - mean.spread(x.dims, [channel])
        factor = (variance + operation.attribute("epsilon")).apply("rsqrt") * scale
        y = centered * factor.spread(x.dims, [channel]) + offset.spread(x.dims, [channel])
        outputs = [mean, variance, mean, variance]
        if is_training:
            guess = variance * (count / max(count - 1, 1))
            outputs[:2] = _mixed(operation, given, [mean, guess])
        if results == 6:  # what kernels on CPUs keep of nothing
            outputs.append(operation.full(0, mean.type, (0,)))
        return [y.to(x.type), *outputs]

    return lower


def _mixed(operation: Operation, before: Sequence[Expression], now: Sequence[Expression]) -> list[Expression]:
    factor = operation.attribute("exponential_avg_factor")
    if factor == 1:
        return list(now)
    return [old * (1 - factor) + new * factor for old, new in zip(before, now, strict=True)]


def _gradient(operation: Operation) -> list[Expression]:
    g, x, scale = operation["y_backprop"], operation["x"], operation["scale"]
    mean, variance = operation["reserve_space_1"], operation["reserve_space_2"]
    channel, others, count = _channels(operation, x)
    operation.require(g.dims == x.dims, lambda: f"its gradient must have the sizes {list(x.dims)}, not {list(g.dims)}")
    wide, centered = g.to(F32), x.to(F32) - mean.spread(x.dims, [channel])
    root = (variance + operation.attribute("epsilon")).apply("rsqrt")
    of_offset = _sum(wide, others)
    products = _sum(wide * centered, others)
    inner = wide
    if operation.attribute("is_training"):
        slope = products / count * root * root
        inner = wide - (of_offset / count).spread(x.dims, [channel]) - centered * slope.spread(x.dims, [channel])
    of_x = inner * (root * scale).spread(x.dims, [channel])
    nothing = operation.number(0, mean.type)
    return [of_x.to(x.type), products * root, of_offset, nothing, nothing]


def _near(operation: Operation, x: Expression) -> Expression:
    """Sums over neighbouring channels."""
    radius = operation.attribute("depth_radius")
    operation.require(radius >= 0, "its depth_radius must not be negative")
    window = (WindowDimension(),) * 3 + (WindowDimension(2 * radius + 1, 1, radius, radius),)
    operands = [x.instruction, x.literal(0).instruction]
    add = combiner(operation.module, "add", x.type)
    return Expression(build(operation.computation, "reduce-window", operands, window=window, to_apply=add))


def _norm(operation: Operation, x: Expression) -> Expression:
    alpha: float = operation.attribute("alpha")
    bias: float = operation.attribute("bias")
    operation.require(len(x.dims) == 4, lambda: f"its images must have 4 dimensions, not the sizes {list(x.dims)}")
    return _near(operation, x * x) * alpha + bias


def _local(operation: Operation) -> Expression:
    x = operation["input"]
    wide = x.to(F32)
    return (wide * _norm(operation, wide).apply("power", -operation.attribute("beta"))).to(x.type)


def _local_gradient(operation: Operation) -> Expression:
    g, x, y = (operation[name].to(F32) for name in ("input_grads", "input_image", "output_image"))
    norm = _norm(operation, x)
    alpha: float = operation.attribute("alpha")
    beta: float = operation.attribute("beta")
    others = _near(operation, g * y / norm) * x * (-2 * alpha * beta)
    return (others + norm.apply("power", -beta) * g).to(operation["input_image"].type)


_FORMATS = "data_format: string = 'NHWC'; is_training: bool = true"
_RESERVED = "y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U"
_EPSILON = "epsilon: float = 0.0001"


def _batches(version: str, types: str) -> list[Record]:
    """One version of the op, and of its gradient: the first has one type, the last gives one thing more."""
    kept = 3 if version == "V3" else 2
    scales = "float32 bfloat16" if version == "V3" else "float32"
    more = ", reserve_space_3: U" if kept == 3 else ""
    takes, gives = "x: T, scale: U, offset: U, mean: U, variance: U", f"{_RESERVED}{more}"
    back = f"y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U{more}"
    back_gives = "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_{}: U, reserve_space_{}: U"
    back_gives = back_gives.format(kept + 1, kept + 2)
    kinds, back_kinds = f"T: {{{types}}}; U: {{{scales}}}", f"T: {{{types}}}; U: {{float32}}"
    if not version:
        takes, gives, back, back_gives = (one.replace(": U", ": T") for one in (takes, gives, back, back_gives))
        back = back.replace("scale: float32", "scale: T")
        kinds = back_kinds = f"T: {{{types}}}"
    return [
        record(
            f"FusedBatchNorm{version}",
            f"{takes} -> {gives}; {kinds}; {_EPSILON}; exponential_avg_factor: float = 1; {_FORMATS}",
            _normalise(3 + kept),
            "Images normalised over batches and places.",
        ),
        record(
            f"FusedBatchNormGrad{version}",
            f"{back} -> {back_gives}; {back_kinds}; {_EPSILON}; {_FORMATS}",
            _gradient,
            "The gradient of FusedBatchNorm.",
        ),
    ]


def _globally(operation: Operation) -> Expression:
    """By means and variances that are given, of each channel, the last dimension."""
    x = operation["t"]
    operation.require(len(x.dims) == 4, lambda: f"it takes images of 4 dimensions, not the sizes {list(x.dims)}")
    mean, variance, offset, scale = (operation[name] for name in ("m", "v", "beta", "gamma"))
    fits = all(one.dims == x.dims[3:] for one in (mean, variance, offset, scale))
    operation.require(fits, lambda: f"each channel of {list(x.dims)} needs a mean, a variance, an offset and a scale")
    factor = (variance + operation.attribute("variance_epsilon")).apply("rsqrt")
    if operation.attribute("scale_after_normalization"):
        factor = factor * scale
    mean, factor, offset = (one.spread(x.dims, [3]) for one in (mean, factor, offset))
    return (x - mean) * factor + offset


_RADIUS = "depth_radius: int = 5; bias: float = 1; alpha: float = 1; beta: float = 0.5"
_HALVES = "float32 bfloat16 float16"
RECORDS = table(
    *_batches("", "float32"),
    *_batches("V2", _HALVES),
    *_batches("V3", _HALVES),
    record(
        "BatchNormWithGlobalNormalization",
        "t: T, m: T, v: T, beta: T, gamma: T -> result: T; T: {numbers}; "
        "variance_epsilon: float; scale_after_normalization: bool",
        _globally,
        "Images normalised by given means and variances.",
    ),
    record(
        "LRN",
        f"input: T -> output: T; {_RADIUS}; T: {{{_HALVES}}} = float32",
        _local,
        "Images normalised over neighbouring channels.",
    ),
    record(
        "LRNGrad",
        f"input_grads: T, input_image: T, output_image: T -> output: T; {_RADIUS}; T: {{{_HALVES}}} = float32",
        _local_gradient,
        "The gradient of LRN.",
    ),
)
