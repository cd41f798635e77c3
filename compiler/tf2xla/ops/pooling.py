"""The greatest and the mean of windows of images, and their gradients.

A mean is that of the elements that lie in the image.  Of equal elements the first of a window has the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from compiler.expansion.expression import Expression, combiner, element
from compiler.ir.attributes import PaddingDimension, WindowDimension
from compiler.ir.module import Computation
from compiler.ir.numbers import bounds
from compiler.ir.shape import ArrayShape
from compiler.ops.build import build, parameter
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.shapes import sizes
from compiler.tf2xla.record import record, table
from compiler.tf2xla.reducing import in_f32
from compiler.tf2xla.windows import Along, Layout, layout_of, numbers_of, windows


def _planned(operation: Operation, image: Sequence[int]) -> tuple[Layout, list[Along]]:
    layout = layout_of(operation, image)
    return layout, windows(operation, layout, image, numbers_of(operation, "ksize", layout))


def _window(layout: Layout, plan: Sequence[Along]) -> tuple[WindowDimension, ...]:
    dims = [WindowDimension()] * (len(plan) + 2)
    for axis, one in zip(layout.spatial, plan, strict=True):
        dims[axis] = WindowDimension(one.size, one.stride, one.low, one.high)
    return tuple(dims)


def _reduced(x: Expression, window: tuple[WindowDimension, ...], opcode: str, start: complex) -> Expression:
    computation = x.instruction.computation
    assert computation.module is not None
    operands = [x.instruction, x.literal(start).instruction]
    combine = combiner(computation.module, opcode, x.type)
    return Expression(build(computation, "reduce-window", operands, window=window, to_apply=combine))


def _greatest(operation: Operation) -> Expression:
    x = operation["input"]
    depth = _depth(operation, x)
    if depth > 1:
        return _of_channels(operation, x, depth)
    layout, plan = _planned(operation, x.dims)
    return _reduced(x, _window(layout, plan), "maximum", bounds(x.type)[0])


def _depth(operation: Operation, x: Expression) -> int:
    """How many channels a window reaches over."""
    stated = _stated(operation, "ksize")
    channel = layout_of(operation, x.dims).channel
    return stated[channel] if len(stated) == len(x.dims) else 1


def _stated(operation: Operation, name: str) -> Sequence[int]:
    numbers: Sequence[int] = operation.attribute(name) if name in operation.signature.attributes else ()
    return numbers or operation.integers(name)


def _of_channels(operation: Operation, x: Expression, depth: int) -> Expression:
    """The greatest of neighbouring channels: windows side by side, which reach over nothing else."""
    channel = layout_of(operation, x.dims).channel
    wanted = [depth if axis == channel else 1 for axis in range(len(x.dims))]
    for name in ("ksize", "strides"):
        stated = list(_stated(operation, name))
        if stated != wanted:
            raise operation.unsupported(f"its {name} {stated} are not those of windows of {depth} channels alone")
    operation.require(x.dims[channel] % depth == 0, f"{x.dims[channel]} channels are not in windows of {depth}")
    window = tuple(WindowDimension(size, size) for size in wanted)
    return _reduced(x, window, "maximum", bounds(x.type)[0])


def _mean(operation: Operation) -> Expression:
    x = operation[operation.signature.inputs[0].name]
    layout, plan = _planned(operation, x.dims)
    wide = x.to(in_f32(x.type))
    total = _reduced(wide, _window(layout, plan), "add", 0)
    return (total / _counts(operation, wide, layout, plan)).to(x.type)


def _counts(operation: Operation, like: Expression, layout: Layout, plan: Sequence[Along]) -> Expression:
    """How many elements of the image each window has, spread over batches and channels."""
    rows = []
    for one in plan:
        first = np.arange(one.output_size) * one.stride - one.low
        rows.append(np.minimum(first + one.size, one.image) - np.maximum(first, 0))
    counts = reduce(np.multiply.outer, rows)
    dims = list(layout.to([one.output_size for one in plan]))
    dims[layout.batch], dims[layout.channel] = like.dims[layout.batch], like.dims[layout.channel]
    if counts.size and (counts == counts.flat[0]).all():
        return operation.full(int(counts.flat[0]), like.type, dims)
    return operation.constant(counts.astype(like.type.dtype), like.type).spread(dims, layout.spatial)


def _require(operation: Operation, layout: Layout, plan: Sequence[Along], g: Expression, image: Sequence[int]) -> None:
    wanted = list(layout.to([one.output_size for one in plan]))
    wanted[layout.batch], wanted[layout.channel] = image[layout.batch], image[layout.channel]
    fits = list(g.dims) == wanted
    operation.require(fits, lambda: f"its gradient must have the sizes {wanted}, and has {list(g.dims)}")


def _mean_back(operation: Operation) -> Expression:
    """Each window's part to all its elements: windows of the parts, as far apart as the strides."""
    g, image = operation["grad"], sizes(operation, "orig_input_shape")
    layout, plan = _planned(operation, image)
    _require(operation, layout, plan, g, image)
    wide = g.to(in_f32(g.type))
    shares = wide / _counts(operation, wide, layout, plan)
    padding = [PaddingDimension(0, 0)] * len(image)
    window = [WindowDimension()] * len(image)
    for axis, one in zip(layout.spatial, plan, strict=True):
        spread = (one.output_size - 1) * one.stride + 1
        low = one.size - 1 - one.low
        padding[axis] = PaddingDimension(low, one.image - spread - low + one.size - 1, one.stride - 1)
        window[axis] = WindowDimension(one.size)
    operands = [shares.instruction, shares.literal(0).instruction]
    spread_out = Expression(build(operation.computation, "pad", operands, padding=tuple(padding)))
    return _reduced(spread_out, tuple(window), "add", 0).to(g.type)


