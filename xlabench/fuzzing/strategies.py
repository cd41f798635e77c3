"""Generated programs as a Hypothesis strategy: the same generator, its choices drawn, and so shrunk, by Hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies
from hypothesis.strategies import DrawFn, SearchStrategy

import compiler
from compiler.generate import Space


class DrawnChoices:
    """A source of choices that asks Hypothesis."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """An integer that shrinks towards `low`."""
        return self._draw(strategies.integers(low, high))

    def more(self, drawn: int, most: int) -> bool:
        """Whether to go on; a no is the simpler."""
        return drawn < most and self._draw(strategies.booleans())

    def group(self, draw: Callable[[], None]) -> None:
        """Mark choices as one span, which the shrinker deletes as a whole."""
        self._draw(strategies.builds(draw))


@strategies.composite
def modules(draw: DrawFn, space: Space) -> Any:
    """Valid programs of a space."""
    return compiler.generate.program(DrawnChoices(draw), space)


def small_modules(opcodes: frozenset[str], element_types: frozenset[str]) -> SearchStrategy[Any]:
    """Programs of a few instructions, as the tests of one pass need them."""
    return modules(Space(opcodes, element_types, most_instructions=6, most_elements=256, budget=4096, depth=1))
