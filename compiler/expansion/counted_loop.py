"""Loops written as formulas: a state of arrays, a step that makes the next state, and how often.

Back ends run the `while` that comes out like any other; the arrays of the state are updated in place where a step only
changes parts of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.expansion.expression import Expression, element, number
from compiler.ir.module import Computation
from compiler.ir.shape import Shape
from compiler.ir.types import S32
from compiler.ops.build import build, parameter

Step = Callable[[Expression, list[Expression]], Sequence[Expression]]
GoesOn = Callable[[Expression, list[Expression]], Expression]


def counted_loop(
    name: str, count: int, start: Sequence[Expression], step: Step, goes_on: GoesOn | None = None
) -> list[Expression]:
    """The state after so many steps, numbered from 0, or after the first before which `goes_on` fails.

    Args:
        name: of the loop's computations.
        count: steps.
        start: the state before the first step.
        step: given the step's number and the state, as expressions of the loop's own computation, the state after it.
        goes_on: given the same, a scalar predicate; None for a loop that goes on to its end.
    """
    computation = start[0].instruction.computation
    assert computation.module is not None
    zero = number(computation, 0, S32)
    state = build(computation, "tuple", [zero.instruction, *(array.instruction for array in start)])
    condition, body = Computation(f"{name}.goes_on"), Computation(f"{name}.step")
    computation.module.add_computation(condition)
    computation.module.add_computation(body)
    at, arrays = _state_of(condition, state.shape, len(start))
    test = at.compare("LT", count)
    condition.root = (test if goes_on is None else test & goes_on(at, arrays)).instruction
    at, arrays = _state_of(body, state.shape, len(start))
    following = [at + 1, *step(at, arrays)]
    body.root = build(body, "tuple", [array.instruction for array in following])
    loop = build(computation, "while", [state], condition=condition, body=body, name=name)
    return [Expression(element(loop, index + 1)) for index in range(len(start))]


def _state_of(computation: Computation, shape: Shape, count: int) -> tuple[Expression, list[Expression]]:
    state = parameter(computation, 0, shape)
    at, *arrays = [Expression(element(state, index)) for index in range(count + 1)]
    return at, arrays
