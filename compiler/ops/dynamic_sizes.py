"""Sizes known at run time: read, set, and reshaped to.

An array whose dimension is written `<=n` has room for n elements there and a size beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import Evaluator, Op
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.shape_rules import agree, dimension, operand, require, stated, stated_array
from compiler.ir.traits import Trait
from compiler.ir.types import S32


def _infer_dynamic_reshape(instruction: Instruction) -> Shape:
    source, target = operand(instruction, 0), stated_array(instruction)
    require(
        source.element_type is target.element_type,
        f"dynamic-reshape keeps the element type: {source} cannot become {target}",
    )
    sizes = len(instruction.operands) - 1
    require(sizes == target.rank, f"dynamic-reshape to {target} takes {target.rank} sizes, not {sizes}")
    for index in range(1, sizes + 1):
        size = operand(instruction, index)
        require(size.element_type is S32 and not size.dims, f"operand {index} must be an s32 scalar, not {size}")
    return target


def _dynamic_reshape(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    value, *sizes = values
    dims = tuple(map(int, sizes))
    if min(dims, default=0) < 0 or math.prod(dims) != value.size:
        raise instruction.unsupported(f"{value.size} elements cannot become {list(dims)}", by="the interpreter")
    return _as_stated(instruction, value.reshape(dims))


def _as_stated(instruction: Instruction, value: Array) -> Array:
    """An array whose sizes are those of its shape, or below where they are known at run time only.

    Of other sizes nothing says what they mean, and what takes the array next relies on its shape.
    """
    shape = instruction.array
    flags = shape.dynamic or (False,) * shape.rank
    for size, bound, is_dynamic in zip(value.shape, shape.dims, flags, strict=True):
        if size > bound or (size < bound and not is_dynamic):
            raise instruction.unsupported(f"the sizes {list(value.shape)} of {shape}", by="the interpreter")
    return value


def _infer_get_dimension_size(instruction: Instruction) -> Shape:
    source = operand(instruction, 0)
    _one_dimension(instruction, source)
    return ArrayShape(S32, ())


def _get_dimension_size(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    return np.array(values[0].shape[instruction.attributes["dimensions"][0]], np.int32)


def _infer_set_dimension_size(instruction: Instruction) -> Shape:
    source, size = operand(instruction, 0), operand(instruction, 1)
    along = _one_dimension(instruction, source)
    require(size.element_type is S32 and not size.dims, f"the size must be an s32 scalar, not {size}")
    flags = list(source.dynamic or (False,) * source.rank)
    flags[along] = True
    inferred = ArrayShape(source.element_type, source.dims, tuple(flags))
    shape = instruction.shape
    # A dimension set to its full size is static again; the instruction says which it is.
    return (
        stated(instruction) if isinstance(shape, ArrayShape) and _states_agreeing(instruction, inferred) else inferred
    )


def _states_agreeing(instruction: Instruction, inferred: ArrayShape) -> bool:
    """Whether the instruction states a shape that the inferred one agrees with."""
    try:
        return agree(stated(instruction), inferred)
    except ShapeError:
        return False


def _set_dimension_size(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    value, size = values
    along = instruction.attributes["dimensions"][0]
    wanted, bound = int(size), instruction.array.dims[along]
    if wanted > value.shape[along]:
        # Growing back within the bound uncovers elements whose value the language leaves open; zeros are one choice.
        grown = np.zeros((*value.shape[:along], min(wanted, bound), *value.shape[along + 1 :]), value.dtype)
        grown[tuple(slice(0, n) for n in value.shape)] = value
        return _as_stated(instruction, grown)
    return _as_stated(instruction, value[(slice(None),) * along + (slice(0, max(wanted, 0)),)])


def _one_dimension(instruction: Instruction, source: ArrayShape) -> int:
    dimensions = instruction.attributes["dimensions"]
    require(len(dimensions) == 1, f"{instruction.opcode} takes one dimension, not {list(dimensions)}")
    return dimension(dimensions[0], source.rank, "dimensions")


_ONE = ("dimensions",)

OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "dynamic-reshape",
            (1, None),
            _infer_dynamic_reshape,
            _dynamic_reshape,
            "Reshape to sizes known at run time.",
        ),
        Op(
            "get-dimension-size",
            (1, 1),
            _infer_get_dimension_size,
            _get_dimension_size,
            "The actual size of a dimension.",
            required=_ONE,
            traits=Trait.STRICT_TYPES,
        ),
        Op(
            "set-dimension-size",
            (2, 2),
            _infer_set_dimension_size,
            _set_dimension_size,
            "Give a dimension an actual size below its bound.",
            required=_ONE,
        ),
    )
}
