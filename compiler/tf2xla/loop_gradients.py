"""Gradients of loops: a loop over the same iterations, from the last to the first.

The loop keeps the state that each of its iterations began with in lists (`TensorListPushBack`); its gradient takes them
out again, and goes through each iteration once more.  Lists have a greatest length, so the trip count must have a bound
that is known: the condition compares a counter with a limit that stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.graph import BY_NAME, FunctionReference
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.call_gradients import Differentiation, kinds, zeros_of
from compiler.tf2xla.errors import NoGradientError
from compiler.tf2xla.functions import Body, opened, placeholder
from compiler.tf2xla.terms import Built, Gradient, Output

_INT32 = BY_NAME["int32"]
_ANY_SHAPE = np.array(-1, np.int32)


@dataclass(frozen=True, slots=True)
class KeptLoop:
    """A loop that keeps what its iterations begin with.

    Attributes:
        body: the function of one iteration, as it was.
        inputs: what the loop begins with.
        kept: the numbers of what is kept: all that an iteration changes.
        lists: the outputs that are the lists.
    """

    body: FunctionReference
    inputs: Sequence[Output]
    kept: Sequence[int]
    lists: Sequence[Output]


def through_loop(work: Differentiation, built: Built, arrived: Sequence[Output | None]) -> list[Gradient]:
    """The gradients of what a loop begins with."""
    loop = work.builder.kept_loops.get(built.node.name)
    if loop is None:
        loop = work.builder.kept_loops[built.node.name] = _keep(work, built)
    floats = [n for n, one in enumerate(loop.inputs) if work.is_continuous(one)]
    starts = [_start(loop.inputs[n], arrived[n]) for n in floats]
    step, test, state = _backwards(work, loop, floats, starts)
    op = built.node.op
    gradient = built.maker.add(op, state, body=FunctionReference(step), cond=FunctionReference(test))
    found: dict[int, Output] = dict(zip(floats, gradient.outputs[1:], strict=False))
    return [found.get(n) for n in range(len(built.inputs))]


def _start(one: Output, arrived: Output | None) -> Output:
    return zeros_of(one) if arrived is None else arrived


def _keep(work: Differentiation, built: Built) -> KeptLoop:
    """Let a loop keep what its iterations begin with."""
    inputs = list(built.inputs)
    body, condition = (built.attribute(role) for role in ("body", "cond"))
    iteration = work.opened(body, inputs)
    kept = [n for n, one in enumerate(iteration.results) if _argument(iteration, one) != n]
    bound = _bound(work.builder, built, inputs)
    lists = [
        built.add("EmptyTensorList", inputs[n].op("Shape"), bound, element_dtype=inputs[n].type.base) for n in kept
    ]
    inside = [placeholder(iteration.builder, f"kept_{n}", one) for n, one in zip(kept, lists, strict=True)]
    pushed = [one.op("TensorListPushBack", iteration.arguments[n]) for n, one in zip(kept, inside, strict=True)]
    keeping = work.function(
        f"{body.name}_keeping", iteration, [*iteration.results, *pushed], [*iteration.arguments, *inside]
    )
    asked = opened(work.builder, condition.name, inputs, condition.attributes)
    unused = [placeholder(asked.builder, f"kept_{n}", one) for n, one in zip(kept, lists, strict=True)]
    asking = work.function(f"{condition.name}_keeping", asked, asked.results, [*asked.arguments, *unused])
    functions = {"body": FunctionReference(keeping), "cond": FunctionReference(asking)}
    return KeptLoop(body, inputs, kept, work.builder.extend(built, lists, functions))


def _backwards(
    work: Differentiation, loop: KeptLoop, floats: Sequence[int], starts: Sequence[Output]
) -> tuple[str, str, list[Output]]:
    """Body and condition of the backward loop, and its initial state: iterations left, gradients, lists, what stays."""
    stays = [n for n in range(len(loop.inputs)) if n not in loop.kept]
    count = loop.lists[0].op("TensorListLength")
    state = [count, *starts, *loop.lists, *(loop.inputs[n] for n in stays)]
    name = loop.body.name
    body, held = _opened_on(work.builder, state)
    left, rest = held[0], held[1:]
    gradients, rest = rest[: len(floats)], rest[len(floats) :]
    lists, others = rest[: len(loop.kept)], rest[len(loop.kept) :]
    popped = [
        body.add("TensorListPopBack", one, _ANY_SHAPE, element_dtype=loop.inputs[n].type.base).outputs
        for n, one in zip(loop.kept, lists, strict=True)
    ]
    now = dict(zip(stays, others, strict=True)) | {n: one[1] for n, one in zip(loop.kept, popped, strict=True)}
    iteration, iteration_kinds = _iteration(work, loop, floats, starts)
    given = [*(now[n] for n in range(len(loop.inputs))), *gradients]
    found = body.add("PartitionedCall", given, Tout=iteration_kinds, f=FunctionReference(iteration)).outputs
    after = [left - 1, *found, *(one[0] for one in popped), *others]
    step = work.function(f"{name}_backwards", Body(body, held, after, {}), after, held)
    asked, others = _opened_on(work.builder, state)
    test = [others[0].op("Greater", 0)]
    return step, work.function(f"{name}_left", Body(asked, others, test, {}), test, others), state


def _opened_on(builder: Builder, state: Sequence[Output]) -> tuple[Builder, list[Output]]:
    """An empty function whose arguments are like a loop's state."""
    body = Builder()
    body.graph.functions = builder.graph.functions
    return body, [placeholder(body, f"state_{number}", one) for number, one in enumerate(state)]


