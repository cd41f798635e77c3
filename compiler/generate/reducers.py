"""Reducers that are associative, and mind which of two comes first: of one value, or of several that belong together.

A reduction keeps the order of its elements and may put brackets anywhere (StableHLO's specification, `reduce`).  Sums
and extrema do not tell one order from another; compositions do, whatever is exchanged, and whatever begins from another
value than the identity.  All are exact: on integers, which wrap, brackets change no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from compiler.generate.choices import pick
from compiler.generate.scope import Scope
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape
from compiler.ops.build import build, constant, parameter

Side = Sequence[Instruction]
Combine = Callable[[Side, Side], list[Instruction]]
"""What one of two sides' values comes of both, the left one's first."""


class Reducer(NamedTuple):
    """Combines values that belong together; `identity` leaves others alone."""

    identity: tuple[int, ...]
    combine: Combine


def _of(opcode: str, *operands: Instruction) -> Instruction:
    return build(operands[0].computation, opcode, operands)


def _is_set(value: Instruction) -> Instruction:
    zero = constant(value.computation, scalar_literal(0, value.array.element_type))
    return build(value.computation, "compare", [value, zero], direction="NE")


def _last_set(left: Side, right: Side) -> list[Instruction]:
    return [_of("select", _is_set(right[0]), right[0], left[0])]


def _first_set(left: Side, right: Side) -> list[Instruction]:
    return [_of("select", _is_set(left[0]), left[0], right[0])]


def _affine(left: Side, right: Side) -> list[Instruction]:
    """`x -> factor * x + summand`, the left one first."""
    summand = _of("add", _of("multiply", left[1], right[0]), right[1])
    return [_of("multiply", left[0], right[0]), summand]


def _segmented_sum(left: Side, right: Side) -> list[Instruction]:
    """Sums that begin anew where a flag is set."""
    total = _of("select", _is_set(right[0]), right[1], _of("add", left[1], right[1]))
    return [_of("or", left[0], right[0]), total]


def _product_of_matrices(left: Side, right: Side) -> list[Instruction]:
    """Of two rows and two columns."""

    def entry(row: int, column: int) -> Instruction:
        terms = [_of("multiply", left[2 * row + k], right[2 * k + column]) for k in range(2)]
        return _of("add", *terms)

    return [entry(row, column) for row in range(2) for column in range(2)]


REDUCERS: Mapping[str, Reducer] = {
    "last_set": Reducer((0,), _last_set),
    "first_set": Reducer((0,), _first_set),
    "affine": Reducer((1, 0), _affine),
    "segmented_sum": Reducer((0, 0), _segmented_sum),
    "product_of_matrices": Reducer((1, 0, 0, 1), _product_of_matrices),
}
"""By a name; those of one value first."""


def in_order(scope: Scope, first: Instruction, most: int = 4) -> tuple[list[Instruction], Computation]:
    """What is reduced by one of these reducers, initial values behind the arrays, and the reducer.

    Args:
        scope: where the arrays stand.
        first: one of the arrays, of integers; the others are like it.
        most: how many arrays there are at most.
    """
    name = pick(scope.choices, [name for name, reducer in REDUCERS.items() if len(reducer.identity) <= most])
    identity, combine = REDUCERS[name]
    arrays, element_type = [first], first.array.element_type
    while len(arrays) < len(identity):
        arrays.append(scope.like(first.array, beside=arrays[-1]))
    made, count = scope.program.computation(name), len(identity)
    given = [parameter(made, number, ArrayShape(element_type, ())) for number in range(2 * count)]
    results = combine(given[:count], given[count:])
    made.root = results[0] if count == 1 else build(made, "tuple", results)
    return [*arrays, *(scope.constant(number, element_type) for number in identity)], made
