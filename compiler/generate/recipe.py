"""What a recipe is: how to add one instruction of an opcode to a program, whatever values are at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.generate.scope import Scope
from compiler.ir.module import Instruction
from compiler.ir.types import TYPES, ElementType, Kind

Draw = Callable[[Scope, str, ElementType], Instruction | None]
"""Adds an instruction (and what it needs) to a scope; None where what was drawn cannot be."""

NUMBERS = tuple(t for t in TYPES.values() if t.kind is not Kind.OPAQUE)
INTEGERS = tuple(t for t in NUMBERS if t.is_integer)
FLOATS = tuple(t for t in NUMBERS if t.is_float)
COMPLEX = tuple(t for t in NUMBERS if t.is_complex)
REAL = tuple(t for t in NUMBERS if not t.is_complex)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The element types that an opcode can be drawn on, and how."""

    element_types: Sequence[ElementType]
    draw: Draw


def narrowed(element_types: Sequence[ElementType], scope: Scope) -> list[ElementType]:
    """The element types of a recipe that the program may use."""
    return [t for t in element_types if t.name in scope.program.space.element_types]
