"""A view of a `while`, which every analysis of loops begins with: its initial state, condition and body."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.module import Computation, Instruction


@dataclass(frozen=True, slots=True)
class LoopView:
    """A loop whose state is put together from pieces where it begins.

    Attributes:
        loop: the `while`, whose operand is a tuple.
    """

    loop: Instruction

    @property
    def initial(self) -> tuple[Instruction, ...]:
        """The pieces of the state before the first iteration."""
        return self.loop.operands[0].operands

    @property
    def condition(self) -> Computation:
        """Whether there is another iteration."""
        found: Computation = self.loop.attributes["condition"]
        return found

    @property
    def body(self) -> Computation:
        """The computation that an iteration runs."""
        found: Computation = self.loop.attributes["body"]
        return found
