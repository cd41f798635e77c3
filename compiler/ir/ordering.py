"""What a comparator orders elements by, where it compares one expression of the first with the same of the second.

Most comparators do (JAX's, for floats, first makes all NaN one and all zeros one).  Elements can then be ordered by
that expression, computed once for each.  A comparison of floats that is not by their total order has NaN unordered,
which leaves the order of all else open: NaN comes last, whichever way, as if the comparator said so.

Some compare a second expression where the first ones are equal, and so on (`orderings`).
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.module import Computation, Instruction
from compiler.ir.types import ElementType


@dataclass(frozen=True, slots=True)
class Ordering:
    """The order of a sort: by which operand, in which direction.

    Attributes:
        expression: the value, on one side of the comparison.
        descending: whether the greatest goes first.
        partial: whether both zeros are equal, and NaN is unordered and so comes last.
    """

    expression: Instruction
    descending: bool
    partial: bool

    @property
    def element_type(self) -> ElementType:
        """The type of the value."""
        return self.expression.array.element_type

    def as_computation(self) -> Computation:
        """The comparator's computation with the expression for a result: of either element, given as both."""
        computation = Computation("key")
        comparator = self.expression.parent
        assert comparator is not None
        computation.instructions, computation.root = comparator.instructions, self.expression
        return computation


def ordering(comparator: Computation) -> Ordering | None:
    """The order by which a comparator sorts, or None where it is of another kind."""
    return _ordering(comparator.root)


def _ordering(root: Instruction) -> Ordering | None:
    """The order that a comparison puts elements in, if that is what it does."""
    if root.opcode != "compare" or root.attributes["direction"] not in ("LT", "GT"):
        return None
    left, right = root.operands
    sides: set[int] = set()
    if left.array.element_type.is_complex or not _mirrored(left, right, sides) or len(sides) != 1:
        return None
    descending = (root.attributes["direction"] == "GT") != (sides == {1})
    return Ordering(left, descending, left.array.element_type.is_float and root.attributes.get("type") != "TOTALORDER")


def orderings(comparator: Computation) -> list[Ordering]:
    """The orders by which a comparator sorts, the next one where all before have two elements equal; none if unknown.

    Several are known where each has no two values that are unordered: `less or equal and ...`, as JAX writes it.
    """
    found, rest = list[Ordering](), comparator.root
    while rest.opcode == "or" and len(rest.operands) == 2:
        pair = _less_or_equal(*rest.operands) or _less_or_equal(*rest.operands[::-1])
        if pair is None:
            return []
        one, rest = pair
        found.append(one)
    last = _ordering(rest)
    if last is None or (found and any(one.partial for one in (*found, last))):
        return []
    return [*found, last]


def _less_or_equal(less: Instruction, both: Instruction) -> tuple[Ordering, Instruction] | None:
    """The order of `less or (equal and rest)`, and the rest; None where it is none of that."""
    found = _ordering(less)
    if found is None or both.opcode != "and":
        return None
    for equal, rest in (both.operands, both.operands[::-1]):
        is_equal = equal.opcode == "compare" and equal.attributes["direction"] == "EQ"
        if is_equal and set(equal.operands) == set(less.operands):
            return found, rest
    return None


def _mirrored(left: Instruction, right: Instruction, sides: set[int]) -> bool:
    """Whether two expressions are one, of either elements; adds which of the two the left one is of."""
    pending, seen = [(left, right)], set()
    while pending:
        pair = pending.pop()
        if pair in seen:
            continue
        seen.add(pair)
        one, other = pair
        if one.opcode != other.opcode or one.shape != other.shape or len(one.operands) != len(other.operands):
            return False
        if one.opcode == "parameter":
            if one.parameter_number != other.parameter_number ^ 1:
                return False
            sides.add(one.parameter_number % 2)
        elif one is not other and (not one.operands or one.meaning != other.meaning):
            return False
        pending.extend(zip(one.operands, other.operands, strict=True))
    return True
