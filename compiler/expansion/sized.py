"""Arrays whose sizes are known at run time only, as arrays of their bounds with the sizes beside them.

What lies beyond the sizes means nothing, so whoever could see it fills it with something harmless first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Any

from compiler.expansion.expression import Expression, element, iota, number
from compiler.ir.control import PREDECESSORS
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import S32

Sizes = Mapping[int, Expression]
"""The sizes of dimensions that may be shorter than their bounds, as s32 scalars."""


@dataclass(frozen=True, slots=True)
class Sized:
    """An array of its bounds, and the sizes; what is no array has none."""

    instruction: Instruction
    sizes: Sizes = field(default_factory=dict)

    @property
    def whole(self) -> Expression:
        """The array of its bounds."""
        return Expression(self.instruction)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.instruction.array.rank

    def size(self, dimension: int) -> Expression:
        """The size of a dimension."""
        known = self.sizes.get(dimension)
        return known or number(self.instruction.computation, self.whole.dims[dimension], S32)

    def inside(self, dimensions: Sequence[int]) -> Expression | None:
        """A mask of the elements that lie within the sizes of some dimensions; None if all do."""
        computation, dims = self.instruction.computation, self.whole.dims
        masks = [iota(computation, S32, dims, d).compare("LT", self.sizes[d]) for d in dimensions if d in self.sizes]
        return reduce(and_, masks) if masks else None

    def filled(self, filler: Expression | complex, dimensions: Sequence[int]) -> Expression:
        """The array with a value in place of what lies beyond the sizes of some dimensions."""
        inside = self.inside(dimensions)
        value = filler if isinstance(filler, Expression) else self.whole.literal(filler)
        return self.whole if inside is None else inside.where(self.whole, value)


def static(shape: Shape) -> Shape:
    """A shape with bounds for sizes."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(static, shape.elements)))
    return ArrayShape(shape.element_type, shape.dims, layout=shape.layout) if isinstance(shape, ArrayShape) else shape


def same_opcode(instruction: Instruction, operands: Sequence[Expression | Sized], **attributes: Any) -> Instruction:
    """The instruction on whole arrays.

    Args:
        instruction: gives opcode, attributes and shape.
        operands: what it is applied to.
        attributes: that are set anew.
    """
    given = [o.instruction for o in operands]
    copy = instruction.clone(given, shape=static(instruction.shape))
    copy.attributes.update(attributes)
    copy.attributes.pop(PREDECESSORS, None)
    return given[0].computation.add(copy)


def result_of(result: Instruction, sizes: Sizes) -> Sized | tuple[Sized, ...]:
    """An array, or the elements of a tuple, of the same sizes."""
    if not isinstance(result.shape, TupleShape):
        return Sized(result, sizes)
    return tuple(Sized(element(result, index), sizes) for index in range(len(result.shape.elements)))
