"""Which computations run because others do: those that they call, directly or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.ir.graph import reachable
from compiler.ir.module import Computation


def reached(starts: Iterable[Computation]) -> Iterator[Computation]:
    """Some computations and those that they call, directly or not, each once."""
    return reachable(starts, Computation.called_computations)
