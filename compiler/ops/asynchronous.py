"""Ops in two halves: async-start, -update and -done around any computation, and copy-start and -done.

On one host the first half does the work; what it yields carries operands and result along as the language says.  A
start may be given the first of its computation's arguments only, updates give the rest; and it may carry less than the
result, of a tuple the first elements, of anything else nothing.  Such a computation runs when its result is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.module import Computation, Instruction
from compiler.ir.opdef import Evaluator, Op, Value, zeros
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import agree, is_stated, operand, require, signature, stated
from compiler.ir.traits import Trait
from compiler.ir.types import U32


def start_of(instruction: Instruction) -> Instruction | None:
    """The async-start that an async-update or -done continues; None where something else hands its value on."""
    while instruction.opcode in ("async-update", "async-done") and instruction.operands:
        instruction = instruction.operands[0]
    return instruction if instruction.opcode == "async-start" else None


def runs_late(start: Instruction) -> bool:
    """Whether an async-start carries less than all arguments and the whole result: then only the -done can run it."""
    computation: Computation = start.attributes["calls"]
    carried = _carried(start.shape, start.opcode)
    given = len(start.operands) == len(computation.parameters)
    return not (given and agree(carried.elements[1], computation.root.shape))


def _carried(shape: Shape, opcode: str) -> TupleShape:
    if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
        raise ShapeError(f"{opcode} carries (operands, result, ...), not {shape}")
    return shape


def _begins(prefix: Shape, whole: Shape) -> bool:
    """Whether a shape is another, or of a tuple the beginning; an empty tuple begins anything."""
    if agree(prefix, whole):
        return True
    if not isinstance(prefix, TupleShape):
        return False
    if not isinstance(whole, TupleShape):
        return not prefix.elements
    return len(prefix.elements) <= len(whole.elements) and all(map(_begins, prefix.elements, whole.elements))


def _check(instruction: Instruction, shape: TupleShape, arguments: tuple[Shape, ...], computation: Computation) -> None:
    """Whether what is carried is the arguments given so far, and the beginning of the computation's result."""
    taken, result = computation.parameters, computation.root.shape
    if len(arguments) == len(taken):
        signature(instruction, computation, arguments)
    expected = TupleShape(tuple(parameter.shape for parameter in taken))
    given = TupleShape(arguments)
    where = f"{instruction.opcode} carries"
    require(agree(shape.elements[0], given), f"{where} {shape.elements[0]} as its operands, which are {given}")
    fits = _begins(given, expected)
    require(fits, f"{computation.name}, called by {instruction.opcode}, takes {expected} but is given {given}")
    require(_begins(shape.elements[1], result), f"{where} {shape.elements[1]} as its result, which is {result}")


def _infer_start(instruction: Instruction) -> Shape:
    shape = _carried(stated(instruction), instruction.opcode)
    _check(instruction, shape, tuple(o.shape for o in instruction.operands), instruction.attributes["calls"])
    return shape


def _infer_update(instruction: Instruction) -> Shape:
    before, *added = (o.shape for o in instruction.operands)
    carried, start = _carried(before, instruction.opcode), start_of(instruction)
    if start is None or not isinstance(carried.elements[0], TupleShape):
        return carried
    arguments = TupleShape((*carried.elements[0].elements, *added))
    if not is_stated(instruction):
        return TupleShape((arguments, *carried.elements[1:]))
    shape = _carried(instruction.shape, instruction.opcode)
    result = shape.elements[1]
    require(_begins(carried.elements[1], result), f"{instruction.opcode} cannot carry {result} after {carried}")
    _check(instruction, shape, arguments.elements, start.attributes["calls"])
    return shape


def _infer_done(instruction: Instruction) -> Shape:
    carried, start = _carried(instruction.operands[0].shape, instruction.opcode), start_of(instruction)
    if start is None:
        return carried.elements[1]
    given, computation = carried.elements[0], start.attributes["calls"]
    if isinstance(given, TupleShape):
        signature(instruction, computation, given.elements)
    root: Shape = computation.root.shape
    return root


def _start(instruction: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
    shape = instruction.shape
    assert isinstance(shape, TupleShape)
    late = runs_late(instruction)
    result = zeros(shape.elements[1]) if late else evaluator.call(instruction.attributes["calls"], values)
    return (tuple(values), result, *map(zeros, shape.elements[2:]))


def _update(instruction: Instruction, values: Sequence[Value], __: Evaluator) -> Value:
    (given, _result, *context), *added = values
    start, shape = start_of(instruction), instruction.shape
    if start is None or not runs_late(start):
        return values[0]
    assert isinstance(shape, TupleShape)
    return ((*given, *added), zeros(shape.elements[1]), *context)


def _done(instruction: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
    start = start_of(instruction)
    if start is not None and runs_late(start):
        return evaluator.call(start.attributes["calls"], values[0][0])
    result: Value = values[0][1]
    return result


def _infer_copy_start(instruction: Instruction) -> Shape:
    shape = operand(instruction, 0)
    return TupleShape((shape, shape, ArrayShape(U32, ())))


def _copy_start(_: Instruction, values: Sequence[Value], __: Evaluator) -> Value:
    return (values[0], values[0], np.zeros((), np.uint32))


def _infer_copy_done(instruction: Instruction) -> Shape:
    return _carried(instruction.operands[0].shape, instruction.opcode).elements[0]


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
            traits=Trait.CALLS | Trait.ASYNC | Trait.STRICT_TYPES,
        ),
        Op(
            "async-update",
            (1, None),
            _infer_update,
            _update,
            "Go on with one.",
            optional=("calls", *_ASYNC),
            traits=Trait.ASYNC | Trait.STRICT_TYPES,
        ),
        Op(
            "async-done",
            (1, 1),
            _infer_done,
            _done,
            "Wait for its result.",
            optional=("calls", *_ASYNC),
            traits=Trait.ASYNC | Trait.STRICT_TYPES,
        ),
        Op(
            "copy-start",
            (1, 1),
            _infer_copy_start,
            _copy_start,
            "Begin a copy.",
            optional=("cross_program_prefetch_index",),
            traits=Trait.ASYNC | Trait.STRICT_TYPES,
        ),
        Op(
            "copy-done",
            (1, 1),
            _infer_copy_done,
            _copy_done,
            "Wait for a copy.",
            traits=Trait.ASYNC | Trait.STRICT_TYPES,
        ),
    )
}
