"""Convolutions over sizes known at run time, and their gradients, as TensorFlow's bridge writes them.

The size is an input, and that of a gradient of the output follows from it, so that all that belongs together fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.generate.choices import pick
from compiler.generate.scope import Scope
from compiler.generate.sized import at_its_bounds
from compiler.ir.attributes import ConvolutionDimensions, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, ElementType
from compiler.ops.build import build

_SAME, _VALID = "PADDING_SAME", "PADDING_VALID"
_LONGEST, _MASK = 12, 15
"""The longest input, and bits of its size."""
_STRIDES, _DILATIONS = (1, 1, 2, 3), (1, 1, 2)
"""From one window to the next, and from one element of a window to the next."""
_IMAGE, _KERNEL = (0, 2, (1,)), (2, 1, (0,))
"""Batch, features and space of an image, and output features, input features and space of a filter, in that order."""
_TURNED, _BATCH_LAST, _TAPS = (1, 2, (0,)), (2, 0, (1,)), (1, 2, (0,))
"""The same of a filter whose features change sides, of arrays whose batch is summed over, and of a result."""


@dataclass(frozen=True, slots=True)
class _Window:
    """A window over one dimension, which has a bound."""

    bound: int
    size: int
    stride: int
    dilation: int
    padding: str

    @property
    def covered(self) -> int:
        """What it covers, with what it leaves out."""
        return (self.size - 1) * self.dilation + 1

    @property
    def more(self) -> int:
        """What is added to the size, before it is divided by the stride, to count windows."""
        return self.stride - (1 if self.padding == _SAME else self.covered)

    @property
    def count(self) -> int:
        """How many windows there are along the bound."""
        return max(0, self.bound + self.more) // self.stride

    @property
    def before(self) -> int:
        """How much of the first lies before the bound."""
        missing = max(0, (self.count - 1) * self.stride + self.covered - self.bound)
        return missing // 2 if self.padding == _SAME else 0

    @property
    def reach(self) -> int:
        """From the first element of the first window to the last one of all first elements."""
        return (self.count - 1) * self.stride + 1


def _scalar(scope: Scope, opcode: str, left: Instruction, right: int) -> Instruction:
    return scope.build(opcode, [left, scope.constant(right, S32)])


def _cut(scope: Scope, array: Instruction, size: Instruction) -> Instruction:
    """An array whose second dimension has a size."""
    # Not offered: what lies beyond the size is open.
    shape = ArrayShape(array.array.element_type, array.array.dims, (False, True, False))
    return build(scope.computation, "set-dimension-size", [array, size], shape=shape, dimensions=(1,))


def _labels(image: Sequence[Any], kernel: Sequence[Any], output: Sequence[Any]) -> ConvolutionDimensions:
    (batch, feature, space), (made, given, window), (first, last, along) = image, kernel, output
    return ConvolutionDimensions(batch, feature, space, given, made, window, first, last, along)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What belongs together: the arrays at their bounds, the size of the input and that of the output."""

    scope: Scope
    window: _Window
    image: Instruction
    kernel: Instruction
    output: Instruction
    length: Instruction
    windows: Instruction

    def forward(self) -> Instruction:
        """The convolution."""
        one, bound = self.window, self.window.bound
        last = (one.count - 1) * one.stride + one.covered - bound - one.before
        piece = WindowDimension(one.size, one.stride, one.before, last, 1, one.dilation)
        operands = [_cut(self.scope, self.image, self.length), self.kernel]
        return self._call("Forward", operands, self.output, piece, _labels(_IMAGE, _KERNEL, _IMAGE))

    def input_gradient(self) -> Instruction:
        """The gradient of the input, of one of the output and the filter as it is."""
        one = self.window
        low = one.covered - 1 - one.before
        high = one.bound + one.covered - 1 - low - one.reach
        batch, _, features = self.image.array.dims
        sizes = [self.scope.constant(batch, S32), self.length, self.scope.constant(features, S32)]
        lines = [self.scope.build("reshape", [size], shape=ArrayShape(S32, (1,))) for size in sizes]
        wanted = self.scope.build("concatenate", lines, dimensions=(0,))
        operands = [wanted, _cut(self.scope, self.output, self.windows), self.kernel]
        piece = WindowDimension(one.size, 1, low, high, one.stride, one.dilation)
        return self._call("InputGrad", operands, self.image, piece, _labels(_IMAGE, _TURNED, _IMAGE))

    def kernel_gradient(self) -> Instruction:
        """The gradient of the filter, whose size is known."""
        one = self.window
        high = one.covered - 1 + one.reach - one.before - one.bound
        piece = WindowDimension(one.count, one.dilation, one.before, high, 1, one.stride)
        operands = [_cut(self.scope, self.image, self.length), _cut(self.scope, self.output, self.windows)]
        return self._call("KernelGrad", operands, self.kernel, piece, _labels(_BATCH_LAST, _BATCH_LAST, _TAPS))

    def _call(
        self,
        kind: str,
        operands: Sequence[Instruction],
        like: Instruction,
        piece: WindowDimension,
        labels: ConvolutionDimensions,
    ) -> Instruction:
        """A call whose result has the bounds of an array, at these."""
        flags = (False, True, False) if like is not self.kernel else ()
        made = self.scope.build(
            "custom-call",
            operands,
            shape=ArrayShape(like.array.element_type, like.array.dims, flags),
            window=(piece,),
            dim_labels=labels,
            custom_call_target=f"DynamicConvolution{kind}",
            padding_type=self.window.padding,
        )
        return at_its_bounds(self.scope, made) if flags else made


def convolved(scope: Scope, element_type: ElementType) -> Instruction:
    """A convolution, or one of its gradients.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of the arrays.
    """
    choices = scope.choices
    size, dilation = choices.integer(1, 4), pick(choices, _DILATIONS)
    bound = choices.integer((size - 1) * dilation + 1, _LONGEST)
    window = _Window(bound, size, pick(choices, _STRIDES), dilation, pick(choices, (_SAME, _SAME, _VALID)))
    batch, inputs, outputs = (choices.integer(1, 3) for _ in range(3))
    given = _scalar(scope, "and", scope.parameter(ArrayShape(S32, ())), _MASK)
    length = _scalar(scope, "minimum", given, bound)
    reached = _scalar(scope, "maximum", _scalar(scope, "add", length, window.more), 0)
    windows = _scalar(scope, "divide", reached, window.stride)
    image, kernel, output = (
        scope.parameter(ArrayShape(element_type, dims))
        for dims in ((batch, bound, inputs), (size, inputs, outputs), (batch, window.count, outputs))
    )
    drawn = _Drawn(scope, window, image, kernel, output, length, windows)
    return pick(choices, (_Drawn.forward, _Drawn.input_gradient, _Drawn.kernel_gradient))(drawn)
