"""Sizes of arrays that values decide: HLO's dynamic dimensions, whose sizes are known up to a bound before a run.

Only ops with the trait `SIZED` take such arrays; whatever else meets one is refused by its name, since formulas with
sizes in them would take the bounds for these.
"""

from __future__ import annotations

from compiler.expansion.expression import Expression


def is_sized(x: Expression) -> bool:
    """Whether values decide a size of an array."""
    return x.instruction.array.is_dynamic


def element_of(vector: Expression, index: int) -> Expression:
    """A number of a vector: of one that was put together the piece itself, which may be known where others are not."""
    instruction = vector.instruction
    if instruction.opcode == "convert":
        return element_of(Expression(instruction.operands[0]), index).to(vector.type)
    if instruction.opcode == "concatenate":
        for piece in map(Expression, instruction.operands):
            if index < piece.dims[0]:
                return element_of(piece, index)
            index -= piece.dims[0]
    return vector.slice((index, index + 1)).reshape()
