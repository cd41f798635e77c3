"""On which side of a `Switch` a value is there, and what a `Merge` makes of two of them.

TensorFlow 1 writes a branch as nodes between `Switch` and `Merge`, of which those on the side that is not taken do not
run.  Compiled code runs both sides and chooses at the `Merge`, which is the same as long as nothing on them has an
effect; what has one there is refused, and so is a value that is there on one side only and leaves the graph.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.expansion.expression import Expression
from compiler.ir.module import Instruction
from compiler.ir.types import S32

Conditions = frozenset[tuple[Instruction, bool]]
"""Predicates that hold, or do not, where a value is there."""
ALWAYS: Conditions = frozenset()


def chosen(value: Expression, condition: bool) -> tuple[Instruction, bool]:  # noqa: FBT001  # the side
    """The condition of one side of a Switch."""
    return value.instruction, condition


def together(conditions: Iterable[Conditions]) -> Conditions:
    """Where all of several values are there."""
    return ALWAYS.union(*conditions)


def merged(values: list[Expression], conditions: list[Conditions]) -> tuple[Expression, Expression, Conditions] | None:
    """The value that is there of two, its number, and where one of them is; None where they are not two sides."""
    if len(values) != 2:
        return None
    common = conditions[0] & conditions[1]
    sides = [one - common for one in conditions]
    for predicate, holds in sides[0]:
        if (predicate, not holds) not in sides[1]:
            continue
        first = Expression(predicate)
        chooses = first if holds else first.apply("not")
        number = chooses.where(first.literal(0).to(S32), first.literal(1).to(S32))
        return chooses.where(*values), number, common
    return None
