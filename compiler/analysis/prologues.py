"""Prologues: ops that a dot or a convolution applies to an operand while its kernel reads or packs it.

A product with few rows asks for each element of its right factor about once, and one with few columns for those of its
left factor.  What leads to such a factor, the scaling of quantised weights for instance, then costs the same within the
product's kernel, and the factor never goes through memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from compiler.analysis.opcodes import PRODUCTS
from compiler.analysis.updates import is_elementwise
from compiler.analysis.views import MOVES
from compiler.ir.module import Instruction
from compiler.ops import Trait, having

_ONCE, _FEW = 4, 64
"""Rows, or columns, up to which nothing is packed, and up to which packing is most of the work."""
_WORD_BITS = 32
"""Bits of an element from which on it is read as it is computed with; narrower ones are converted once, as they are
packed."""
_LARGEST_WALK = 512
"""Instructions that are looked at before an operand: a layer has fewer, and each layer would walk back to the first
(11-25)."""
_SPREADS = having(Trait.GENERATES) | {"broadcast"}


def joins(instruction: Instruction, members: Collection[Instruction], *, cheap: bool) -> bool:
    """Whether the dots among some members ask about once for each element of what an instruction leads to.

    What is packed may be computed a few times more, so it must be `cheap`.
    """
    if instruction.opcode not in _SPREADS and not is_elementwise(instruction):
        return False
    pending, seen = [instruction], {instruction}
    operands: set[Instruction] = set()
    while pending:
        value = pending.pop()
        for user in value.users:
            if user in seen or user not in members:
                continue
            if user.opcode == "dot":
                if not _taken_once(value, user, cheap=cheap):
                    return False
                operands.add(value)
            elif user.opcode in MOVES or user.opcode == "broadcast" or is_elementwise(user):
                seen.add(user)
                pending.append(user)
            else:
                return False
    if instruction.opcode in _SPREADS:
        return bool(operands)
    size = instruction.array.size
    return bool(operands) and all(o.array.size == size for o in operands) and not _ends_product(instruction)


def _ends_product(instruction: Instruction) -> bool:
    """Whether an elementwise op comes from a product, whose kernel had better compute it.

    The nearest are looked at first, and no more than a kernel holds: what a deep model adds up goes back to its input.
    """
    walked, seen = [instruction], {instruction}
    for value in walked:
        if any(operand.opcode in PRODUCTS for operand in value.operands):
            return True
        if len(walked) < _LARGEST_WALK:
            following = [o for o in value.operands if o not in seen and is_elementwise(o)]
            seen.update(following)
            walked += dict.fromkeys(following)
    return False


def _taken_once(operand: Instruction, dot: Instruction, *, cheap: bool) -> bool:
    """Whether a dot takes an operand on one side only, and the other side has few rows or columns of its own."""
    if operand.array.element_type.is_complex or dot.operands[0] is dot.operands[1]:
        return False
    sides = ("lhs", "rhs") if operand is dot.operands[0] else ("rhs", "lhs")
    (free, last), (others, _) = (_free(dot, side) for side in sides)
    if math.prod(others) <= _ONCE:
        return True
    # Only packing makes narrow types fast, and only as they lie in memory; what must be turned around is read by rows.
    in_order = last == (sides[0] == "rhs") or not free
    return cheap and in_order and operand.array.element_type.bits >= _WORD_BITS and math.prod(others) <= _FEW


def _free(dot: Instruction, side: str) -> tuple[list[int], bool]:
    """The sizes of an operand's own dimensions, and whether they are the last ones in memory."""
    dims = dot.operands[side == "rhs"].array.dims
    taken = {d for kind in ("batch", "contracting") for d in dot.attributes.get(f"{side}_{kind}_dims", ())}
    free = [d for d in range(len(dims)) if d not in taken]
    return [dims[d] for d in free], bool(free) and free[-1] == len(dims) - 1
