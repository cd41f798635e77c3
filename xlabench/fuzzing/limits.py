"""How large the programs of a campaign may be, where somebody asked for small ones.

Small programs are compiled and run many times as fast as what campaigns draw otherwise, and what they show is seen at a
glance.  Of the seeds those come that are as small, and are planted; samples, which are a dozen programs side by side,
and kernels, which are about sizes, do not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import compiler
from compiler.generate import Space

Module = Any  # the compiler's; the harness sees its data by attribute only

_OPERANDS_TOO = 2
"""Instructions of a program for one that is drawn, at the least: most have a constant or a parameter for an operand."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most instructions of a program, those of all its computations, and the most elements of an array.

    None stands for what the profile draws.
    """

    instructions: int | None = None
    elements: int | None = None

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self.instructions is not None or self.elements is not None

    def hold(self, module: Module) -> bool:
        """Whether a program is within the limits."""
        if not self:
            return True
        instructions = list(module.instructions())
        if self.instructions is not None and len(instructions) > self.instructions:
            return False
        return self.elements is None or all(
            leaf.size <= self.elements
            for instruction in instructions
            for leaf in compiler.edit.leaves(instruction.shape)
            if hasattr(leaf, "size")
        )

    def space(self, space: Space) -> Space:
        """A space of programs of which many are within the limits."""
        if self.instructions is not None:
            most = max(1, self.instructions // _OPERANDS_TOO)
            space = replace(space, most_instructions=min(most, space.most_instructions))
        return replace(space, most_elements=self.least(space.most_elements))

    def least(self, most_elements: int) -> int:
        """So many elements, or as many as there may be."""
        return most_elements if self.elements is None else min(self.elements, most_elements)


UNLIMITED = Limits()
