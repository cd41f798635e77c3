"""Values of a wanted shape that are made of others, such as indices and updates of what they are to change.

What an operation writes to is then also what it reads, in another order: what is done in place, or takes one of its
operands for another, shows there.
"""

from __future__ import annotations

from compiler.generate.choices import chance
from compiler.generate.scope import Scope
from compiler.ir.attributes import SliceDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType

_REVERSED_PERCENT = 30
"""How often a value is derived by reversing another."""


def derived(scope: Scope, source: Instruction, shape: ArrayShape) -> Instruction | None:
    """A value of a shape with elements of the source, as often as it takes; None where that cannot be.

    Args:
        scope: where instructions are added.
        source: the value whose elements are taken.
        shape: of the result.
    """
    wanted, found = shape.size, source.array.size
    kind, own = shape.element_type, source.array.element_type
    needed = [("convert", own)] if kind is not own else []
    needed += [(opcode, kind) for opcode in ("reshape", "concatenate", "slice", "reverse")]
    if not wanted or not found or not _allowed(scope, needed) or own.is_complex:
        return None
    value = source if kind is own else scope.build("convert", [source], shape=ArrayShape(kind, source.array.dims))
    flat = scope.build("reshape", [value], shape=ArrayShape(kind, (found,)))
    if chance(scope.choices, _REVERSED_PERCENT):
        flat = scope.build("reverse", [flat], dimensions=(0,))
    times = -(-wanted // found)
    if not scope.fits([times * found]):
        return None
    if times > 1:
        flat = scope.build("concatenate", [flat] * times, dimensions=(0,))
    if times * found > wanted:
        first = scope.choices.integer(0, times * found - wanted)
        flat = scope.build("slice", [flat], slice=(SliceDimension(first, first + wanted, 1),))
    return scope.build("reshape", [flat], shape=ArrayShape(kind, shape.dims))


def _allowed(scope: Scope, pairs: list[tuple[str, ElementType]]) -> bool:
    banned = scope.program.space.banned
    return not any((opcode, kind.name) in banned for opcode, kind in pairs)
