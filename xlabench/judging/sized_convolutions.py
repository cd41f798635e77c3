"""What TensorFlow's calls of convolutions over sizes known at run time mean, by the sizes that there are.

With `PADDING_SAME` there is an output for each stride that begins within the input, and what windows reach beyond it is
padded at both ends alike, the odd one behind; with `PADDING_VALID` every window lies within the input.  A gradient is
the convolution that its window says, padded by how the one that it belongs to was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

Instruction = Any  # the compiler's; the harness sees its data by attribute only

FORWARD, INPUT, KERNEL = (f"DynamicConvolution{what}" for what in ("Forward", "InputGrad", "KernelGrad"))
"""The calls by name."""
TARGETS = (FORWARD, INPUT, KERNEL)
"""All of them."""
_SAME = "PADDING_SAME"


class Placed(NamedTuple):
    """How many windows there are along a dimension, and how many elements of the first lie before the input."""

    windows: int
    before: int


def placed(length: int, covered: int, stride: int, *, is_same: bool) -> Placed:
    """Where windows stand.

    Args:
        length: of the input.
        covered: by a window, with what it leaves out.
        stride: from one window to the next.
        is_same: whether an input is padded until each of its strides has a window.
    """
    if not is_same:
        return Placed(len(range(0, length - covered + 1, stride)), 0)
    count = len(range(0, length, stride))
    missing = max(0, (count - 1) * stride + covered - length)
    return Placed(count, missing // 2)


@dataclass(frozen=True, slots=True)
class SizedCall:
    """A call of one of these, with the shapes of what it was given, and the sizes of the input that a gradient is of.

    Attributes:
        instruction: the call.
        image: the shape of what the window goes over.
        kernel: the shape of the window.
        wanted: the sizes that the result is to have, of the gradient of an input.
    """

    instruction: Instruction
    image: Sequence[int]
    kernel: Sequence[int]
    wanted: Sequence[int] = ()

    def window(self) -> list[Any]:
        """The window by the sizes that there are."""
        return [piece for piece, _ in self._pieces()]

    def extents(self) -> list[int | None]:
        """How long the result is in each spatial dimension, None where its shape says so."""
        return [extent for _, extent in self._pieces()]

    def _pieces(self) -> Iterator[tuple[Any, int | None]]:
        attributes, target = self.instruction.attributes, self.instruction.attributes["custom_call_target"]
        labels, is_same = attributes["dim_labels"], attributes.get("padding_type") == _SAME
        given, result = self.instruction.operands[-2].shape, self.instruction.shape
        for number, piece in enumerate(attributes["window"]):
            image, output = labels.input_spatial[number], labels.output_spatial[number]
            actual = replace(piece, size=self.kernel[labels.kernel_spatial[number]])
            if not (given.dynamic and given.dynamic[image]):
                yield actual, None
                continue
            covered = (piece.size - 1) * piece.rhs_dilate + 1
            if target == FORWARD:
                count, before = placed(self.image[image], covered, piece.stride, is_same=is_same)
                yield (replace(actual, pad_low=before) if is_same else actual), count
            elif target == INPUT:
                _, before = placed(self.wanted[output], covered, piece.lhs_dilate, is_same=is_same)
                yield (replace(actual, pad_low=covered - 1 - before) if is_same else actual), self.wanted[output]
            else:
                reach = (result.dims[output] - 1) * piece.stride + 1
                _, before = placed(self.image[image], reach, piece.rhs_dilate, is_same=is_same)
                yield (replace(actual, pad_low=before) if is_same else actual), None


__all__ = ["FORWARD", "INPUT", "KERNEL", "TARGETS", "Placed", "SizedCall", "placed"]
