"""Whether the sign of a zero is part of a result, or up to an implementation.

The initial value of a reduction may be added or not, and its elements in any pairs: of exact numbers the sum is exact,
the sign of its zero is not.  The larger of 0 and -0 may be either.  What only moves, chooses, negates, adds, multiplies
or divides has zeros of one sign, as long as all that it is made of has: x + 0 is not x, but for XLA, which takes that
liberty.  This is asked of the program and not of its values, so that it costs nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from compiler.ir.module import Instruction, Module
from compiler.ir.shape import ArrayShape, Shape, leaves
from compiler.ir.types import PRED, Kind
from compiler.ops import Trait, having

_KEEPS = having(Trait.SIGNED_ZEROS | Trait.MOVES | Trait.SELECTS | Trait.GENERATES | Trait.TUPLES | Trait.VIEW)
"""Their zeros have the signs that those of their operands give them, if they do not read bits as another type."""
_ARITHMETIC = having(Trait.IEEE) & _KEEPS
"""Of complex numbers each part of theirs is a sum of several."""


def known_signs(module: Module) -> frozenset[Instruction]:
    """The instructions of the entry whose zeros have one sign in every implementation."""
    known = set[Instruction]()
    for instruction in module.entry.instructions:
        if _is_known(instruction, known):
            known.add(instruction)
    return frozenset(known)


def are_known(module: Module, known: Collection[Instruction]) -> list[bool]:
    """For each leaf of a module's result, in order, whether its zeros have one sign in every implementation.

    Args:
        module: the program.
        known: `known_signs` of it.
    """
    root = module.entry.root
    results = root.operands if root.opcode == "tuple" else (root,)
    return [
        result in known
        for result in results
        for leaf in leaves(result.shape)
        if leaf.element_type.kind is not Kind.OPAQUE
    ]


def _is_known(instruction: Instruction, known: Collection[Instruction]) -> bool:
    opcode = instruction.opcode
    if opcode == "parameter" or not _has_signs(instruction.shape):
        return True
    if opcode == "abs":  # whatever sign a zero had
        return True
    if opcode in _ARITHMETIC and not _is_plain(instruction):
        return False
    return (
        opcode in _KEEPS
        and not opcode.startswith("bitcast")
        and all(operand in known for operand in instruction.operands)
    )


def _has_signs(shape: Shape) -> bool:
    return any(leaf.element_type.is_float or leaf.element_type.is_complex for leaf in leaves(shape))


def _is_plain(computed: Instruction) -> bool:
    """Whether a sum, product or quotient is one of real numbers, none of which is a predicate to a compiler that looks.

    Each part of a complex one is a sum; and a product with a predicate is a choice, between the other factor and 0.
    """
    return computed.array.element_type.is_float and not any(map(_was_predicate, computed.operands))


def _was_predicate(value: Instruction) -> bool:
    while value.opcode in ("broadcast", "reshape", "transpose", "copy", "convert"):
        value = value.operands[0]
    return isinstance(value.shape, ArrayShape) and value.array.element_type is PRED
