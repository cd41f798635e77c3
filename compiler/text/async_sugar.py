"""`op-start`, `op-update` and `op-done` for any opcode: async ops around a computation of that one instruction.

The start's attributes are the op's, but for those that only async-start has.  What the op is given and what it yields
may be said by a later half: as in XLA, the -update or -done that says it changes the computation.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.module import Attributes, Computation, Instruction
from compiler.ir.shape import Shape, TupleShape
from compiler.ir.shape_rules import agree
from compiler.ops.asynchronous import start_of
from compiler.text.opcodes import SIGNATURES

_OF_BOTH = frozenset({"metadata", "origin", "backend_config", "frontend_attributes", "statistics"})


def wrap(
    opcode: str, operands: Sequence[Instruction], result: Shape, attributes: Attributes
) -> tuple[Computation, Attributes]:
    """The computation of one instruction, and the attributes of the async-start that calls it.

    Args:
        opcode: of the op that is begun, without `-start`.
        operands: of the start.
        result: the op's shape.
        attributes: as they are written, of both.
    """
    outer = SIGNATURES["async-start"].allowed - {"calls"}
    inner = {name: value for name, value in attributes.items() if name not in outer or name in _OF_BOTH}
    computation = Computation("async_wrapped")
    parameters = [_parameter(computation, operand.shape) for operand in operands]
    computation.root = Instruction(opcode, result, parameters, inner, name="async_op")
    computation.append_parsed(computation.root)
    thread = attributes.get("async_execution_thread")
    if thread is not None:
        computation.attributes["execution_thread"] = thread
    left = {name: value for name, value in attributes.items() if name in outer}
    return computation, {"calls": computation} | left


def rewrap(opcode: str, operands: Sequence[Instruction], shape: Shape) -> None:
    """Give the wrapped op the operands that an async-update adds, and the result that it or the async-done states.

    Args:
        opcode: `async-update` or `async-done`.
        operands: of it.
        shape: as it is stated.
    """
    start = start_of(operands[0])
    if start is None:
        return
    computation: Computation = start.attributes["calls"]
    root = computation.root
    if opcode == "async-update":
        if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
            return
        shape = shape.elements[1]
        added = [_parameter(computation, operand.shape) for operand in operands[1:]]
        if added:
            root.set_operands((*root.operands, *added))
            computation.sort()
    if not agree(root.shape, shape):
        root.shape = shape


def _parameter(computation: Computation, shape: Shape) -> Instruction:
    number = len(computation.parameters)
    parameter = Instruction("parameter", shape, (), {"parameter_number": number}, name=f"async_param.{number}")
    computation.append_parsed(parameter)
    return parameter
