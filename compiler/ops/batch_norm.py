"""Batch normalisation: training, inference, gradient; computed in f64 and rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow, widen
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import dimension, dims_agree, operand, operands, pick_dynamic, require
from compiler.ir.traits import Trait


def _check(instruction: Instruction, vectors: Sequence[int]) -> tuple[ArrayShape, ArrayShape]:
    """The shapes of the array and of one value per feature, which the operands numbered `vectors` must have."""
    shape = operand(instruction, 0)
    require(shape.element_type.is_float, f"{instruction.opcode} takes floats, not {shape}")
    feature = dimension(instruction.attributes["feature_index"], shape.rank, "feature_index")
    for index in vectors:
        vector = operand(instruction, index)
        fits = vector.rank == 1 and vector.dims[0] == shape.dims[feature]
        require(fits, f"operand {index} must have one value for each feature of {shape}, not be {vector}")
    element = operand(instruction, vectors[0]).element_type
    return shape, ArrayShape(element, (shape.dims[feature],), pick_dynamic(shape, (feature,)))


def _infer_training(instruction: Instruction) -> Shape:
    shape, vector = _check(instruction, (1, 2))
    return TupleShape((ArrayShape(shape.element_type, shape.dims, shape.dynamic), vector, vector))


def _infer_inference(instruction: Instruction) -> Shape:
    shape, _ = _check(instruction, (1, 2, 3, 4))
    return ArrayShape(shape.element_type, shape.dims, shape.dynamic)


def _infer_grad(instruction: Instruction) -> Shape:
    shape, vector = _check(instruction, (1, 2, 3))
    shapes = operands(instruction)
    require(dims_agree(shape, shapes[4]), f"the gradient {shapes[4]} must have the dimensions of {shape}")
    return TupleShape((ArrayShape(shape.element_type, shape.dims, shape.dynamic), vector, vector))


def _wide(instruction: Instruction, values: Sequence[Array]) -> list[Array]:
    return [widen(v, o.array.element_type, precise=True) for v, o in zip(values, instruction.operands, strict=True)]


def _axes(instruction: Instruction, rank: int) -> tuple[tuple[int, ...], list[int]]:
    """The axes to average over, and the shape that spreads a vector of features over the array."""
    feature = instruction.attributes["feature_index"]
    return tuple(d for d in range(rank) if d != feature), [-1 if d == feature else 1 for d in range(rank)]


def _mean(array: Array, axes: tuple[int, ...]) -> Array:
    """The mean along axes; NaN where there is nothing to average, without NumPy's warning."""
    count = math.prod(array.shape[axis] for axis in axes)
    return np.asarray(array.sum(axis=axes) / np.float64(count))


def _epsilon(instruction: Instruction) -> float:
    """The attribute as HLO holds it, a single-precision number."""
    return float(np.float32(instruction.attributes["epsilon"]))


def _training(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Value:
    array, scale, offset = _wide(instruction, values)
    axes, spread = _axes(instruction, array.ndim)
    mean = _mean(array, axes)
    variance = _mean((array - mean.reshape(spread)) ** 2, axes)
    inverse = 1 / np.sqrt(variance + _epsilon(instruction))
    normal = (array - mean.reshape(spread)) * (inverse * scale).reshape(spread) + offset.reshape(spread)
    types = [o.array.element_type for o in instruction.operands]
    return (narrow(normal, types[0]), narrow(mean, types[1]), narrow(variance, types[1]))


def _inference(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Value:
    array, scale, offset, mean, variance = _wide(instruction, values)
    spread = _axes(instruction, array.ndim)[1]
    inverse = 1 / np.sqrt(variance + _epsilon(instruction))
    normal = (array - mean.reshape(spread)) * (inverse * scale).reshape(spread) + offset.reshape(spread)
    return narrow(normal, instruction.operands[0].array.element_type)


def _grad(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Value:
    array, scale, mean, variance, gradient = _wide(instruction, values)
    axes, spread = _axes(instruction, array.ndim)
    shifted = variance + _epsilon(instruction)
    inverse = 1 / np.sqrt(shifted)
    centred = array - mean.reshape(spread)
    product = _mean(gradient * centred, axes) / shifted
    rest = gradient - _mean(gradient, axes).reshape(spread) - centred * product.reshape(spread)
    grad_scale = (gradient * centred).sum(axis=axes) * inverse
    types = [o.array.element_type for o in instruction.operands]
    return (
        narrow((scale * inverse).reshape(spread) * rest, types[0]),
        narrow(grad_scale, types[1]),
        narrow(gradient.sum(axis=axes), types[1]),
    )


_NUMBERS = ("epsilon", "feature_index")

OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "batch-norm-training",
            (3, 3),
            _infer_training,
            _training,
            "Normalise by the batch.",
            required=_NUMBERS,
            traits=Trait.ACCUMULATES | Trait.AMPLIFIES,
        ),
        Op(
            "batch-norm-inference",
            (5, 5),
            _infer_inference,
            _inference,
            "Normalise by given moments.",
            required=_NUMBERS,
            traits=Trait.ACCUMULATES,
        ),
        Op(
            "batch-norm-grad",
            (5, 5),
            _infer_grad,
            _grad,
            "The gradients of batch-norm-training.",
            required=_NUMBERS,
            traits=Trait.ACCUMULATES | Trait.AMPLIFIES,
        ),
    )
}
