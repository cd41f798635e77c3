"""What a wide rule is given: the lifted instruction, its operands with their errors, and what it may ask."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.interpreter import Interpreter
from compiler.ir.module import Computation, Instruction
from compiler.ir.opdef import Value
from compiler.ir.types import ElementType
from compiler.ops import OPS
from compiler.wide.numbers import WideValue, certain


@dataclass(frozen=True, slots=True)
class Context:
    """The run that a rule is part of.

    Attributes:
        originals: the instruction, in its own types, that each lifted one was made of.
        loop: runs computations on values with errors.
        plain: runs computations on arrays.
        signed: those of the originals whose zeros have one sign in every implementation.
    """

    originals: Mapping[Instruction, Instruction]
    loop: Interpreter
    plain: Interpreter
    signed: Collection[Instruction]

    def own(self, instruction: Instruction) -> ElementType:
        """The element type that the program states for an instruction's result."""
        return self.originals[instruction].array.element_type

    def evaluate(self, instruction: Instruction, arrays: Sequence[Any]) -> Any:
        """The meaning of an instruction on arrays alone."""
        meaning = OPS[instruction.opcode].evaluate
        assert meaning is not None, f"the plan of a computation holds no {instruction.opcode} without a meaning"
        return meaning(instruction, arrays, self.plain)

    def call(self, computation: Computation, arguments: Sequence[WideValue]) -> WideValue:
        """A computation on values with errors."""
        return certain(self.loop.call(computation, arguments))  # type: ignore[arg-type]  # the loop looks at no value


Rule = Callable[[Instruction, Sequence[Any], Context], "WideValue | Value"]
"""The value of a lifted instruction; arrays in it that carry no error are exact."""


__all__ = ["Context", "Rule"]
