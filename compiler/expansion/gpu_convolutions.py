"""cuDNN's convolutions as ordinary ones.

The window and the dimension numbers of a call are those of the forward convolution, which takes an input and a filter
to an output; the gradients are called with them too.  The gradient of the input is a convolution of the output's with
the filter turned around, strides becoming holes in it; that of the filter is one of the input with the output's, over
the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from compiler.expansion.expression import Expression
from compiler.expansion.gpu_products import config_of, number_in, rectified, result_shapes, rounded, wide, yielded
from compiler.ir.attributes import ConvolutionDimensions, Window, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.types import S32, ElementType
from compiler.ops.build import build

_CONFIG = "cudnn_conv_backend_config"
_ACTIVATIONS = ("kNone", "kSigmoid", "kRelu", "kRelu6", "kReluX", "kTanh", "kBandPass", "kElu", "kLeakyRelu")


def numbers_of(call: Instruction, factors: Sequence[Instruction]) -> ConvolutionDimensions:
    """The dimension numbers of a call that convolves two arrays.

    Raises:
        UnsupportedError: the call has none, or other operands, or features are split among two dimensions.
    """
    numbers: ConvolutionDimensions | None = call.attributes.get("dim_labels")
    if numbers is None or len(call.operands) < 2:
        raise call.unsupported("it needs dim_labels and two arrays")
    rank = len(numbers.input_spatial) + 2
    if any(operand.array.rank != rank for operand in factors) or result_shapes(call)[0].rank != rank:
        raise call.unsupported("arrays whose features are split among two dimensions are not run")
    return numbers


def _numbers(call: Instruction) -> ConvolutionDimensions:
    return numbers_of(call, call.operands[:2])


def window_of(call: Instruction, numbers: ConvolutionDimensions) -> Window:
    """The window of a call; where none is written, one of single elements."""
    window: Window = call.attributes.get("window", ())
    return window or (WindowDimension(),) * len(numbers.input_spatial)


def groups_of(call: Instruction) -> int:
    """How many groups the features are in."""
    count: int = call.attributes.get("feature_group_count", 1)
    return count


def _convolved(
    call: Instruction,
    lhs: Expression,
    rhs: Expression,
    kind: ElementType,
    **attributes: Any,
) -> Expression:
    """A convolution in a type, which the result's has room in; of integers it is summed in integers."""
    summed = S32 if lhs.type.is_integer else kind
    operands = [lhs.to(summed).instruction, rhs.to(summed).instruction]
    return Expression(build(call.computation, "convolution", operands, **attributes)).to(kind)


def _scaled(call: Instruction, value: Expression) -> Expression:
    scale = number_in(call, config_of(call, _CONFIG), "conv_result_scale", 1)
    return value if scale == 1 else value * scale


def _finished(call: Instruction, value: Expression) -> Instruction:
    result = result_shapes(call)[0]
    if value.dims != result.dims:
        raise call.unsupported(f"its window and dim_labels make {list(value.dims)}, not {result}")
    return yielded(call, [rounded(value, result.element_type)])


def _product(call: Instruction) -> Expression:
    numbers = _numbers(call)
    lhs, rhs = map(Expression, call.operands[:2])
    return _convolved(
        call,
        lhs,
        rhs,
        wide(result_shapes(call)[0].element_type),
        window=window_of(call, numbers),
        dim_labels=numbers,
        feature_group_count=groups_of(call),
    )


def forward(call: Instruction) -> Instruction:
    """A convolution as cuDNN's forward call has it."""
    return _finished(call, _scaled(call, _product(call)))


def biased(call: Instruction) -> Instruction:
    """A convolution, to which one number for each feature is added and maybe another array, then an activation.

    Raises:
        UnsupportedError: the call has other operands.
    """
    config, value = config_of(call, _CONFIG), _scaled(call, _product(call))
    if len(call.operands) not in (3, 4):
        raise call.unsupported("it needs an input, a filter, one number for each feature, and maybe what is added")
    side_scale = number_in(call, config, "side_input_scale", 0)
    if len(call.operands) == 4 and side_scale:
        side = Expression(call.operands[3]).to(value.type)
        value = value + (side if side_scale == 1 else side * side_scale)
    bias = Expression(call.operands[2]).to(value.type)
    value = value + bias.spread(value.dims, (_numbers(call).output_feature,))
    return _finished(call, _activated(call, value))