def _iteration(
    work: Differentiation, loop: KeptLoop, floats: Sequence[int], starts: Sequence[Output]
) -> tuple[str, object]:
    """The function of one iteration backwards: from its state and gradients to gradients of its state."""
    iteration = work.opened(loop.body, loop.inputs)
    arrived = dict(zip(floats, starts, strict=True))
    placeholders, found = work.backward(iteration, [arrived.get(n) for n in range(len(iteration.results))])
    results = [found[n] or zeros_of(iteration.arguments[n]) for n in floats]
    name = work.function(f"{loop.body.name}_grad", iteration, results, [*iteration.arguments, *placeholders])
    return name, kinds(results)


def _argument(body: Body, output: Output) -> int | None:
    """The number of the argument that an output is, handed on."""
    while output.built.node.op == "Identity":
        output = output.built.inputs[0]
    return next((n for n, one in enumerate(body.arguments) if one is output), None)


def _bound(builder: Builder, built: Built, inputs: Sequence[Output]) -> Output:
    """How often a loop iterates at most: what a counter that its condition asks for says.

    Raises:
        NoGradientError: there is none.
    """
    condition, body = (
        opened(builder, function.name, inputs, function.attributes)
        for function in (built.attribute("cond"), built.attribute("body"))
    )
    pending = [condition.results[0]]
    while pending:
        test = pending.pop(0).built
        if test.node.op in ("Identity", "LogicalAnd"):
            pending += test.inputs
            continue
        found = _counted(test, condition, body, inputs)
        if found is not None:
            return found
    raise NoGradientError(
        f"No gradient defined for operation '{built.node.name}' (op type: {built.node.op}): nothing says how often it "
        "iterates at most; let its condition compare a counter with a limit, or give maximum_iterations"
    )


# Of each comparison of x and y: whether x is the counter of a loop that goes on, and whether the limit counts as well.
_COMPARISONS = {
    "Less": (True, 0),
    "LessEqual": (True, 1),
    "Greater": (False, 0),
    "GreaterEqual": (False, 1),
}


def _counted(test: Built, condition: Body, body: Body, inputs: Sequence[Output]) -> Output | None:
    """The iterations that a comparison allows, if it is that of a counter with a limit that stays."""
    row = _COMPARISONS.get(test.node.op)
    if row is None:
        return None
    small, large = test.inputs if row[0] else reversed(test.inputs)
    for counter, limit, sign in ((small, large, 1), (large, small, -1)):
        number = _argument(condition, counter)
        step = None if number is None else _step(body, number)
        far = _outside(condition, body, limit, inputs)
        if number is None or step is None or step * sign <= 0 or far is None:
            continue
        span = (far - inputs[number]) if sign > 0 else (inputs[number] - far)
        trip_count = (span + (row[1] + abs(step) - 1)).op("FloorDiv", abs(step)).op("Maximum", 0)
        return trip_count if trip_count.type == _INT32 else trip_count.op("Cast", DstT=_INT32)
    return None


def _step(body: Body, number: int) -> int | None:
    """By how much an iteration changes a whole number of its state."""
    result = body.results[number]
    while result.built.node.op == "Identity":
        result = result.built.inputs[0]
    if result.built.node.op not in ("Add", "AddV2", "Sub") or result.type.element_type is None:
        return None
    first, second = result.built.inputs
    sign = 1
    if result.built.node.op == "Sub":
        sign = -1
    elif _argument(body, first) != number:
        first, second = second, first
    known = second.value
    is_counter = _argument(body, first) == number and known is not None and result.type.element_type.is_integer
    return sign * int(known) if is_counter and known is not None and known.size == 1 else None


def _outside(condition: Body, body: Body, limit: Output, inputs: Sequence[Output]) -> Output | None:
    """A limit of the condition as an output outside of the loop: a constant, or what every iteration hands on."""
    if limit.value is not None:
        return inputs[0].built.maker.constant(limit.value, limit.type.base)
    number = _argument(condition, limit)
    if number is None or _argument(body, body.results[number]) != number:
        return None
    return inputs[number]
