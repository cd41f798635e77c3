"""Matrix products: the dimensions of a dot by role, and convolutions that amount to a dot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir.attributes import ConvolutionDimensions, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.types import C64, C128, F32, F64, S32, ElementType


@dataclass(frozen=True, slots=True)
class Factor:
    """One operand: the instruction and its dimensions by group, in the order in which they are walked."""

    instruction: Instruction
    batch: tuple[int, ...]
    free: tuple[int, ...]
    depth: tuple[int, ...]

    def sizes(self, group: Sequence[int]) -> list[int]:
        """The sizes of a group's dimensions."""
        return [self.instruction.array.dims[d] for d in group]

    def count(self, group: Sequence[int]) -> int:
        """The number of elements of a group."""
        return math.prod(self.sizes(group))


def factor(dot: Instruction, number: int) -> Factor:
    """The left (0) or right (1) operand of a dot."""
    side = ("lhs", "rhs")[number]
    batch = tuple(dot.attributes.get(f"{side}_batch_dims", ()))
    depth = tuple(dot.attributes.get(f"{side}_contracting_dims", ()))
    operand = dot.operands[number]
    free = tuple(d for d in range(operand.array.rank) if d not in batch and d not in depth)
    return Factor(operand, batch, free, depth)


def accumulation_type(dot: Instruction) -> ElementType:
    """The type that products of a dot or convolution are summed in: 32 bits or more, so only results are rounded."""
    result = dot.array.element_type
    types = [result, *(operand.array.element_type for operand in dot.operands[:2])]
    if any(type_.is_complex for type_ in types):
        return C128 if C128 in types else C64
    if any(type_.is_float for type_ in types):
        return F64 if F64 in types else F32
    return S32 if result.bits < 32 else result


def is_sum_of_products(convolution: Instruction) -> bool:
    """Whether a convolution has elements, each of which sums some products of real numbers, along some dimension."""
    labels: ConvolutionDimensions = convolution.attributes["dim_labels"]
    sizes = [instruction.array.size for instruction in (convolution, *convolution.operands[:2])]
    walked = bool(labels.input_spatial) or pointwise(convolution) is not None
    return 0 not in sizes and walked and not accumulation_type(convolution).is_complex


def pointwise(convolution: Instruction) -> tuple[Factor, Factor] | None:
    """The factors of a convolution with a window of one element, where its result lies as that of their dot."""
    labels: ConvolutionDimensions = convolution.attributes["dim_labels"]
    window = convolution.attributes.get("window", ())
    groups = [convolution.attributes.get(f"{kind}_group_count", 1) for kind in ("feature", "batch")]
    if groups != [1, 1] or any(dimension != WindowDimension(reversal=dimension.reversal) for dimension in window):
        return None
    lhs, rhs = convolution.operands[:2]
    spatial = dict(zip(labels.input_spatial, labels.output_spatial, strict=True))
    to = {**spatial, labels.input_batch: labels.output_batch, labels.input_feature: labels.output_feature}
    outputs = (*labels.kernel_spatial, labels.kernel_output_feature)
    weights = Factor(rhs, (), outputs, (labels.kernel_input_feature,))
    free = tuple(d for d in range(lhs.array.rank) if d != labels.input_feature)
    if [to[d] for d in free] == list(range(len(free))):
        return Factor(lhs, (), free, (labels.input_feature,)), weights
    batch, *rows = free
    straight = [to[d] for d in free] == [0, *range(2, len(free) + 1)]
    if straight and batch == labels.input_batch:
        return weights, Factor(lhs, (batch,), tuple(rows), (labels.input_feature,))
    return None
