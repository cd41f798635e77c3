"""Side effects: what besides its value keeps an instruction alive, or keeps it from being done twice.

An instruction with an effect must stay although nothing uses it, and must not be done twice.  A random one may go, but
two of them are not one.  One that a control dependency names must stay while the dependency does.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.calls import reached
from compiler.ir.control import PREDECESSORS, predecessors
from compiler.ir.module import Computation, Instruction, Module
from compiler.ops import OPS, Trait, having

_RANDOM = having(Trait.RANDOM)
_QUIET = frozenset(OPS) - having(Trait.SIDE_EFFECT)
_COMPUTING = _QUIET - _RANDOM - {"custom-call"}
_HAS_EFFECT = "custom_call_has_side_effect"


def has_effect(instruction: Instruction) -> bool:
    """Whether an instruction must stay although nothing uses it."""
    if instruction.opcode == "parameter" or _acts(instruction):
        return True
    return instruction.is_call and any(map(_acts, _of_callees(instruction)))


def is_repeatable(instruction: Instruction) -> bool:
    """Whether an instruction does nothing but compute, and computes the same each time."""
    if not _computes(instruction):
        return False
    return not instruction.is_call or all(map(_computes, _of_callees(instruction)))


def control_predecessors(computation: Computation) -> set[Instruction]:
    """The instructions that control dependencies name."""
    return {p for i in computation.instructions if PREDECESSORS in i.attributes for p in predecessors(i)}


def within_fusions(module: Module) -> set[Computation]:
    """The computations that fusions call, directly or not: they are kernels' insides."""
    return set(reached(c for i in module.instructions() if i.opcode == "fusion" for c in i.called_computations()))


def _acts(instruction: Instruction) -> bool:
    return instruction.opcode not in _QUIET or bool(instruction.attributes.get(_HAS_EFFECT))


def _computes(instruction: Instruction) -> bool:
    return instruction.opcode in _COMPUTING and not instruction.attributes.get(_HAS_EFFECT)


def _of_callees(instruction: Instruction) -> Iterator[Instruction]:
    """The instructions of all computations that an instruction calls, directly or not."""
    called = tuple(instruction.called_computations())
    for computation in reached(called) if called else ():
        yield from computation.instructions
