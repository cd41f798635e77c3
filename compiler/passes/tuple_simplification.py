"""Tuples that are taken apart where they are put together, and the other way round, disappear.

get-tuple-element(tuple(x0, x1, ...), i)  ->  xi
tuple(get-tuple-element(t, 0), get-tuple-element(t, 1), ...)  ->  t
"""

from __future__ import annotations

from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import TupleShape, compatible


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in module.computations:
        for instruction in computation.instructions:
            simpler = _simpler(instruction)
            if simpler is not None:
                changed |= fuel.replace("take tuple apart", instruction, simpler)
    return changed


def _simpler(instruction: Instruction) -> Instruction | None:
    if instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "tuple":
        return instruction.operands[0].operands[instruction.attributes["index"]]
    if instruction.opcode == "tuple" and instruction.operands:
        return _whole(instruction)
    return None


def _whole(instruction: Instruction) -> Instruction | None:
    """The tuple that this one repeats; a root stays, so that a computation's result keeps its form.

    So do the states of loops, which are passed on piece by piece (`expansion.loop_state`).
    """
    first = instruction.operands[0]
    if first.opcode != "get-tuple-element" or instruction.is_root or not instruction.users:
        return None
    source = first.operands[0]
    if source.opcode == "while" or any(user.opcode == "while" for user in instruction.users):
        return None
    if source.opcode == "parameter" and not _is_of_entry(source):
        return None
    same = all(
        o.opcode == "get-tuple-element" and o.operands[0] is source and o.attributes["index"] == n
        for n, o in enumerate(instruction.operands)
    )
    complete = isinstance(source.shape, TupleShape) and len(source.shape.elements) == len(instruction.operands)
    return source if same and complete and compatible(source.shape, instruction.shape) else None


def _is_of_entry(parameter: Instruction) -> bool:
    module = parameter.computation.module
    return module is not None and module.entry is parameter.parent
