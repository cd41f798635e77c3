"""How finely shared work may be cut: as finely as there is room for what each chunk needs for itself.

Where threads are held up, products and convolutions are cut into more chunks than there are threads, and each chunk has
factors that it packs.  That is room which a program takes only for the time, so it must not decide what the program
takes at most.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate

from compiler.analysis.buffers import Assignment
from compiler.analysis.storage import Buffer, Storage
from compiler.backends.cpu.kernels.strategy import Functions
from compiler.backends.strategy import Choice, Plan
from compiler.ir.module import Instruction

_FRACTION_OF_PARAMETERS = 10
"""One part in so many of what a program reads is little beside it."""


def fitting(
    choices: Mapping[Instruction, Choice[Functions]], assignment: Assignment, threads: int
) -> dict[Instruction, Choice[Functions]]:
    """The choices, with no more chunks than there is room for beside the values that are alive.

    Room there is for what values take at most, for the results, and for a small part of the parameters.  One chunk for
    each thread there always is.

    Args:
        choices: what each kernel gets.
        assignment: where values lie; workspaces have no place yet.
        threads: of which each has as many chunks.
    """
    if all(choice.plan.chunks_per_thread == 1 for choice in choices.values()):
        return dict(choices)
    live = _Live(assignment)
    found = dict(choices)
    for instruction, choice in choices.items():
        plan, each = choice.plan, threads * choice.plan.chunk_bytes
        too_many = -(-(plan.workspace_bytes - live.room(assignment.times[instruction])) // each) if each else 0
        fewer = min(too_many, plan.chunks_per_thread - 1)
        if fewer > 0:
            found[instruction] = replace(choice, plan=_with_fewer(plan, fewer, each))
    return found


def _with_fewer(plan: Plan[Functions], fewer: int, each_bytes: int) -> Plan[Functions]:
    return replace(
        plan,
        chunks_per_thread=plan.chunks_per_thread - fewer,
        workspace_bytes=plan.workspace_bytes - fewer * each_bytes,
    )


class _Live:
    """What values in the arena take from moment to moment, and what a program may take."""

    def __init__(self, assignment: Assignment) -> None:
        buffers = assignment.buffers
        changes = sorted(
            change
            for buffer in buffers
            if buffer.storage is Storage.ARENA
            for change in ((buffer.first, buffer.size_bytes), (buffer.last + 1, -buffer.size_bytes))
        )
        self._moments = [moment for moment, _ in changes]
        self._bytes = list(accumulate((change for _, change in changes), initial=0))
        given = _bytes_of(buffers, Storage.PARAMETER) // _FRACTION_OF_PARAMETERS
        self._allowed = max(self._bytes) + _bytes_of(buffers, Storage.RESULT) + given

    def room(self, moment: int) -> int:
        """Bytes that a kernel may take at a moment, beside the values that are alive."""
        return self._allowed - self._bytes[bisect_right(self._moments, moment)]


def _bytes_of(buffers: Mapping[Buffer, None], storage: Storage) -> int:
    return sum(buffer.size_bytes for buffer in buffers if buffer.storage is storage)
