"""Instructions moved into a computation of their own, which a fusion calls in their place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.ir.control import PREDECESSORS
from compiler.ir.module import Computation, Instruction, Module, keep_control
from compiler.ir.shape import ArrayShape, TupleShape


def is_scalar_constant(instruction: Instruction) -> bool:
    """Whether an instruction is a constant of one element, which is copied into whatever computation needs it."""
    shape = instruction.shape
    return instruction.opcode == "constant" and isinstance(shape, ArrayShape) and shape.size == 1


def outline(module: Module, members: Iterable[Instruction], roots: Sequence[Instruction], kind: str) -> Instruction:
    """Copy `members`, in their order, into a new computation, and put a fusion of it into theirs.

    With several roots the fusion yields a tuple.  Uses are left as they are.  The fusion waits for what
    members wait for, which must not need the roots.

    Args:
        module: gets the computation.
        members: instructions of one computation, operands before those that use them.
        roots: those of the members that are results.
        kind: of the fusion, as `kLoop`.
    """
    chosen = dict.fromkeys(members)
    first = roots[0]
    body = Computation(f"fused_computation.{first.name}")
    copies: dict[Instruction, Instruction] = {}
    operands: list[Instruction] = []
    for instruction in chosen:
        for operand in instruction.operands:
            if operand not in copies:
                copies[operand] = _outside(body, operand, operands)
        if instruction not in copies:
            copies[instruction] = body.add(instruction.clone([copies[o] for o in instruction.operands]))
    waited = keep_control({member: copies[member] for member in chosen})
    body.root = copies[first]
    if len(roots) > 1:
        shape = TupleShape(tuple(root.shape for root in roots))
        body.root = body.add(Instruction("tuple", shape, [copies[root] for root in roots], name="tuple"))
    body.sort()

    module.add_computation(body)
    attributes = {"kind": kind, "calls": body} | ({PREDECESSORS: waited} if waited else {})
    fusion = Instruction("fusion", body.root.shape, operands, attributes, name=f"{first.name}_fusion")
    return first.computation.add(fusion)


def _outside(body: Computation, operand: Instruction, operands: list[Instruction]) -> Instruction:
    """What stands in the body for an operand that is no member."""
    if is_scalar_constant(operand):
        copy = operand.clone([])
        copy.attributes.pop(PREDECESSORS, None)  # they stay outside, and a copy of a number waits for nothing
        return body.add(copy)
    number = len(operands)
    operands.append(operand)
    parameter = Instruction("parameter", operand.shape, (), {"parameter_number": number}, name=f"param_{number}")
    return body.add(parameter)
