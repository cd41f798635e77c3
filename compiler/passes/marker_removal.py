"""Take out what only marks, orders or asks for what is known: on one host the operand itself, or a constant.

`domain` and `add-dependency` pass their operand on, and so do custom calls that mark it.  The schedule respects data
alone; a token carries none, and nothing that a back end runs has an effect that could be seen in another order.
"""

from __future__ import annotations

from compiler.expansion.expression import number
from compiler.expansion.replacement import expand
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape_rules import agree
from compiler.ir.types import S32
from compiler.ops.build import build
from compiler.ops.custom_call import MARKS


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, _EXPANSIONS)


def _operand(instruction: Instruction) -> Instruction:
    return instruction.operands[0]


def _mark(call: Instruction) -> Instruction | None:
    is_mark = call.attributes["custom_call_target"] in MARKS and len(call.operands) == 1
    return call.operands[0] if is_mark and agree(call.shape, call.operands[0].shape) else None


def _size(instruction: Instruction) -> Instruction | None:
    shape, along = instruction.operands[0].array, instruction.attributes["dimensions"][0]
    if shape.dynamic and shape.dynamic[along]:
        return None
    return number(instruction.computation, shape.dims[along], S32).instruction


def _full_size(instruction: Instruction) -> Instruction | None:
    """A dimension of which the whole bound is kept, and which is said to be static."""
    source, size = instruction.operands
    along = instruction.attributes["dimensions"][0]
    is_constant = size.opcode == "constant" and size.literal.array is not None
    if instruction.array.is_dynamic or source.array.is_dynamic or not is_constant:
        return None
    return source if size.literal.array == source.array.dims[along] else None


def _known_shape(instruction: Instruction) -> Instruction | None:
    """A reshape whose sizes, given at run time, can only be those of the type."""
    source = instruction.operands[0]
    if instruction.array.is_dynamic or source.array.is_dynamic:
        return None
    return build(instruction.computation, "reshape", [source], shape=instruction.array)


_EXPANSIONS = {
    "add-dependency": _operand,
    "domain": _operand,
    "custom-call": _mark,
    "get-dimension-size": _size,
    "set-dimension-size": _full_size,
    "dynamic-reshape": _known_shape,
}
