"""Replace batch normalisation by the sums and elementwise ops that it is made of.

Floats narrower than f32 are computed with in f32 and rounded once; f32 and f64 in their own precision, which is why
results may differ from the reference's, computed in f64, by rounding.
"""

from __future__ import annotations

import math

import numpy as np

from compiler.expansion.expression import Expression
from compiler.expansion.replacement import expand
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.types import F32, F64
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, _EXPANSIONS)


class _Norm:
    """The operands of one normalisation in the type they are computed in."""

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        types = [operand.array.element_type for operand in instruction.operands]
        wide = F64 if F64 in types else F32
        self.operands = [Expression(operand).to(wide) for operand in instruction.operands]
        self.array = self.operands[0]
        self.feature = instruction.attributes["feature_index"]
        self.axes = tuple(d for d in range(len(self.array.dims)) if d != self.feature)
        self.count = math.prod(self.array.dims[d] for d in self.axes)
        self.epsilon = float(np.float32(instruction.attributes["epsilon"]))

    def over_array(self, vector: Expression) -> Expression:
        """One value per feature, over the array."""
        return vector.spread(self.array.dims, (self.feature,))

    def mean(self, array: Expression) -> Expression:
        """The mean over all but the features."""
        return array.sum(*self.axes) / self.count

    def normal(self, centred: Expression, inverse: Expression) -> Expression:
        """What is left of the mean, times the scale, plus the offset."""
        scale, offset = self.operands[1:3]
        return centred * self.over_array(inverse * scale) + self.over_array(offset)

    def tuple(self, array: Expression, *vectors: Expression) -> Instruction:
        """The results, rounded to the operands' types."""
        first, second = (operand.array.element_type for operand in self.instruction.operands[:2])
        values = [array.to(first), *(vector.to(second) for vector in vectors)]
        return build(self.instruction.computation, "tuple", [value.instruction for value in values])


def _training(instruction: Instruction) -> Instruction:
    norm = _Norm(instruction)
    mean = norm.mean(norm.array)
    centred = norm.array - norm.over_array(mean)
    variance = norm.mean(centred * centred)
    inverse = (variance + norm.epsilon).apply("rsqrt")
    return norm.tuple(norm.normal(centred, inverse), mean, variance)


def _inference(instruction: Instruction) -> Instruction:
    norm = _Norm(instruction)
    mean, variance = norm.operands[3:]
    inverse = (variance + norm.epsilon).apply("rsqrt")
    normal = norm.normal(norm.array - norm.over_array(mean), inverse)
    return normal.to(instruction.array.element_type).instruction


def _grad(instruction: Instruction) -> Instruction:
    norm = _Norm(instruction)
    array, scale, mean, variance, gradient = norm.operands
    shifted = variance + norm.epsilon
    inverse = shifted.apply("rsqrt")
    centred = array - norm.over_array(mean)
    along, total = (gradient * centred).sum(*norm.axes), gradient.sum(*norm.axes)
    slope = along / norm.count / shifted
    rest = gradient - norm.over_array(total / norm.count) - centred * norm.over_array(slope)
    return norm.tuple(norm.over_array(scale * inverse) * rest, along * inverse, total)


_EXPANSIONS = {
    "batch-norm-training": _training,
    "batch-norm-inference": _inference,
    "batch-norm-grad": _grad,
}
