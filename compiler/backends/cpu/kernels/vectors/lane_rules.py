"""Opcodes that can be emitted on vectors: their rules do the same to every lane, for the types listed.

A rule qualifies if it is straight-line code of a builder's operations, all of which a `LaneBuilder` lifts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from compiler.codegen import math
from compiler.codegen.movement import is_uniform
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType
from compiler.ops import Trait, having, narrowing

_OPCODES = having(Trait.APPROXIMATE) | narrowing(
    Trait.ELEMENTWISE | Trait.MOVES | Trait.GENERATES | Trait.SELECTS | Trait.STRUCTURAL | Trait.COMBINES,
    "abs add and bitcast-convert broadcast ceil clamp compare constant convert copy count-leading-zeros divide floor "
    "get-tuple-element iota is-finite maximum minimum multiply negate not or pad popcnt reduce reshape "
    "round-nearest-even select shift-left shift-right-arithmetic shift-right-logical sign slice sqrt subtract "
    "transpose xor",
)
"""Opcodes that are emitted on vectors; the others are left to LLVM's vectoriser."""
_TYPES = frozenset({"pred", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "bf16", "f16", "f32", "f64"})


def fits(instructions: Iterable[Instruction], leaves: Iterable[Instruction], *, cheap: bool = False) -> bool:
    """Whether values can be emitted on vectors.

    Args:
        instructions: the values.
        leaves: what they are computed from.
        cheap: whether functions are computed in their cheaper forms, which need no table.
    """
    computed = list(instructions)
    types = {t.name for i in (*computed, *leaves) for t in _element_types(i)}
    return types <= _TYPES and all(
        i.opcode in _OPCODES and (_plain(i) or (cheap and math.has_fast_path(i.opcode))) for i in computed
    )


def _element_types(instruction: Instruction) -> list[ElementType]:
    arrays = [i.shape for i in (instruction, *instruction.operands)]
    return [shape.element_type for shape in arrays if isinstance(shape, ArrayShape)]


def _plain(instruction: Instruction) -> bool:
    """Whether an opcode's rule for these operands has a form on vectors."""
    condition = _CONDITIONS.get(instruction.opcode)
    return condition is None or condition(instruction)


def _of_floats(instruction: Instruction) -> bool:
    return instruction.array.element_type.is_float


def _is_wide(instruction: Instruction) -> bool:
    return instruction.array.element_type.bits >= 32


def _is_narrow(instruction: Instruction) -> bool:
    """Arguments of f64 are reduced by a table, one by one."""
    return instruction.array.element_type.bits < 64


def _keeps_width(instruction: Instruction) -> bool:
    return instruction.operands[0].array.element_type.bits == instruction.array.element_type.bits >= 32


def _converts(instruction: Instruction) -> bool:
    source, target = instruction.operands[0].array.element_type, instruction.array.element_type
    if target.is_integer:
        return not source.is_float
    return target.bits >= 32 or source.bits <= 16 or source.name == "f32"


def _combines_plainly(reduce: Instruction) -> bool:
    """Whether the reducer is straight-line code, too: a loop in it ends sooner in one lane than in another."""
    inner = [i for i in reduce.attributes["to_apply"].instructions if i.opcode not in ("parameter", "tuple")]
    return fits(inner, ())


_CONDITIONS: Mapping[str, Callable[[Instruction], bool]] = {
    "bitcast-convert": _keeps_width,
    "ceil": _is_wide,
    "convert": _converts,
    "cosine": _is_narrow,
    "divide": _of_floats,
    "floor": _is_wide,
    "pad": lambda pad: is_uniform(pad.operands[0]),
    "power": _of_floats,
    "reduce": _combines_plainly,
    "round-nearest-even": _is_wide,
    "sine": _is_narrow,
    "tan": _is_narrow,
}
"""What must hold where a rule has a form on vectors for some operands only."""
