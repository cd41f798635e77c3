"""A module called again: what the host does not decide on the way is captured once, as graphs, and launched as such.

Where nothing is decided that is one graph for the whole call, inputs and results included.  Else what lies between two
decisions is one, so that an iteration of a loop whose end is known at run time only puts one thing on a stream, however
many kernels it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from compiler.backends.nvptx import transfer
from compiler.backends.nvptx.call import Call
from compiler.backends.nvptx.device import Array
from compiler.backends.nvptx.steps import ConditionalStep, Step, WhileStep, put_down

_MOST_CAPTURED = 10_000
"""Things that a graph holds at most: loops are captured iteration by iteration."""

Action = Callable[[], None]


class Replay:
    """A module called again: its memory and its work stay as they are, only inputs and results move.

    Inputs and results go through page-locked memory, which the device reaches by itself; large inputs are on their way
    while they are put there, before the graph that takes them.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._memory = ExitStack()
        self._memory.enter_context(call.memory())
        self._inputs = [call.device.pinned(array) for array in call.inputs]
        self._outputs = [call.device.pinned(array) for array in call.outputs]
        small = [None if transfer.is_large(array) else array for array in self._inputs]
        move_in, move_out = partial(call.move_in, small), partial(call.move_out, self._outputs)
        self._run = _all_of(_captured(call, (move_in, *call.program.steps, move_out)))

    def __call__(self, inputs: Sequence[Array]) -> list[Array]:
        """Run on other inputs; one call at a time."""
        device = self._call.device
        for address, pinned, array in zip(self._call.parameters, self._inputs, inputs, strict=True):
            if transfer.is_large(array):
                transfer.upload(device, address, pinned, array)
            else:
                pinned[...] = array
        self._run()
        device.finish()
        return [transfer.copied(array) for array in self._outputs]


def replay(call: Call) -> Replay | None:
    """The replay of a call, where the device has such."""
    return Replay(call) if call.device.replays else None


def _captured(call: Call, work: Sequence[Step | Action]) -> list[Action]:
    """What does steps, and actions that only put things on streams; those in a row without a decision are one graph.

    Before and behind a decision everything is on one stream, so such a row waits for nothing outside of it.
    """
    actions: list[Action] = []
    row: list[Step | Action] = []
    for item in (*work, None):
        if item is not None and _is_small([*row, item]):
            row.append(item)
            continue
        if row:
            actions.append(call.device.capture(partial(_put, call, tuple(row))))
            row = []
        if isinstance(item, ConditionalStep):
            actions.append(_conditional(call, item))
        elif isinstance(item, WhileStep) and not _is_small([item]):
            actions.append(_while(call, item))
        elif item is not None:
            row = [item]
    return actions


def _is_small(row: Sequence[Step | Action]) -> bool:
    """Whether a row can be a graph."""
    return put_down([item for item in row if not callable(item)], _MOST_CAPTURED) is not None


def _put(call: Call, row: Sequence[Step | Action]) -> None:
    for item in row:
        if callable(item):
            item()
        else:
            call.run_steps((item,))


def _while(call: Call, step: WhileStep) -> Action:
    if step.trip_count is not None:
        body, trip_count = _all_of(_captured(call, step.body)), step.trip_count

        def counted() -> None:
            for _ in range(trip_count):
                body()

        return counted
    first = _all_of(_captured(call, step.condition))
    iteration = _all_of(_captured(call, (*step.body, *step.condition)))

    def loop() -> None:
        first()
        while call.goes_on(step):
            iteration()

    return loop


def _conditional(call: Call, step: ConditionalStep) -> Action:
    branches = [_all_of(_captured(call, branch)) for branch in step.branches]

    def run() -> None:
        branches[call.branch(step)]()

    return run


def _all_of(actions: Sequence[Action]) -> Action:
    if len(actions) == 1:
        return actions[0]

    def run() -> None:
        for action in actions:
            action()

    return run
