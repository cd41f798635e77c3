"""Take out what only marks, orders or asks for what is known: on one host the operand itself, or a constant.

`domain` and `add-dependency` pass their operand on, and so do custom calls that mark it.  The schedule respects data
alone; a token carries none, and nothing that a back end runs has an effect that could be seen in another order.
"""

from __future__ import annotations

from compiler.expansion.expression import number
from compiler.expansion.replacement import expand
from compiler.expansion.wiring import bundle
from compiler.ir.manual import is_crossing
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import TOKEN_SHAPE
from compiler.ir.types import S32
from compiler.ops.build import build
from compiler.ops.custom_call import is_mark
from compiler.plan import device_count


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    table = _EXPANSIONS
    if device_count(module) > 1:
        table = _EXPANSIONS | {"custom-call": _mark_of_no_cut}
    return expand(module, fuel, table)


def _operand(instruction: Instruction) -> Instruction:
    return instruction.operands[0]


def _mark(call: Instruction) -> Instruction | None:
    return bundle(call.operands, call.computation) if is_mark(call) else None


def _mark_of_no_cut(call: Instruction) -> Instruction | None:
    """On several devices a crossing is more than a mark, and what it cuts may say how: both go with the devices."""
    return None if any(map(is_crossing, (call, *call.users))) else _mark(call)


def _copied_token(copy: Instruction) -> Instruction | None:
    """What a copy of a token stands for: there is nothing of it that lies anywhere."""
    return copy.operands[0] if copy.shape == TOKEN_SHAPE else None


def _size(instruction: Instruction) -> Instruction | None:
    shape, along = instruction.operands[0].array, instruction.attributes["dimensions"][0]
    if shape.dynamic and shape.dynamic[along]:
        return None
    return number(instruction.computation, shape.dims[along], S32).instruction


def _full_size(instruction: Instruction) -> Instruction | None:
    """A dimension that is said to be static, whose size can only be its bound, unless it is known to be less."""
    source, size = instruction.operands
    along = instruction.attributes["dimensions"][0]
    if instruction.array.is_dynamic or source.array.is_dynamic:
        return None
    is_known = size.opcode == "constant" and size.literal.array is not None
    return None if is_known and size.literal.array < source.array.dims[along] else source


def _known_shape(instruction: Instruction) -> Instruction | None:
    """A reshape whose sizes, given at run time, can only be those of the type."""
    source = instruction.operands[0]
    if instruction.array.is_dynamic or source.array.is_dynamic:
        return None
    return build(instruction.computation, "reshape", [source], shape=instruction.array)


_EXPANSIONS = {
    "add-dependency": _operand,
    "copy": _copied_token,
    "domain": _operand,
    "custom-call": _mark,
    "get-dimension-size": _size,
    "set-dimension-size": _full_size,
    "dynamic-reshape": _known_shape,
}
