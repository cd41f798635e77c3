"""Updates of a part of an array, and what may be read of the array by the kernel that writes the part in its place.

Such a kernel walks over the part, and computes an element completely before it writes it.  So it may read the array
anywhere where the part is a single element, and otherwise the very elements that it is about to write.
"""

from __future__ import annotations

from collections.abc import Collection

from compiler.analysis.aliasing import origin
from compiler.ir.graph import reachable
from compiler.ir.module import Instruction
from compiler.ops import Trait, having

_ELEMENTWISE = having(Trait.ELEMENTWISE) - {"constant"}


def is_elementwise(instruction: Instruction) -> bool:
    """Whether an instruction computes each element from the operands' elements at the same place."""
    return instruction.opcode in _ELEMENTWISE


def is_update_in_place(instruction: Instruction) -> bool:
    """Whether an instruction is an update that may write into memory of the program's own instead of a new array."""
    if instruction.opcode != "dynamic-update-slice":
        return False
    source, path = origin(instruction.operands[0])
    return bool(path) or source.opcode not in ("parameter", "constant", "broadcast", "iota")


def reads_in_time(reader: Instruction, update: Instruction, members: Collection[Instruction]) -> bool:
    """Whether a reader of what is updated, one of the update's kernel, reads nothing that may have been written.

    Args:
        reader: the instruction that reads what `update` updates.
        update: a dynamic-update-slice that writes in place.
        members: the instructions of the kernel that both are in.
    """
    _, update_value, *starts = update.operands
    if update_value.array.size == 1:
        return True
    same = reader.opcode == "dynamic-slice" and reader.array.dims == update_value.array.dims
    return same and list(reader.operands[1:]) == starts and _stays_in_place(reader, update, members)


def _stays_in_place(value: Instruction, update: Instruction, members: Collection[Instruction]) -> bool:
    """Whether a kernel gets from a value to its update element by element."""

    def users(of: Instruction) -> list[Instruction]:
        return [user for user in of.users if user in members and user is not update]

    return all(is_elementwise(i) and i.array.dims == value.array.dims for i in reachable(users(value), users))
