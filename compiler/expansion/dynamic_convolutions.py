"""Convolutions over arrays of sizes known at run time, which TensorFlow's bridge writes as custom calls.

Zeros take the place of what lies beyond a size, so that one convolution over the bounds is right wherever it counts.
Its padding may hang on the size (`PADDING_SAME`: the input is covered, as evenly at both ends as can be); then the
input is padded by more than enough and the window's part of it is cut out.  The dimension numbers and the window of a
gradient are those of the convolution that computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from compiler.expansion.expression import Expression, number
from compiler.expansion.gpu_convolutions import groups_of, numbers_of, window_of
from compiler.ir.attributes import PaddingDimension, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32
from compiler.ops.build import build

Sizes = Mapping[int, Expression]
"""The size of each dimension that is known at run time only."""

_SAME, _VALID = "PADDING_SAME", "PADDING_VALID"


def _filled(array: Instruction) -> tuple[Expression, Sizes]:
    """An array of its bounds with zeros beyond its sizes, and the sizes."""
    computation, shape = array.computation, array.array
    flags = list(shape.dynamic or (False,) * shape.rank)
    sizes = {
        d: Expression(build(computation, "get-dimension-size", [array], dimensions=(d,)))
        for d, f in enumerate(flags)
        if f
    }
    for d in sizes:
        flags[d] = False
        bound = number(computation, shape.dims[d], S32).instruction
        kept = ArrayShape(shape.element_type, shape.dims, tuple(flags) if any(flags) else ())
        array = build(computation, "set-dimension-size", [array, bound], shape=kept, dimensions=(d,))
    return Expression(array), sizes


def _output_count(size: Expression, covered: int, stride: int, padding: str) -> tuple[Expression, Expression]:
    """How many places a window has along a size, and how much of it lies before the array at the first."""
    if padding == _VALID:
        return (size + (stride - covered)).apply("maximum", 0) / stride, size.literal(0)
    count = (size + (stride - 1)) / stride
    missing = ((count - 1) * stride + covered - size).apply("maximum", 0)
    return count, missing / 2


def _covered(window: WindowDimension) -> int:
    return (window.size - 1) * window.rhs_dilate + 1


def _padding(call: Instruction) -> str:
    """The kind of padding, which has to be one that says how much of it there is at any size."""
    given = str(call.attributes.get("padding_type", "PADDING_INVALID"))
    if given not in (_SAME, _VALID):
        raise call.unsupported(f"padding_type={given} does not say how much is padded at a size known at run time only")
    return given


def _cut_out(
    value: Expression, windows: Sequence[WindowDimension], before: Mapping[int, Expression], spatial: Sequence[int]
) -> tuple[Expression, tuple[WindowDimension, ...]]:
    """The input with the padding of some places in front, and the window without it."""
    computation, windows = value.instruction.computation, list(windows)
    starts = [number(computation, 0, S32)] * len(value.dims)
    amounts, dims = [PaddingDimension(0, 0)] * len(value.dims), list(value.dims)
    for spatial_dim, amount in before.items():
        window, d = windows[spatial_dim], spatial[spatial_dim]
        room = _covered(window)
        amounts[d] = PaddingDimension(room, window.pad_low + window.pad_high, window.lhs_dilate - 1)
        starts[d] = amount.literal(room) - amount
        dims[d] = window.pad_low + (dims[d] - 1) * window.lhs_dilate + 1 + window.pad_high
        windows[spatial_dim] = replace(window, pad_low=0, pad_high=0, lhs_dilate=1)
    zero = value.literal(0).instruction
    padded = build(computation, "pad", [value.instruction, zero], padding=tuple(amounts))
    operands = [padded, *(start.instruction for start in starts)]
    return Expression(build(computation, "dynamic-slice", operands, dynamic_slice_sizes=tuple(dims))), tuple(windows)


def _convolved(
    call: Instruction,
    lhs: Expression,
    rhs: Expression,
    before: Mapping[int, Expression],
    sizes: Mapping[int, Expression],
) -> Instruction:
    """The convolution over the bounds, cut to the sizes of the result."""
    numbers, window, result = numbers_of(call, call.operands[-2:]), window_of(call, numbers_of(call, ())), call.array
    if before and _padding(call) == _SAME:
        lhs, window = _cut_out(lhs, window, before, numbers.input_spatial)
    value = build(
        call.computation,
        "convolution",
        [lhs.instruction, rhs.instruction],
        shape=None,
        window=window,
        dim_labels=numbers,
        feature_group_count=groups_of(call),
        batch_group_count=call.attributes.get("batch_group_count", 1),
    )
    if value.array.dims != result.dims:
        raise call.unsupported(f"its window and dim_labels make {list(value.array.dims)}, not {result}")
    value = Expression(value).to(result.element_type).instruction
    flags = [False] * result.rank
    for d, is_dynamic in enumerate(result.dynamic or ()):
        if is_dynamic:
            if d not in sizes:
                raise call.unsupported(f"nothing says the size of dimension {d} of its result")
            flags[d] = True
            kept = ArrayShape(result.element_type, result.dims, tuple(flags))
            operands = [value, sizes[d].instruction]
            value = build(call.computation, "set-dimension-size", operands, shape=kept, dimensions=(d,))
    return value


def _require_kernel(call: Instruction, sizes: Sizes, spatial: Sequence[int]) -> None:
    if any(d in sizes for d in spatial):
        raise call.unsupported("the size of its window is known at run time only")


def forward(call: Instruction) -> Instruction:
    """A convolution of an input and a filter."""
    numbers = numbers_of(call, call.operands)
    (lhs, given), (rhs, known) = _filled(call.operands[0]), _filled(call.operands[1])
    _require_kernel(call, known, numbers.kernel_spatial)
    sizes, before = {}, {}
    for spatial_dim, window in enumerate(window_of(call, numbers)):
        size = given.get(numbers.input_spatial[spatial_dim])
        if size is not None:
            count, before[spatial_dim] = _output_count(size, _covered(window), window.stride, _padding(call))
            sizes[numbers.output_spatial[spatial_dim]] = count
    if numbers.input_batch in given:
        sizes[numbers.output_batch] = given[numbers.input_batch]
    if numbers.kernel_output_feature in known:
        sizes[numbers.output_feature] = known[numbers.kernel_output_feature]
    return _convolved(call, lhs, rhs, before, sizes)


def input_gradient(call: Instruction) -> Instruction:
    """The gradient of the input: its sizes, the gradient of the output, and the filter turned around.

    Raises:
        UnsupportedError: the call has other operands.
    """
    if len(call.operands) != 3:
        raise call.unsupported("it needs the sizes of the input, a gradient and a filter")
    numbers, wanted = numbers_of(call, call.operands[1:]), Expression(call.operands[0]).to(S32)
    (lhs, given), (rhs, known) = _filled(call.operands[1]), _filled(call.operands[2])
    _require_kernel(call, known, numbers.kernel_spatial)
    sizes = {d: wanted.slice((d, d + 1)).reshape() for d in range(call.array.rank)}
    before = {}
    for spatial_dim, window in enumerate(window_of(call, numbers)):
        if numbers.input_spatial[spatial_dim] in given:
            covered, size = _covered(window), sizes[numbers.output_spatial[spatial_dim]]
            _, ahead = _output_count(size, covered, window.lhs_dilate, _padding(call))
            before[spatial_dim] = ahead.literal(covered - 1) - ahead
    return _convolved(call, lhs, rhs, before, sizes)


def kernel_gradient(call: Instruction) -> Instruction:
    """The gradient of the filter: the input and the gradient of the output, which is the window.

    Raises:
        UnsupportedError: a size is known at run time only.
    """
    numbers = numbers_of(call, call.operands)
    (lhs, given), (rhs, known) = _filled(call.operands[0]), _filled(call.operands[1])
    before = {}
    for spatial_dim, window in enumerate(window_of(call, numbers)):
        size = given.get(numbers.input_spatial[spatial_dim])
        if (size is None) != (numbers.kernel_spatial[spatial_dim] not in known):
            raise call.unsupported("of the input and the gradient one has a size known at run time only")
        if size is not None:
            covered = (call.array.dims[numbers.output_spatial[spatial_dim]] - 1) * window.stride + 1
            _, before[spatial_dim] = _output_count(size, covered, window.rhs_dilate, _padding(call))
    return _convolved(call, lhs, rhs, before, {})


DYNAMIC_CONVOLUTIONS: dict[str, Callable[[Instruction], Instruction]] = {
    "DynamicConvolutionForward": forward,
    "DynamicConvolutionInputGrad": input_gradient,
    "DynamicConvolutionKernelGrad": kernel_gradient,
}
"""Convolutions over sizes known at run time, by target."""
