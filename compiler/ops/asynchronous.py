"""Ops in two halves: async-start, -update and -done around any computation, and copy-start and -done.

On one host the first half does the work; what it yields carries operands and result along as the language says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.module import Instruction
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import agree, operand, require, signature, stated
from compiler.ir.types import U32


def _infer_start(instruction: Instruction) -> Shape:
    shapes = tuple(o.shape for o in instruction.operands)
    result = signature(instruction, instruction.attributes["calls"], shapes)
    shape = stated(instruction)
    if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
        raise ShapeError(f"async-start yields (operands, result, ...), not {shape}")
    for what, given, expected in zip(
        ("operands", "result"), shape.elements, (TupleShape(shapes), result), strict=False
    ):
        require(agree(given, expected), f"async-start carries {given} as its {what}, which are {expected}")
    return shape


def _start(instruction: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
    shape = instruction.shape
    assert isinstance(shape, TupleShape)
    result = evaluator.call(instruction.attributes["calls"], values)
    return (tuple(values), result, *(_empty(element) for element in shape.elements[2:]))


def _empty(shape: Shape) -> Value:
    """A value for the context that a back end would keep; nothing reads it."""
    if isinstance(shape, TupleShape):
        return tuple(_empty(element) for element in shape.elements)
    array = shape if isinstance(shape, ArrayShape) else shape.array
    return np.zeros(array.dims, array.element_type.dtype) if array.element_type.bits else ()


def _carried(instruction: Instruction) -> TupleShape:
    shape = instruction.operands[0].shape
    if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
        raise ShapeError(f"{instruction.opcode} continues (operands, result, ...), not {shape}")
    return shape


def _infer_update(instruction: Instruction) -> Shape:
    return _carried(instruction)


def _update(_: Instruction, values: Sequence[Value], __: Evaluator) -> Value:
    return values[0]


def _infer_done(instruction: Instruction) -> Shape:
    return _carried(instruction).elements[1]


def _done(_: Instruction, values: Sequence[Value], __: Evaluator) -> Value:
    result: Value = values[0][1]
    return result


def _infer_copy_start(instruction: Instruction) -> Shape:
    shape = operand(instruction, 0)
    return TupleShape((shape, shape, ArrayShape(U32, ())))


def _copy_start(_: Instruction, values: Sequence[Value], __: Evaluator) -> Value:
    return (values[0], values[0], np.zeros((), np.uint32))


def _infer_copy_done(instruction: Instruction) -> Shape:
    return _carried(instruction).elements[0]


def _copy_done(_: Instruction, values: Sequence[Value], __: Evaluator) -> Value:
    result: Value = values[0][0]
    return result


_ASYNC = ("async_execution_thread", "output_to_operand_aliasing")

OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "async-start",
            (0, None),
            _infer_start,
            _start,
            "Begin a computation.",
            required=("calls",),
            optional=_ASYNC,
        ),
        Op("async-update", (1, 1), _infer_update, _update, "Go on with one.", optional=("calls", *_ASYNC)),
        Op("async-done", (1, 1), _infer_done, _done, "Wait for its result.", optional=("calls", *_ASYNC)),
        Op(
            "copy-start",
            (1, 1),
            _infer_copy_start,
            _copy_start,
            "Begin a copy.",
            optional=("cross_program_prefetch_index",),
        ),
        Op("copy-done", (1, 1), _infer_copy_done, _copy_done, "Wait for a copy."),
    )
}
