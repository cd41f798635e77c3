"""Values written in a program: an array or a tuple of literals, bit for bit.

Two literals are equal when every bit is, so NaN equals a NaN of the same payload and 0 differs from -0.  An *elided*
literal is the `{...}` that XLA prints for a long constant: its value is unknown and nothing may be computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import ElementType

Array = NDArray[Any]

_HASHED = 64
"""How many elements a hash looks at, about."""


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: exactly one of `array` and `elements` holds the value, neither when it is elided."""

    shape: Shape
    array: Array | None = None
    elements: tuple[Literal, ...] | None = None

    @property
    def elided(self) -> bool:
        """Whether the value was left out of the text."""
        if self.elements is not None:
            return any(element.elided for element in self.elements)
        return self.array is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal) or self.shape != other.shape:
            return False
        if self.array is None or other.array is None:
            return self.array is other.array and self.elements == other.elements
        return self.array.tobytes() == other.array.tobytes()

    def __hash__(self) -> int:
        if self.array is None:
            return hash((self.shape, self.elements))
        # Of a long one some elements do: it is asked for again and again, and equals are compared as a whole.
        some = self.array.reshape(-1)[:: max(1, self.array.size // _HASHED)]
        return hash((self.shape, some.tobytes()))


def array_literal(value: Any, element_type: ElementType) -> Literal:
    """A literal from anything NumPy can turn into an array of that element type."""
    array = np.asarray(value, dtype=element_type.dtype, order="C")
    return Literal(ArrayShape(element_type, array.shape), array)


def scalar_literal(value: Any, element_type: ElementType) -> Literal:
    """A rank-0 literal."""
    return array_literal(value, element_type)


def tuple_literal(elements: tuple[Literal, ...]) -> Literal:
    """A tuple of literals."""
    return Literal(TupleShape(tuple(element.shape for element in elements)), elements=elements)
