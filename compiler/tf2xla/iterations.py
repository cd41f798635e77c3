"""How often a loop runs, where that follows from what is known when the graph is compiled.

Lists to which a loop adds need room for all that it will add, and TensorFlow 2 seldom says how much that is.  Of the
loop's state those numbers are followed, iteration by iteration, that its condition asks for; where the condition is a
conjunction, one part of it that can be followed is a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from compiler.interpreter import evaluate_instruction
from compiler.ir.module import Computation, Instruction
from compiler.ops import OPS, having
from compiler.ops import Trait as OpTrait
from compiler.tf2xla.operation import Array

MOST = 1 << 16
"""Iterations that are followed."""

_UNKNOWN = having(OpTrait.RANDOM) | {"parameter"}


def most_iterations(condition: Computation, body: Computation, known: Sequence[Array | None]) -> int | None:
    """A bound on the iterations of a loop, None where none is found.

    Args:
        condition: takes the state, gives a pred.
        body: takes the state, gives the next.
        known: of each element of the state the value that it begins with, where it is known.
    """
    found = (_followed(test, body, known) for test in _conjuncts(condition.root))
    return min((one for one in found if one is not None), default=None)


def _conjuncts(test: Instruction) -> Iterator[Instruction]:
    if test.opcode == "and" and not test.array.dims:
        for operand in test.operands:
            yield from _conjuncts(operand)
    else:
        yield test


def _followed(test: Instruction, body: Computation, known: Sequence[Array | None]) -> int | None:
    """After how many iterations a test fails."""
    asked = _asked(test)
    while asked is not None:
        more = [_asked(body.root.operands[number]) for number in sorted(asked)]
        reached = asked.union(*(one for one in more if one is not None))
        if None in more or any(known[number] is None for number in reached):
            return None
        if reached == asked:
            break
        asked = reached
    if asked is None:
        return None
    state = {number: value for number in asked if (value := known[number]) is not None}
    for count in range(MOST):
        if not _evaluated(test, state):
            return count
        state = {number: _evaluated(body.root.operands[number], state) for number in asked}
    return None


def _walked(root: Instruction, is_leaf: Callable[[Instruction], bool]) -> list[Instruction]:
    """What an instruction is computed from, operands first."""
    done: dict[Instruction, None] = {}
    stack = [root]
    while stack:
        instruction = stack[-1]
        waiting = [] if is_leaf(instruction) else [one for one in instruction.operands if one not in done]
        if waiting:
            stack += waiting
        else:
            done[stack.pop()] = None
    return list(done)


def _is_state(instruction: Instruction) -> bool:
    return instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter"


def _asked(root: Instruction) -> frozenset[int] | None:
    """The elements of the state that an instruction follows from; None where it follows from something else."""
    walked = _walked(root, _is_state)
    if any(not _is_state(one) and (one.opcode in _UNKNOWN or OPS[one.opcode].evaluate is None) for one in walked):
        return None
    return frozenset(one.attributes["index"] for one in walked if _is_state(one))


def _evaluated(root: Instruction, state: Mapping[int, Array]) -> Array:
    values: dict[Instruction, Array] = {}
    for one in _walked(root, _is_state):
        if _is_state(one):
            values[one] = state[one.attributes["index"]]
        else:
            operands = [values[operand] for operand in one.operands]
            values[one] = evaluate_instruction(one, operands)  # type: ignore[assignment, arg-type]  # no tuples
    return values[root]
