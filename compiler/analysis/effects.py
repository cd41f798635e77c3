"""What besides its value an instruction is there for: effects, randomness, an order that others rely on, calls.

An instruction with an effect must stay although nothing uses it, and must not be done twice.  A random one may go, but
two of them are not one.  One that a control dependency names must stay while the dependency does.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.calls import reached
from compiler.ir.control import predecessors
from compiler.ir.module import Computation, Instruction, Module
from compiler.ops import OPS, Trait, having

_RANDOM = having(Trait.RANDOM)


def has_effect(instruction: Instruction) -> bool:
    """Whether an instruction must stay although nothing uses it."""
    return instruction.opcode == "parameter" or any(_acts(i) for i in _with_callees(instruction))


def is_repeatable(instruction: Instruction) -> bool:
    """Whether an instruction does nothing but compute, and computes the same each time."""
    return not any(_acts(i) or i.opcode in _RANDOM or i.opcode == "custom-call" for i in _with_callees(instruction))


def control_predecessors(computation: Computation) -> set[Instruction]:
    """The instructions that control dependencies name."""
    return {p for i in computation.instructions for p in predecessors(i)}


def within_fusions(module: Module) -> set[Computation]:
    """The computations that fusions call, directly or not: they are kernels' insides."""
    return set(reached(c for i in module.instructions() if i.opcode == "fusion" for c in i.called_computations()))


def _acts(instruction: Instruction) -> bool:
    op = OPS.get(instruction.opcode)
    return (
        op is None or Trait.SIDE_EFFECT in op.traits or bool(instruction.attributes.get("custom_call_has_side_effect"))
    )


def _with_callees(instruction: Instruction) -> Iterator[Instruction]:
    """The instruction, and all of the computations that it calls, directly or not."""
    yield instruction
    for computation in reached(instruction.called_computations()):
        yield from computation.instructions
