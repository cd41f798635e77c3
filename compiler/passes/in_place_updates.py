"""A dynamic-update-slice writes into its operand's memory, where nobody needs the old contents any more.

A loop that fills an array one row per iteration would otherwise copy the whole array every iteration.  The update
becomes a fusion with `output_to_operand_aliasing`.  It is sound when the operand's memory is the program's own (not a
parameter or a constant, nor a branch's operand) and every other reader has read before the update writes: readers that
do not depend on the update are put before it by a control dependency; if one does, the update gets a copy of the
operand.
"""

from __future__ import annotations

from compiler.analysis.aliasing import VIEWS, origin, overwritten, viewed
from compiler.analysis.effects import within_fusions
from compiler.analysis.updates import reads_in_time
from compiler.ir.attributes import OutputAlias
from compiler.ir.control import PREDECESSORS, predecessors, stand_in
from compiler.ir.graph import reachable
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.outline import outline
from compiler.ir.rewrite import Fuel
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    bodies = {i.attributes["body"] for i in module.instructions() if i.opcode == "while"} - within_fusions(module)
    changed = False
    for computation in [module.entry, *(c for c in module.computations if c in bodies)]:
        for instruction in list(computation.instructions):
            operand = _target(instruction)
            if operand is None or not _owns(operand, computation, bodies):
                continue
            if fuel.spend("update in place", instruction):
                _update(module, instruction, operand)
                changed = True
        computation.sort()
    if changed:
        module.sort_computations()
    return changed


def _target(instruction: Instruction) -> Instruction | None:
    """The operand that an instruction is an update of."""
    if instruction.opcode == "dynamic-update-slice":
        return instruction.operands[0]
    if instruction.opcode != "fusion" or instruction.attributes.get("output_to_operand_aliasing"):
        return None
    root = instruction.attributes["calls"].root
    if root.opcode != "dynamic-update-slice" or root.operands[0].opcode != "parameter":
        return None
    source = root.operands[0]
    operand = instruction.operands[source.parameter_number]
    members = instruction.attributes["calls"].instructions
    in_time = all(user is root or reads_in_time(user, root, members) for user in source.users)
    once = root.operands.count(source) == 1 and instruction.operands.count(operand) == 1
    return operand if in_time and once else None


def _owns(operand: Instruction, computation: Computation, bodies: set[Computation]) -> bool:
    """Whether the operand's memory may be written: the state of a loop, or something computed here."""
    source, path = origin(operand)
    if source.opcode == "parameter":
        return computation in bodies and bool(path)
    return source.opcode not in ("constant", "call")


def _update(module: Module, instruction: Instruction, operand: Instruction) -> None:
    if instruction.opcode != "fusion":
        instruction = _wrapped(module, instruction)
        operand = instruction.operands[0]
    number = instruction.operands.index(operand)
    instruction.attributes["output_to_operand_aliasing"] = (OutputAlias((), number, ()),)
    readers = [reader for reader in _readers(operand) if reader is not instruction]
    if operand.is_root or any(_conflicts(reader, instruction, operand) for reader in readers):
        copy = build(instruction.computation, "copy", [operand])
        instruction.set_operands([copy if o is operand else o for o in instruction.operands])
        return
    if readers:
        instruction.attributes[PREDECESSORS] = tuple(dict.fromkeys((*predecessors(instruction), *readers)))


def _wrapped(module: Module, update: Instruction) -> Instruction:
    """The update as a fusion of its own."""
    fusion = outline(module, [update], [update], "kLoop")
    computation = update.computation
    update.replace_uses_with(fusion)
    stand_in(computation, update, fusion)
    computation.remove([update])
    return fusion


def _readers(operand: Instruction) -> list[Instruction]:
    """Everything that reads the operand's memory: users of it, of views of it, and of the same piece of a tuple."""
    pending, found = [viewed(operand)], list[Instruction]()
    while pending:
        value, path = pending.pop()
        for user in value.users:
            if user.opcode in VIEWS:
                pending.append((user, path))
            elif user.opcode == "get-tuple-element":
                if user.attributes["index"] == path[0]:
                    pending.append((user, path[1:]))
            elif user.opcode == "tuple" and not user.is_root:
                pending += [(user, (number, *path)) for number, one in enumerate(user.operands) if one is value]
            else:
                found.append(user)
    return found


def _conflicts(reader: Instruction, update: Instruction, operand: Instruction) -> bool:
    """Whether a reader cannot simply be put before the update.

    It needs the update's result, or hands the memory on to be read later, or writes there itself.
    """
    hands_on = reader.is_root or reader.opcode in ("tuple", "while", "conditional", "call")
    target = _target(reader) or overwritten(reader)
    writes = target is not None and origin(target) == origin(operand)
    return hands_on or writes or _depends(reader, update)


def _depends(reader: Instruction, update: Instruction) -> bool:
    """Whether a reader comes after the update: it needs the result, or something that was put behind the update."""
    return update in reachable([reader], lambda instruction: (*instruction.operands, *predecessors(instruction)))
