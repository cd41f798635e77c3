"""reduce and map: computations of scalars applied along dimensions.

The order of a reduction is unspecified in the language.  Sums and products of floats are accumulated in f64 and rounded
once, which is the best answer that any order could approach.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.combiner import reduce_axes
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import (
    dims_agree,
    distinct_dimensions,
    like_root,
    merge_dynamic,
    operands,
    pick_dynamic,
    require,
    signature,
)
from compiler.ir.traits import Trait


def _split(instruction: Instruction) -> tuple[list[ArrayShape], list[ArrayShape]]:
    """The shapes of the arrays and of their initial values."""
    shapes = operands(instruction)
    count, odd = divmod(len(shapes), 2)
    require(
        not odd and count, f"{instruction.opcode} takes arrays and as many initial values, not {len(shapes)} operands"
    )
    return shapes[:count], shapes[count:]


def _infer_reduce(instruction: Instruction) -> Shape:
    arrays, inits = _split(instruction)
    for index, (array, init) in enumerate(zip(arrays, inits, strict=True)):
        if not dims_agree(arrays[0], array):
            raise ShapeError(f"operands 0 and {index} of reduce differ: {arrays[0]} and {array}")
        if init.dims:
            raise ShapeError(f"the initial value of operand {index} must be a scalar, not {init}")
    axes = distinct_dimensions(instruction.attributes["dimensions"], arrays[0].rank, "dimensions")
    root = signature(instruction, instruction.attributes["to_apply"], [*_scalars(inits), *_scalars(arrays)])
    results = list(root.elements) if isinstance(root, TupleShape) else [root]
    require(len(results) == len(arrays), f"to_apply yields {root} but {len(arrays)} values are reduced")
    kept = [d for d in range(arrays[0].rank) if d not in axes]
    dims = tuple(arrays[0].dims[d] for d in kept)
    flags = pick_dynamic(ArrayShape(arrays[0].element_type, arrays[0].dims, merge_dynamic(arrays)), kept)
    return like_root(root, [ArrayShape(init.element_type, dims, flags) for init in inits])


def _scalars(shapes: Sequence[ArrayShape]) -> list[Shape]:
    return [ArrayShape(shape.element_type, ()) for shape in shapes]


def _reduce(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    count = len(values) // 2
    computation: Computation = instruction.attributes["to_apply"]
    types = [operand.array.element_type for operand in instruction.operands[count:]]
    axes = instruction.attributes["dimensions"]
    results = reduce_axes(computation, values[:count], values[count:], axes, types, evaluator)
    return results if isinstance(computation.root.shape, TupleShape) else results[0]


def _infer_map(instruction: Instruction) -> Shape:
    shapes = operands(instruction)
    require(shapes, "map takes at least one operand")
    for index, shape in enumerate(shapes):
        require(dims_agree(shapes[0], shape), f"operands 0 and {index} of map differ: {shapes[0]} and {shape}")
    # Which dimensions are written makes no difference to XLA: it is always all of them.
    root = signature(instruction, instruction.attributes["to_apply"], _scalars(shapes))
    if not isinstance(root, ArrayShape) or root.dims:
        raise ShapeError(f"to_apply of map must yield a scalar, not {root}")
    return ArrayShape(root.element_type, shapes[0].dims, merge_dynamic(shapes))


def _map(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    result = evaluator.map(instruction.attributes["to_apply"], values)
    return np.broadcast_to(np.asarray(result), values[0].shape)


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "reduce",
            (2, None),
            _infer_reduce,
            _reduce,
            "Combine all elements along some dimensions, starting from an initial value.",
            required=("to_apply", "dimensions"),
            traits=Trait.ACCUMULATES | Trait.COMBINES | Trait.EXACT,
        ),
        Op(
            "map",
            (1, None),
            _infer_map,
            _map,
            "A computation of scalars on every element.",
            required=("to_apply",),
            optional=("dimensions",),
            traits=Trait.EXACT,
        ),
    )
}
