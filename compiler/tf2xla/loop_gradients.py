"""Gradients of loops: a loop over the same iterations, from the last to the first.

The loop keeps the state that each of its iterations began with in lists (`TensorListPushBack`); its gradient takes them
out again, and goes through each iteration once more.  Random numbers that an iteration draws it keeps, too.  Lists have
a greatest length where the condition compares a counter with a limit that stays; where it does not they grow, which a
host can do, and a program whose trip count does not follow from what is known refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from compiler.graph import BY_NAME, AttributeList, DataType, FunctionReference
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.call_gradients import DRAWS, Differentiation, kinds, zeros_of
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
        drawn: the names of outputs in the body that are random numbers, which are kept after the others.
    """

    body: FunctionReference
    inputs: Sequence[Output]
    kept: Sequence[int]
    lists: Sequence[Output]
    drawn: Sequence[str]


def through_loop(work: Differentiation, built: Built, arrived: Sequence[Output | None]) -> list[Gradient]:
    """The gradients of what a loop begins with.

    Args:
        work: the differentiation.
        built: the loop.
        arrived: the gradient of each output, None where none came.
    """
    loop = work.builder.kept_loops.get(built.node.name)
    if loop is None:
        loop = work.builder.kept_loops[built.node.name] = _keep(work, built)
    floats = [n for n, one in enumerate(loop.inputs) if work.is_continuous(one)]
    starts = [_start(loop.inputs[n], arrived[n]) for n in floats]
    backward = _backwards(work, loop, floats, starts)
    op = built.node.op
    body, cond = FunctionReference(backward.body), FunctionReference(backward.condition)
    gradient = built.maker.add(op, backward.state, body=body, cond=cond)
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
    bound, drawn = _bound(work.builder, built, inputs), _drawn(work, body, iteration)
    sizes: list[Any] = [*(inputs[n].op("Shape") for n in kept), *(_ANY_SHAPE for _ in drawn)]
    items = [*(iteration.arguments[n] for n in kept), *drawn]
    lists = [
        built.add("EmptyTensorList", size, bound, element_dtype=item.type.base)
        for size, item in zip(sizes, items, strict=True)
    ]
    inside = [placeholder(iteration.builder, f"kept_{n}", one) for n, one in enumerate(lists)]
    pushed = [one.op("TensorListPushBack", item) for one, item in zip(inside, items, strict=True)]
    keeping = work.function(
        f"{body.name}_keeping", iteration, [*iteration.results, *pushed], [*iteration.arguments, *inside]
    )
    asked = opened(work.builder, condition.name, inputs, condition.attributes)
    unused = [placeholder(asked.builder, f"kept_{n}", one) for n, one in enumerate(lists)]
    asking = work.function(f"{condition.name}_keeping", asked, asked.results, [*asked.arguments, *unused])
    functions = {"body": FunctionReference(keeping), "cond": FunctionReference(asking)}
    outputs = work.builder.extend(built, lists, functions)
    return KeptLoop(body, inputs, kept, outputs, [one.name for one in drawn])


def _drawn(work: Differentiation, function: FunctionReference, iteration: Body) -> list[Output]:
    """The random numbers that an iteration draws itself.

    Raises:
        NoGradientError: functions that it runs draw some.
    """
    found = work.drawn(iteration)
    inner = next((one.built.node for one in found if one.built.node.op not in DRAWS), None)
    if inner is not None:
        raise NoGradientError(
            f"No gradient defined for function {function.name!r}: its node {inner.name!r} ({inner.op}) runs a function "
            "that draws random numbers, and would run again: draw them in the body of the loop"
        )
    return found


class _Backward(NamedTuple):
    """The backward loop: its functions' names, and its initial state: iterations left, gradients, lists, what stays."""

    body: str
    condition: str
    state: list[Output]


def _backwards(work: Differentiation, loop: KeptLoop, floats: Sequence[int], starts: Sequence[Output]) -> _Backward:
    stays = [n for n in range(len(loop.inputs)) if n not in loop.kept]
    count = loop.lists[0].op("TensorListLength")
    state = [count, *starts, *loop.lists, *(loop.inputs[n] for n in stays)]
    name = loop.body.name
    body, held = _opened_on(work.builder, state)
    left, rest = held[0], held[1:]
    gradients, rest = rest[: len(floats)], rest[len(floats) :]
    lists, others = rest[: len(loop.lists)], rest[len(loop.lists) :]
    iteration, iteration_kinds, drawn = _iteration(work, loop, floats, starts)
    held_types = [*(loop.inputs[n].type.base for n in loop.kept), *drawn]
    popped = [
        body.add("TensorListPopBack", one, _ANY_SHAPE, element_dtype=kind).outputs
        for kind, one in zip(held_types, lists, strict=True)
    ]
    now = dict(zip(stays, others, strict=True)) | {n: one[1] for n, one in zip(loop.kept, popped, strict=False)}
    given = [*(now[n] for n in range(len(loop.inputs))), *(one[1] for one in popped[len(loop.kept) :]), *gradients]
    found = body.add("PartitionedCall", given, Tout=iteration_kinds, f=FunctionReference(iteration)).outputs
    after = [left - 1, *found, *(one[0] for one in popped), *others]
    step = work.function(f"{name}_backwards", Body(body, held, after, {}), after, held)
    asked, others = _opened_on(work.builder, state)
    test = [others[0].op("Greater", 0)]
    return _Backward(step, work.function(f"{name}_left", Body(asked, others, test, {}), test, others), state)


def _opened_on(builder: Builder, state: Sequence[Output]) -> tuple[Builder, list[Output]]:
    """An empty function whose arguments are like a loop's state."""
    body = Builder()
    body.graph.functions = builder.graph.functions
    return body, [placeholder(body, f"state_{number}", one) for number, one in enumerate(state)]


class _Iteration(NamedTuple):
    """A function's name, the types of its results, and those of what it draws."""

    name: str
    kinds: AttributeList
    drawn: list[DataType]


def _iteration(work: Differentiation, loop: KeptLoop, floats: Sequence[int], starts: Sequence[Output]) -> _Iteration:
    """One iteration backwards: from its state, what it drew and gradients to gradients of its state."""
    iteration = work.opened(loop.body, loop.inputs)
    arrived = dict(zip(floats, starts, strict=True))
    placeholders, found = work.backward(iteration, [arrived.get(n) for n in range(len(iteration.results))])
    results = [found[n] or zeros_of(iteration.arguments[n]) for n in floats]
    drawn = [iteration.builder.output(name) for name in loop.drawn]
    held = [placeholder(iteration.builder, f"drawn_{n}", one) for n, one in enumerate(drawn)]
    replaced = dict(zip(drawn, held, strict=True))
    arguments = [*iteration.arguments, *held, *placeholders]
    name = work.function(f"{loop.body.name}_grad", replace(iteration, runs={}), results, arguments, replaced)
    return _Iteration(name, kinds(results), [one.type.base for one in drawn])


def _argument(body: Body, output: Output) -> int | None:
    """The number of the argument that an output is, handed on."""
    while output.built.node.op == "Identity":
        output = output.built.inputs[0]
    return next((n for n, one in enumerate(body.arguments) if one is output), None)


def _bound(builder: Builder, built: Built, inputs: Sequence[Output]) -> Output:
    """How often a loop iterates at most: what a counter that its condition asks for says; -1 where nothing does."""
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
    return built.maker.constant(-1, _INT32)


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
