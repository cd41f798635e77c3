"""Instructions from opcode and operands, with the shape inferred: how passes, tests and generators write programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.diagnostics import UnsupportedError
from compiler.ir.literal import Literal
from compiler.ir.module import Computation, Instruction
from compiler.ir.opdef import Op
from compiler.ir.shape import Shape
from compiler.ir.shape_rules import UNSTATED
from compiler.ops import OPS


def op_of(opcode: str) -> Op:
    """The record of an opcode; UnsupportedError where there is none."""
    op = OPS.get(opcode)
    if op is None:
        raise UnsupportedError(f"opcode {opcode}", "this compiler")
    return op


def build(
    computation: Computation,
    opcode: str,
    operands: Sequence[Instruction] = (),
    *,
    shape: Shape | None = None,
    name: str = "",
    **attributes: Any,
) -> Instruction:
    """Append an instruction; its shape is inferred, or checked where it is given.

    Attributes are named as in HLO text; one with a hyphen is given by `**{"control-predecessors": ...}`.

    Args:
        computation: gets the instruction, at its end.
        opcode: HLO's.
        operands: instructions of the computation.
        shape: of the result; None for what the opcode's rule says.
        name: of the instruction; "" for one that is made up.
        attributes: of the instruction.
    """
    op = op_of(opcode)
    instruction = Instruction(opcode, UNSTATED if shape is None else shape, operands, dict(attributes), name=name)
    try:
        inferred = op.infer(instruction)
    except Exception:
        # An instruction that was refused must not remain among its operands' users.
        instruction.set_operands(())
        raise
    if shape is None:
        instruction.shape = inferred
    return computation.add(instruction)


def parameter(computation: Computation, number: int, shape: Shape, *, name: str = "") -> Instruction:
    """Append a parameter.

    Args:
        computation: whose it is.
        number: its place among the parameters.
        shape: its shape.
        name: its name, one of its own by default.
    """
    return build(computation, "parameter", shape=shape, name=name, parameter_number=number)


def constant(computation: Computation, literal: Literal, *, name: str = "") -> Instruction:
    """Append a constant.

    Args:
        computation: where it stands.
        literal: its value.
        name: its name, one of its own by default.
    """
    return build(computation, "constant", name=name, literal=literal)
