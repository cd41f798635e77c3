"""The place that a mutation works on, and the few ways in which it writes new instructions there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.analysis.effects import is_repeatable
from compiler.generate.choices import Choices
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import ElementType, Kind
from compiler.ops import Trait, having
from compiler.ops.build import build, constant

_MOST_ELEMENTS = 1 << 22
"""Elements of what a mutation adds: 16 MiB of f32."""
_TIED = frozenset({"channel_id", "replica_groups", "control-predecessors", "async_execution_thread"})
_NOT_ALONE = having(Trait.STRUCTURAL) | {"domain", "after-all", "bitcast"}
"""What says nothing by itself: it is what it is for those around it, in the computation where it stands."""


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction that is to be mutated, and where decisions come from."""

    instruction: Instruction
    choices: Choices

    @property
    def computation(self) -> Computation:
        """Where the instruction stands."""
        return self.instruction.computation

    @property
    def module(self) -> Module:
        """The program."""
        module = self.computation.module
        assert module is not None, "a computation that is mutated belongs to a module"
        return module

    @property
    def shape(self) -> ArrayShape:
        """The instruction's shape without its layout."""
        return bare(self.instruction)

    def build(self, opcode: str, operands: Sequence[Instruction] = (), **given: Any) -> Instruction:
        """Append an instruction beside it.

        Args:
            opcode: HLO's.
            operands: in order.
            given: attributes, or a shape where it does not follow.
        """
        return build(self.computation, opcode, operands, **given)

    def scalar(self, value: Any, element_type: ElementType | None = None) -> Instruction:
        """Append a scalar constant, of the instruction's own type where none is given."""
        return scalar(self.computation, value, element_type or self.shape.element_type)

    def filled(self, value: Any) -> Instruction:
        """Append an array of the instruction's shape that holds one value everywhere."""
        return filled(self.computation, value, self.shape)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One kind of change that keeps the results.

    Attributes:
        applies: whether it can be made at an instruction.
        rewrite: append what stands for the instruction from now on, and return it; the instruction itself where nothing
            is to be put in its place.
        everywhere: whether it is fit for computations that an op applies to elements, and for fused ones.
    """

    applies: Callable[[Instruction], bool]
    rewrite: Callable[[Site], Instruction]
    everywhere: bool = False


def bare(instruction: Instruction) -> ArrayShape:
    """The shape of an array without its layout."""
    return ArrayShape(instruction.array.element_type, instruction.array.dims)


def scalar(computation: Computation, value: Any, element_type: ElementType) -> Instruction:
    """Append a scalar constant.

    Args:
        computation: where it stands.
        value: the number.
        element_type: its type.
    """
    return constant(computation, scalar_literal(np.asarray(value).astype(element_type.dtype), element_type))


def filled(computation: Computation, value: Any, shape: ArrayShape) -> Instruction:
    """Append an array that holds one value everywhere.

    Args:
        computation: where instructions are added.
        value: a number.
        shape: of the array.
    """
    single = scalar(computation, value, shape.element_type)
    return build(computation, "broadcast", [single], shape=shape, dimensions=()) if shape.rank else single


def is_array(shape: Shape) -> bool:
    """Whether a value of the shape is one array of known size, not too large to be copied about."""
    if not isinstance(shape, ArrayShape) or shape.is_dynamic or shape.element_type.kind is Kind.OPAQUE:
        return False
    return 0 <= shape.size <= _MOST_ELEMENTS


def is_value(instruction: Instruction) -> bool:
    """Whether an instruction yields an array that may be had in another way."""
    return is_array(instruction.shape)


def is_movable(instruction: Instruction) -> bool:
    """Whether an instruction that yields an array may stand in another computation, or twice in its own."""
    if not is_value(instruction) or instruction.opcode in _NOT_ALONE or _TIED & instruction.attributes.keys():
        return False
    is_half = instruction.opcode.endswith(("-start", "-update", "-done")) and "slice" not in instruction.opcode
    return not is_half and is_repeatable(instruction) and all(_is_plain(o.shape) for o in instruction.operands)


def _is_plain(shape: Shape) -> bool:
    if isinstance(shape, TupleShape):
        return all(map(_is_plain, shape.elements))
    return is_array(shape)
