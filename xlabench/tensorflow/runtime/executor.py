"""Runs plans: step after step, on one thread; with a trace each step's times are kept.

A step whose inputs, or what it waits for, are dead does not run, but for a merge, which waits for one live input.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from compiler.tf import CompilerError
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import DEAD, raised
from xlabench.tensorflow.runtime.plan import Plan, Step
from xlabench.tensorflow.runtime.step_stats import Row

_MERGES = frozenset({"Merge", "_XlaMerge"})
_FAILURES = {"UnsupportedError": errors.UnimplementedError}


def run(plan: Plan, feeds: Sequence[Any], rows: list[Row] | None = None) -> list[Any]:
    """The values of what is fetched; with `rows`, the times of every step are added to them.

    Raises:
        OpError: a step failed.
    """
    values = plan.slots.copy()
    for slot, value in zip(plan.feeds, feeds, strict=True):
        values[slot] = value
    if rows is not None or not plan.quick_steps:
        _carefully(plan.steps, values, rows)
    else:
        number = -1
        try:
            for number, (kernel, takes, first, stop) in enumerate(plan.quick):  # noqa: B007 - told of below
                values[first:stop] = kernel([values[slot] for slot in takes])
        except CompilerError as error:
            raise _failure(plan.quick_steps[number], error) from error
    return [values[slot] for slot in plan.fetches]


def _carefully(steps: Sequence[Step], values: list[Any], rows: list[Row] | None) -> None:
    """Every step, with its times, dead ones passed over."""
    dead: set[int] = set()
    for number, step in enumerate(steps):
        start = time.time_ns()
        inputs = [values[slot] for slot in step.takes]
        is_dead = not dead.isdisjoint(step.waits) or any(one is DEAD for one in inputs)
        if step.node.op in _MERGES:
            is_dead = all(one is DEAD for one in inputs)
        begin = time.time_ns()
        if is_dead:
            dead.add(number)
            values[step.first : step.stop] = [DEAD] * (step.stop - step.first)
            continue
        try:
            values[step.first : step.stop] = step.kernel(inputs)
        except CompilerError as error:
            raise _failure(step, error) from error
        end = time.time_ns()
        if rows is not None:
            rows.append(Row(step, start, begin, end, time.time_ns(), tuple(values[step.first : step.stop])))


def _failure(step: Step, error: CompilerError) -> errors.OpError:
    kind = _FAILURES.get(type(error).__name__, errors.InvalidArgumentError)
    return raised(kind, step.node, str(error))
