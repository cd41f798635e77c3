"""Loops: a function again and again, as long as another says so.

What a loop changes must keep its type and sizes.  Lists are where TensorFlow is not so strict: of which sizes their
elements are the first iteration may say, and how many there will be nobody.  Then the loop is written once to see what
it does to its lists, and again with lists that have room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.ops.build import build
from compiler.tf2xla.iterations import most_iterations
from compiler.tf2xla.operation import Array, Operation
from compiler.tf2xla.ops.branches import begin_before, known_of, require_one_result, state_of, taken
from compiler.tf2xla.ops.lists import grown
from compiler.tf2xla.values import (
    TensorList,
    Traced,
    Value,
    arrays_of,
    checked_same,
    common_kind,
    known_of_lists,
    same_each,
)


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop as it was written on certain inputs."""

    inputs: Sequence[Value]
    step: Traced
    test: Traced


def lower_while(operation: Operation) -> list[list[Value]]:
    """The state after the last iteration."""
    inputs, tracer = list(operation.items("input")), operation.library.tracer
    condition, body = operation.attribute("cond"), operation.attribute("body")
    known = known_of(operation, inputs, operation.library.passed_on(body, operation))
    varying = [number for number in range(len(inputs)) if number not in known]
    carried = tracer.carried([condition, body], inputs)

    def written(begin: Sequence[Value]) -> _Loop:
        step = tracer.traced(body, begin, operation, known, carried, varying)
        test = tracer.traced(condition, begin, operation, known, carried)
        operation.require(not test.changed, "its condition changes variables")
        require_one_result(operation, test)
        return _Loop([begin[number] for number in varying], step, test)

    loop = written(inputs)
    while (begin := _with_room(operation, loop, inputs, varying, carried)) is not None:
        inputs = begin
        loop = written(inputs)
    if begin_before(operation, inputs):
        return lower_while(operation)
    for number, before, after in zip(varying, loop.inputs, loop.step.results, strict=True):
        _require_same(operation, number, before, after)
    if loop.step.pushed:
        operation.library.variables.push(loop.step.pushed, _iterations(operation, loop, carried, "pushes to a stack"))
    state = state_of(operation, inputs, known, carried)
    result = build(operation.computation, "while", [state], condition=loop.test.computation, body=loop.step.computation)
    given = list(operation.items("input"))
    found = iter(taken(operation, result, loop.step.results, carried, loop.step.changed))
    return [[given[n] if n in known else _growing(next(found), given[n]) for n in range(len(inputs))]]


def _growing(after: Value, before: Value) -> Value:
    if isinstance(after, TensorList) and isinstance(before, TensorList):
        return replace(after, grows=before.grows)
    return after


def _with_room(
    operation: Operation, loop: _Loop, inputs: Sequence[Value], varying: Sequence[int], carried: Sequence[str]
) -> list[Value] | None:
    """What a loop must begin with, if its lists are not yet what its iterations make of them."""
    begin, changes = list(inputs), False
    for number, after in zip(varying, loop.step.results, strict=True):
        before = inputs[number]
        if not isinstance(before, TensorList) or not isinstance(after, TensorList):
            continue
        if after.held and not before.held:
            held = [operation.full(0, one.type, (before.most, *one.dims[1:])) for one in after.held]
            before, changes = replace(before, element=after.element).holding(held), True
        common = common_kind(before.element, after.element)
        if known_of_lists(common) != known_of_lists(before.element):
            before, changes = replace(before, element=common), True
        if before.is_full and not (after.is_full and after.most >= before.most):
            before, changes = replace(before, is_full=False), True
        each = same_each(before.each, after.each)
        if (each is None) != (before.each is None) or (each and not before.each):
            before, changes = replace(before, each=each), True
        begin[number] = before
    if changes:
        return begin
    pairs = zip(varying, loop.step.results, strict=True)
    growth = [(number, before, more) for number, after in pairs if (more := _growth(before := inputs[number], after))]
    if not growth:
        return None
    count = _iterations(operation, loop, carried, "adds to a list")
    for number, one, more in growth:
        assert isinstance(one, TensorList)
        begin[number] = replace(grown(one, count * more), grows=False, is_full=False)
    return begin


def _growth(before: Value, after: Value) -> int:
    """For how many more there must be room after an iteration."""
    if isinstance(before, TensorList) and isinstance(after, TensorList) and before.grows:
        return after.most - before.most
    return 0


def _iterations(operation: Operation, loop: _Loop, carried: Sequence[str], what: str) -> int:
    library = operation.library
    held = [library.variables.read(name) for name in carried]
    known: list[Array | None] = [library.value(one) for one in (*arrays_of(loop.inputs), *held)]
    count = most_iterations(loop.test.computation, loop.step.computation, known)
    if count is None:
        raise operation.unsupported(
            f"it {what}, and nothing says how often it runs at most: let its condition compare a counter with "
            "a limit that is known, or give maximum_iterations"
        )
    return count


def _require_same(operation: Operation, number: int, before: Value, after: Value) -> None:
    if not checked_same([before], [after]):
        made, was = [", ".join(str(one.instruction.shape) for one in arrays_of([v])) or str(v) for v in (after, before)]
        raise operation.invalid(f"its body makes {made} of input {number}, which is {was}: sizes must stay")
