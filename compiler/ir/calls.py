"""Which computations run because others do: those that they call, directly or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.ir.module import Computation


def reached(starts: Iterable[Computation]) -> Iterator[Computation]:
    """These computations and those that they call, directly or not, each once."""
    pending = list(starts)
    seen: set[Computation] = set()
    while pending:
        computation = pending.pop()
        if computation not in seen:
            seen.add(computation)
            yield computation
            pending += computation.called_computations()
