"""scan: a computation applied along one dimension, carrying values from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import agree, dimension, is_stated, operand, operands, require, signature
from compiler.ir.traits import Trait


def _along(instruction: Instruction) -> int:
    dimensions = instruction.attributes["dimensions"]
    require(len(dimensions) == 1, f"scan takes one dimension, not {list(dimensions)}")
    along: int = dimensions[0]
    return along


def _infer_scan(instruction: Instruction) -> Shape:
    shapes, carries = operands(instruction), instruction.attributes["num_carries"]
    require(0 <= carries <= len(shapes), f"num_carries={carries} but scan has {len(shapes)} operands")
    count, along = len(shapes) - carries, _along(instruction)
    require(count, "scan takes at least one array to go along")
    length = operand(instruction, 0).dims[dimension(along, shapes[0].rank, "dimensions")]
    elements = []
    for index, shape in enumerate(shapes[:count]):
        dimension(along, shape.rank, "dimensions")
        require(
            shape.dims[along] == length, f"operands 0 and {index} of scan differ in length: {shapes[0]} and {shape}"
        )
        elements.append(ArrayShape(shape.element_type, shape.dims[:along] + shape.dims[along + 1 :]))
    computation: Computation = instruction.attributes["to_apply"]
    root = signature(instruction, computation, [*elements, *shapes[count:]])
    results = root.elements if isinstance(root, TupleShape) else (root,)
    require(len(results) >= carries, f"to_apply yields {len(results)} values, fewer than num_carries={carries}")
    outputs = len(results) - carries
    for result, carried in zip(results[outputs:], shapes[count:], strict=True):
        require(agree(result, carried), f"to_apply yields {result} for what is carried as {carried}")
    stacked = [_stacked(result, along, length) for result in results[:outputs]]
    inferred = TupleShape((*stacked, *results[outputs:]))
    single = is_stated(instruction) and isinstance(instruction.shape, ArrayShape) and len(inferred.elements) == 1
    return inferred.elements[0] if single else inferred


def _stacked(shape: Shape, along: int, length: int) -> ArrayShape:
    require(isinstance(shape, ArrayShape) and along <= shape.rank, f"outputs {shape} cannot be stacked along {along}")
    assert isinstance(shape, ArrayShape)
    return ArrayShape(shape.element_type, (*shape.dims[:along], length, *shape.dims[along:]))


def _scan(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    carries, along = instruction.attributes["num_carries"], _along(instruction)
    count = len(values) - carries
    carried: list[Any] = list(values[count:])
    computation: Computation = instruction.attributes["to_apply"]
    length = values[0].shape[along]
    order = range(length)
    steps: list[tuple[Any, ...]] = []
    for index in reversed(order) if instruction.attributes.get("is_reverse", False) else order:
        result = evaluator.call(computation, [*(np.take(v, index, axis=along) for v in values[:count]), *carried])
        results = result if isinstance(result, tuple) else (result,)
        outputs = len(results) - carries
        steps.append(results[:outputs])
        carried = list(results[outputs:])
    if instruction.attributes.get("is_reverse", False):
        steps.reverse()
    shape = instruction.shape
    shapes = shape.elements if isinstance(shape, TupleShape) else (shape,)
    stacked = [_stack([step[k] for step in steps], shapes[k], along) for k in range(len(shapes) - carries)]
    final = (*stacked, *carried)
    return final if isinstance(shape, TupleShape) else final[0]


def _stack(slices: Sequence[Array], shape: Shape, along: int) -> Array:
    assert isinstance(shape, ArrayShape)
    return np.stack(slices, axis=along) if slices else np.zeros(shape.dims, shape.element_type.dtype)


OPS: dict[str, Op] = {
    "scan": Op(
        "scan",
        (1, None),
        _infer_scan,
        _scan,
        "Step along a dimension, carrying values and stacking outputs.",
        required=("to_apply", "dimensions", "num_carries"),
        optional=("is_reverse", "is_associative"),
        traits=Trait.ACCUMULATES,
    )
}