def _greatest_back(operation: Operation) -> Expression:
    """Each window's gradient to the first of its elements that is the greatest."""
    x, g = operation["orig_input"], operation["grad"]
    layout, plan = _planned(operation, x.dims)
    _require(operation, layout, plan, g, x.dims)
    select = Computation(f"at_least.{x.type}")
    left, right = [Expression(parameter(select, number, ArrayShape(x.type, ()))) for number in (0, 1)]
    select.root = left.compare("GE", right).instruction
    operation.module.add_computation(select)
    operands = [x.instruction, g.instruction, g.literal(0).instruction]
    attributes: dict[str, Any] = {"select": select, "scatter": combiner(operation.module, "add", x.type)}
    window = _window(layout, plan)
    return Expression(build(operation.computation, "select-and-scatter", operands, window=window, **attributes))


def _greatest_of_gradient(operation: Operation) -> Expression:
    """Of each window what stands where its greatest element is."""
    x, g = operation["orig_input"], operation["grad"]
    operation.require(g.dims == x.dims, lambda: f"its gradient must have the sizes {list(x.dims)}, not {list(g.dims)}")
    layout, plan = _planned(operation, x.dims)
    first = Computation(f"of_greatest.{x.type}")
    kind = ArrayShape(x.type, ())
    left, left_with, right, right_with = [Expression(parameter(first, number, kind)) for number in range(4)]
    keeps = left.compare("GE", right)
    results = [keeps.where(left, right).instruction, keeps.where(left_with, right_with).instruction]
    first.root = build(first, "tuple", results)
    operation.module.add_computation(first)
    starts = [x.literal(bounds(x.type)[0]), g.literal(0)]
    operands = [one.instruction for one in (x, g, *starts)]
    window = _window(layout, plan)
    pair = build(operation.computation, "reduce-window", operands, window=window, to_apply=first)
    return Expression(element(pair, 1))


_SIZES = "ksize: list(int); strides: list(int); padding: string"
_GIVEN = "ksize: int32, strides: int32"
_FORMAT = "data_format: string = 'NHWC'"
_SPACE = "data_format: string = 'NDHWC'"
_EXPLICIT = "explicit_paddings: list(int) = []"
_TRIPLE = "orig_input: T, orig_output: T, grad: T"
_NARROW = "{float32 bfloat16 float16}"
_MEANT = ("ksize", "strides")
_GRADIENT = "The gradient of MaxPool"
RECORDS = table(
    record(
        "MaxPool",
        f"input: T -> output: T; T: {{floats ints uint8 uint16}} = float32; {_SIZES}; {_EXPLICIT}; {_FORMAT}",
        _greatest,
        "The greatest of each window.",
    ),
    record(
        "MaxPoolGrad",
        f"{_TRIPLE} -> output: T; {_SIZES}; {_EXPLICIT}; {_FORMAT}; T: {{reals}} = float32",
        _greatest_back,
        f"{_GRADIENT}.",
    ),
    record(
        "MaxPoolGradGrad",
        f"{_TRIPLE} -> output: T; {_SIZES}; {_FORMAT}; T: {{reals}}",
        _greatest_of_gradient,
        f"{_GRADIENT}Grad.",
    ),
    record(
        "MaxPoolV2",
        f"input: T, {_GIVEN} -> output: T; T: {{floats ints uint8 uint16}} = float32; padding: string; {_FORMAT}",
        _greatest,
        "The greatest of each window.",
        constants=_MEANT,
    ),
    record(
        "MaxPoolGradV2",
        f"{_TRIPLE}, {_GIVEN} -> output: T; padding: string; {_FORMAT}; T: {{reals}} = float32",
        _greatest_back,
        f"{_GRADIENT}V2.",
        constants=_MEANT,
    ),
    record(
        "MaxPoolGradGradV2",
        f"{_TRIPLE}, {_GIVEN} -> output: T; padding: string; {_FORMAT}; T: {{reals}}",
        _greatest_of_gradient,
        f"{_GRADIENT}GradV2.",
        constants=_MEANT,
    ),
    record(
        "MaxPool3D",
        f"input: T -> output: T; {_SIZES}; {_SPACE}; T: {_NARROW}",
        _greatest,
        "The greatest of each window.",
    ),
    record(
        "MaxPool3DGrad",
        f"orig_input: TInput, orig_output: TInput, grad: T -> output: T; {_SIZES}; {_SPACE}; T: {_NARROW} = float32; "
        f"TInput: {_NARROW} = float32",
        _greatest_back,
        f"{_GRADIENT}3D.",
    ),
    record(
        "MaxPool3DGradGrad",
        f"{_TRIPLE} -> output: T; {_SIZES}; {_SPACE}; T: {{reals}}",
        _greatest_of_gradient,
        f"{_GRADIENT}3DGrad.",
    ),
    record("AvgPool", f"value: T -> output: T; {_SIZES}; {_FORMAT}; T: {{floats}}", _mean, "The mean of each window."),
    record("AvgPool3D", f"input: T -> output: T; {_SIZES}; {_SPACE}; T: {{floats}}", _mean, "The mean of each window."),
    *(
        record(
            f"AvgPool{suffix}Grad",
            f"orig_input_shape: int32, grad: T -> output: T; {_SIZES}; {layout}; T: {{floats}}",
            _mean_back,
            f"The gradient of AvgPool{suffix}.",
            constants=("orig_input_shape",),
        )
        for suffix, layout in (("", _FORMAT), ("3D", _SPACE))
    ),
)