def _activated(call: Instruction, value: Expression) -> Expression:
    config = config_of(call, _CONFIG)
    given = str(config.get("activation_mode", "kNone"))
    name = _ACTIVATIONS[int(given)] if given.isdecimal() and int(given) < len(_ACTIVATIONS) else given
    slope = number_in(call, config, "leakyrelu_alpha", 0)
    zero = value.literal(0).spread(value.dims, ())
    kinds: dict[str, Callable[[], Expression]] = {
        "kNone": lambda: value,
        "kSigmoid": lambda: value.apply("logistic"),
        "kRelu": lambda: rectified(value),
        "kRelu6": lambda: zero.apply("clamp", value, value.literal(6).spread(value.dims, ())),
        "kTanh": lambda: value.apply("tanh"),
        "kElu": lambda: value.compare("GT", 0).where(value, value.apply("exponential-minus-one")),
        "kLeakyRelu": lambda: value.compare("GT", 0).where(value, value * slope),
    }
    if name not in kinds:
        raise call.unsupported(f"activation_mode {given!r} is none of {', '.join(kinds)}")
    return kinds[name]()


def backward_input(call: Instruction) -> Instruction:
    """The gradient of the input, from the output's and the filter."""
    numbers, result = _numbers(call), result_shapes(call)[0]
    gradient, kernel = map(Expression, call.operands[:2])
    window = []
    for number, dimension in enumerate(_forward_window(call, numbers)):
        covered = (dimension.size - 1) * dimension.rhs_dilate + 1
        spread = (gradient.dims[numbers.output_spatial[number]] - 1) * dimension.stride + 1
        low = covered - 1 - dimension.pad_low
        high = result.dims[numbers.input_spatial[number]] + covered - 1 - low - spread
        window.append(
            replace(dimension, stride=1, lhs_dilate=dimension.stride, pad_low=low, pad_high=high, reversal=True)
        )
    turned = ConvolutionDimensions(
        numbers.output_batch,
        numbers.output_feature,
        numbers.output_spatial,
        numbers.kernel_output_feature,
        numbers.kernel_input_feature,
        numbers.kernel_spatial,
        numbers.input_batch,
        numbers.input_feature,
        numbers.input_spatial,
    )
    groups = groups_of(call)
    if groups > 1:
        kernel = _of_groups(kernel, numbers, groups)
    value = _convolved(
        call,
        gradient,
        kernel,
        wide(result.element_type),
        window=tuple(window),
        dim_labels=turned,
        feature_group_count=groups,
    )
    return _finished(call, _scaled(call, value))


def _of_groups(kernel: Expression, numbers: ConvolutionDimensions, groups: int) -> Expression:
    """A filter with the groups moved from its output features to its input features."""
    source, target = numbers.kernel_output_feature, numbers.kernel_input_feature
    dims = list(kernel.dims)
    split = kernel.reshape(*dims[:source], groups, dims[source] // groups, *dims[source + 1 :])
    # The groups now stand at `source`; they go to just before the input features.
    rest = [d for d in range(len(dims) + 1) if d != source]
    position = rest.index(target + (target > source))
    order = [*rest[:position], source, *rest[position:]]
    dims[source] //= groups
    dims[target] *= groups
    return split.transpose(*order).reshape(*dims)


def _forward_window(call: Instruction, numbers: ConvolutionDimensions) -> Window:
    """The window of a gradient's forward convolution, without what cuDNN's have not."""
    window = window_of(call, numbers)
    if any(dimension.reversal or dimension.lhs_dilate != 1 for dimension in window):
        raise call.unsupported("a gradient with a window that is turned around or has holes in its input")
    return window


def backward_filter(call: Instruction) -> Instruction:
    """The gradient of the filter, from the input and the output's."""
    numbers, result = _numbers(call), result_shapes(call)[0]
    given, gradient = map(Expression, call.operands[:2])
    window = []
    for number, dimension in enumerate(_forward_window(call, numbers)):
        size = gradient.dims[numbers.output_spatial[number]]
        covered = (size - 1) * dimension.stride + 1
        taken = (result.dims[numbers.kernel_spatial[number]] - 1) * dimension.rhs_dilate + covered
        high = taken - dimension.pad_low - given.dims[numbers.input_spatial[number]]
        window.append(WindowDimension(size, dimension.rhs_dilate, dimension.pad_low, high, 1, dimension.stride))
    turned = ConvolutionDimensions(
        numbers.input_feature,
        numbers.input_batch,
        numbers.input_spatial,
        numbers.output_batch,
        numbers.output_feature,
        numbers.output_spatial,
        numbers.kernel_input_feature,
        numbers.kernel_output_feature,
        numbers.kernel_spatial,
    )
    value = _convolved(
        call,
        given,
        gradient,
        wide(result.element_type),
        window=tuple(window),
        dim_labels=turned,
        batch_group_count=groups_of(call),
    )
    return _finished(call, _scaled(call, value))


CONVOLUTION_CALLS: dict[str, Callable[[Instruction], Instruction]] = {
    "__cudnn$convForward": forward,
    "__cudnn$convBiasActivationForward": biased,
    "__cudnn$convBackwardInput": backward_input,
    "__cudnn$convBackwardFilter": backward_filter,
}
"""Convolutions, by target."""
