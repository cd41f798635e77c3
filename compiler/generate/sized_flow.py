"""Arrays that go through calls, branches and loops, and become something else in there.

Where sizes are known at run time only they go along as values: branches yield arrays of one shape whose sizes differ,
and what changes places in the state of a loop does so with its sizes.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.generate import bodies
from compiler.generate.choices import chance, pick
from compiler.generate.scope import Scope
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.types import PRED, S32

Within = Callable[[Scope, Instruction], Instruction | None]
"""Draws what becomes of an array inside of another computation; None where that is nothing."""

_BY_SIZE_PERCENT, _CHANGING_PERCENT, _SECOND_PERCENT = 50, 50, 50
"""How often a size says how often a loop iterates; how often its arrays change places, and the second is the result."""
_MOST_TRIPS, _MOST_BRANCHES = 3, 3
"""Iterations of a loop, enough for arrays to change places and back, and branches of a choice by number."""


def steps(anything: Within, kept: Within) -> dict[str, Within]:
    """What a value goes through, by opcode; nothing where computations nest as deep as they may.

    Args:
        anything: what becomes of an array in a computation that is called.
        kept: the same where its shape stays, so that others may stand in its place.
    """
    return {
        "call": _nesting(_called, anything),
        "conditional": _nesting(_chosen, kept),
        "while": _nesting(_iterated, kept),
    }


def _nesting(draw: Callable[[Scope, Instruction, Within], Instruction], within: Within) -> Within:
    def guarded(scope: Scope, value: Instruction) -> Instruction | None:
        return draw(scope, value, within) if scope.depth < scope.program.space.depth else None

    return guarded


def _called(scope: Scope, value: Instruction, within: Within) -> Instruction:
    """What a computation makes of the value, of any shape."""
    inner = bodies.inner_of(scope, "sized")
    inner.computation.root = _made(inner, inner.parameter(value.shape), within)
    return scope.build("call", [value], to_apply=inner.computation)


def _chosen(scope: Scope, value: Instruction, within: Within) -> Instruction:
    """What one of two or three computations makes of the value; its sizes are those of whichever it is."""
    is_two_way = chance(scope.choices, 50)
    count = 2 if is_two_way else scope.choices.integer(1, _MOST_BRANCHES)
    branches = tuple(_branch(scope, value, within) for _ in range(count))
    selector = scope.unknown(ArrayShape(PRED if is_two_way else S32, ()))
    names = ("true_computation", "false_computation")
    named = dict(zip(names, branches, strict=True)) if is_two_way else {"branch_computations": branches}
    return scope.build("conditional", [selector, *[value] * count], **named)


def _branch(scope: Scope, value: Instruction, within: Within) -> Computation:
    inner = bodies.inner_of(scope, "sized")
    given = inner.parameter(value.shape)
    inner.computation.root = _of_shape(inner, given, within)
    return inner.computation


def _iterated(scope: Scope, value: Instruction, within: Within) -> Instruction:
    """One of two arrays of a loop that begin as the value and what becomes of it; they may change places."""
    first, along, limit = 0, 0, scope.choices.integer(1, _MOST_TRIPS)
    if value.array.is_dynamic and chance(scope.choices, _BY_SIZE_PERCENT):
        along = pick(scope.choices, [d for d, is_cut in enumerate(value.array.dynamic) if is_cut])
        # A size is at most its bound, so that there are as few iterations as of a loop that counts to a constant.
        first, limit = max(0, value.array.dims[along] - _MOST_TRIPS), 0
    state = scope.build("tuple", [scope.constant(first, S32), value, _of_shape(scope, value, within)])
    attributes = {"condition": _condition(scope, state.shape, along, limit), "body": _body(scope, state.shape, within)}
    loop = scope.build("while", [state], **attributes)
    return scope.build("get-tuple-element", [loop], index=2 if chance(scope.choices, _SECOND_PERCENT) else 1)


def _condition(scope: Scope, shape: Shape, along: int, limit: int) -> Computation:
    """Whether the number of the iteration is below a limit; or below a size, where that is 0."""
    inner = bodies.inner_of(scope, "condition")
    number, array, _ = bodies.unpacked(inner, shape)
    most = inner.constant(limit, S32) if limit else inner.build("get-dimension-size", [array], dimensions=(along,))
    inner.computation.root = inner.build("compare", [number, most], direction="LT")
    return inner.computation


def _body(scope: Scope, shape: Shape, within: Within) -> Computation:
    inner = bodies.inner_of(scope, "body")
    number, one, other = bodies.unpacked(inner, shape)
    following = [_of_shape(inner, one, within), other]
    if chance(scope.choices, _CHANGING_PERCENT):
        following.reverse()
    advanced = inner.build("add", [number, inner.constant(1, S32)])
    inner.computation.root = inner.build("tuple", [advanced, *following])
    return inner.computation


def _made(inner: Scope, value: Instruction, within: Within) -> Instruction:
    return within(inner, value) or value


def _of_shape(inner: Scope, value: Instruction, within: Within) -> Instruction:
    """What becomes of an array, if it has the same shape, else the array."""
    made = _made(inner, value, within)
    return made if made.shape == value.shape else value
