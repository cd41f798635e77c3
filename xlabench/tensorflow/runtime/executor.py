"""Runs plans: step after step, on one thread; with a trace each step's times are kept.

A step whose inputs, or what it waits for, are dead does not run, but for a merge, which waits for one live input, and
for a trigger, which runs in any case.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from compiler.tf import RECORDS, CompilerError
from xlabench.tensorflow import errors
from xlabench.tensorflow.framework import mismatch
from xlabench.tensorflow.runtime.kernels import DEAD, raised
from xlabench.tensorflow.runtime.steps import MERGES, Plan, Row, Step

_FAILURES = {
    "UnsupportedError": errors.UnimplementedError,
    "UninitializedError": errors.FailedPreconditionError,
}


def run(plan: Plan, feeds: Sequence[Any], rows: list[Row] | None = None) -> list[Any]:
    """The values of what is fetched; with `rows`, the times of every step are added to them.

    Args:
        plan: what is done.
        feeds: the values of what is fed, in order.
        rows: a list that gets the times of every step; None for none.

    Raises:
        OpError: a step failed.
    """
    values = plan.slots.copy()
    for slot, value in zip(plan.feeds, feeds, strict=True):
        values[slot] = value
    step: Step | None = None
    try:
        if rows is not None:
            for step in _alive(plan.steps, values):
                _timed(step, values, rows)
        elif plan.may_die:
            for step in _alive(plan.quick, values):
                values[step.first : step.stop] = step.kernel([values[slot] for slot in step.takes])
        else:
            for step in plan.quick:
                values[step.first : step.stop] = step.kernel([values[slot] for slot in step.takes])
    except CompilerError as error:
        assert step is not None
        raise _failure(step, [values[slot] for slot in step.takes], error) from error
    return [values[slot] for slot in plan.fetches]


def _alive(steps: Sequence[Step], values: list[Any]) -> Any:
    """The steps that run, each when those before it have; the others leave dead values."""
    dead: set[int] = set()
    for step in steps:
        inputs = [values[slot] is DEAD for slot in step.takes]
        is_dead = all(inputs) if step.node.op in MERGES else any(inputs)
        if (is_dead or not dead.isdisjoint(step.waits)) and step.node.op != "ControlTrigger":
            dead.add(step.number)
            values[step.first : step.stop] = [DEAD] * (step.stop - step.first)
        else:
            yield step


def _timed(step: Step, values: list[Any], rows: list[Row]) -> None:
    start = time.time_ns()
    inputs = [values[slot] for slot in step.takes]
    begin = time.time_ns()
    if step.node.op != "_Arg":  # what is fed lies in its slot
        values[step.first : step.stop] = step.kernel(inputs)
    end = time.time_ns()
    rows.append(Row(step, start, begin, end, time.time_ns(), tuple(values[step.first : step.stop])))


def _failure(step: Step, inputs: Sequence[Any], error: CompilerError) -> errors.OpError:
    kind = _FAILURES.get(type(error).__name__, errors.InvalidArgumentError)
    node = step.node
    shapes = [getattr(one, "shape", None) for one in inputs]
    transposed = node.attributes.get("transpose_a") is True, node.attributes.get("transpose_b") is True
    record = RECORDS.get(node.op)
    is_spread = record is not None and mismatch.is_spread(record.signature)
    if is_spread and mismatch.unequal(node.op, shapes, transposed=transposed) is not None:
        return raised(kind, node, mismatch.at_run(node.op, [one for one in shapes if one is not None]))
    if node.op == "Reshape" and type(error).__name__ == "InputError" and shapes[0] is not None:
        return raised(kind, node, mismatch.reshaped_at_run(shapes[0], [int(one) for one in inputs[1]]))
    return raised(kind, node, str(error))
