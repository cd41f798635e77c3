"""Control flow inside the code of one element: what combines, compares or maps by a branch or a loop that data decide.

Frontends write such computations seldom, and whatever runs them holds no memory for a state: tuples of scalars, however
nested, are carried from block to block as values.  Nothing known beforehand says which branch is taken or how often a
loop iterates, so no pass takes them apart; what they come to is the same as of the plain operation, so that laws that
reductions rest on hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.generate import bodies
from compiler.generate.choices import chance, pick
from compiler.generate.scope import Scope
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.types import S32
from compiler.ops.build import build, constant

FLOW = ("while", "element")
"""Stands among what must not be drawn where an engine does not run, or survive, loops and branches in such code."""
_PERCENT, _MAPPED_PERCENT = 6, 25
"""How often two values are combined by way of a branch or a loop; how often what is mapped is."""
_MOST_ELEMENTS = 512
"""Elements of arrays at most: of 16,000 updates the reference takes a minute with a loop for each (measured)."""
_TRIPS = ((2, 2), (2, 4), (4, 2))
"""How often a loop exchanges two values, where they are equal and where they are not: an even number of times."""

Make = Callable[[Sequence[Instruction]], Instruction]
"""Computes a value of some scalars, in their computation."""


def combined(scope: Scope, opcode: str, pair: Sequence[Instruction]) -> Instruction:
    """What an opcode makes of two scalars, now and then by way of a branch or a loop.

    Args:
        scope: whose program it is for, and the source of decisions.
        opcode: a binary one.
        pair: the scalars, in whose computation it is put.
    """

    def plain(values: Sequence[Instruction]) -> Instruction:
        return build(values[0].computation, opcode, values)

    if not may_flow(scope) or not chance(scope.choices, _PERCENT):
        return plain(pair)
    return pick(scope.choices, (_branched, _of_several, _looped, _exchanged))(scope, plain, pair)


def may_flow(scope: Scope) -> bool:
    """Whether control flow may stand in the code of one element, which the reference goes through for each of them."""
    space = scope.program.space
    is_drawn = {"while", "conditional"} <= space.opcodes and FLOW not in space.banned
    return is_drawn and space.most_elements <= _MOST_ELEMENTS


def mapped(inner: Scope, opcode: str, pair: Sequence[Instruction]) -> Instruction | None:
    """Now and then what an opcode makes of two scalars once or several times, as often as they say.

    Args:
        inner: of a computation that is mapped, where it is put.
        opcode: a binary one.
        pair: the scalars.
    """
    if not may_flow(inner) or not chance(inner.choices, _MAPPED_PERCENT):
        return None

    def plain(values: Sequence[Instruction]) -> Instruction:
        return build(values[0].computation, opcode, values)

    if chance(inner.choices, 50):
        return pick(inner.choices, (_branched, _of_several))(inner, plain, pair)
    least = inner.choices.integer(0, 2)
    return _loop(inner, plain, pair, _number_by(pair, least, least + inner.choices.integer(1, 2)))


def selected(scope: Scope, value: Instruction, pair: Sequence[Instruction]) -> Instruction:
    """A truth value, by way of a branch or a loop over it that two other scalars decide.

    Args:
        scope: whose program it is for, and the source of decisions.
        value: the truth value.
        pair: the scalars, in the same computation.
    """

    def kept(values: Sequence[Instruction]) -> Instruction:
        return build(values[0].computation, "and", [values[0], values[0]])

    if chance(scope.choices, 50):
        return branch(scope, _compared(pair, "EQ"), [value, *pair], (kept, kept))
    return _repeated(scope, _number_by(pair, 1, 2), [value, *pair], lambda v: [kept(v), *v[1:]])[0]


def branch(
    scope: Scope, selector: Instruction, given: Sequence[Instruction], makes: Sequence[Make], *, turned: bool = False
) -> Instruction:
    """A branch that takes several scalars, all of them in one tuple.

    Args:
        scope: whose program it is for, and the source of decisions.
        selector: a truth value, or a number.
        given: the scalars.
        makes: what each of the branches does with them, the first of two where the selector is true.
        turned: whether every other branch is given them from the last one on.
    """
    outer, branches, operands = _around(scope, selector.computation), list[Computation](), list[Instruction]()
    for number, make in enumerate(makes):
        is_turned = turned and number % 2 == 1
        values = list(given)[::-1] if is_turned else list(given)
        shape = bodies.shape_of(scope, values)
        operands.append(bodies.packed(outer, shape, iter(values)))
        inner = bodies.inner_of(scope, "branch")
        inside = bodies.unpacked(inner, shape)
        inner.computation.root = make(inside[::-1] if is_turned else inside)
        branches.append(inner.computation)
    if len(branches) == 2 and selector.array.element_type is not S32:
        named: dict[str, Any] = dict(zip(("true_computation", "false_computation"), branches, strict=True))
        return build(outer.computation, "conditional", [selector, *operands], **named)
    return build(outer.computation, "conditional", [selector, *operands], branch_computations=tuple(branches))


def _around(scope: Scope, computation: Computation) -> Scope:
    """A scope of a computation that has none of its own."""
    return Scope(scope.program, computation, depth=scope.depth + 1)


def _branched(scope: Scope, make: Make, pair: Sequence[Instruction]) -> Instruction:
    """By one of two branches, which get both values in either order."""
    return branch(scope, _compared(pair, "EQ"), pair, (make, make), turned=True)


def _of_several(scope: Scope, make: Make, pair: Sequence[Instruction]) -> Instruction:
    """By one of three branches, of which the last is taken for whatever is the number of none."""
    first = scope.choices.integer(-1, 2)
    return branch(scope, _number_by(pair, first, 1 - first), pair, (make,) * 3, turned=True)


def _looped(scope: Scope, make: Make, pair: Sequence[Instruction]) -> Instruction:
    """In a loop that iterates once."""
    return _loop(scope, make, pair, _number_by(pair, 1, 1))


def _exchanged(scope: Scope, make: Make, pair: Sequence[Instruction]) -> Instruction:
    """Behind a loop in which both values change places, and are at their own again in the end."""
    trips = _number_by(pair, *pick(scope.choices, _TRIPS))
    return make(_repeated(scope, trips, pair, lambda values: list(values)[::-1]))


def _loop(scope: Scope, make: Make, pair: Sequence[Instruction], trips: Instruction) -> Instruction:
    """What is made of the first value and the second, and of that and the second, and so on."""
    return _repeated(scope, trips, pair, lambda values: [make(values), values[1]])[0]


def _repeated(
    scope: Scope,
    trips: Instruction,
    given: Sequence[Instruction],
    following: Callable[[Sequence[Instruction]], Sequence[Instruction]],
) -> list[Instruction]:
    """Scalars after so many iterations of a loop."""
    outer, pieces = _around(scope, trips.computation), [trips, *given]
    shape = bodies.shape_of(scope, pieces)
    state = bodies.packed(outer, shape, iter(pieces))
    body = bodies.inner_of(scope, "body")
    left, *values = bodies.unpacked(body, shape)
    fewer = build(body.computation, "subtract", [left, _number(body.computation, 1)])
    body.computation.root = bodies.packed(body, shape, iter([fewer, *following(values)]))
    condition = _goes_on(scope, shape)
    done = build(outer.computation, "while", [state], condition=condition, body=body.computation)
    return bodies.elements(outer, done, 1)


def _goes_on(scope: Scope, shape: Shape) -> Computation:
    inner = bodies.inner_of(scope, "condition")
    left = bodies.unpacked(inner, shape)[0]
    pair = [left, _number(inner.computation, 0)]
    inner.computation.root = build(inner.computation, "compare", pair, direction="GT")
    return inner.computation


def _compared(pair: Sequence[Instruction], direction: str) -> Instruction:
    return build(pair[0].computation, "compare", pair, direction=direction)


def _number_by(pair: Sequence[Instruction], equal: int, other: int) -> Instruction:
    """One of two numbers, by whether both values are equal; nobody knows that it is one of these."""
    made = pair[0].computation
    terms = [
        build(made, "multiply", [build(made, "convert", [_compared(pair, direction)], shape=ArrayShape(S32, ())), one])
        for direction, one in (("EQ", _number(made, equal)), ("NE", _number(made, other)))
    ]
    return build(made, "add", terms)


def _number(computation: Computation, value: int) -> Instruction:
    return constant(computation, scalar_literal(value, S32))
