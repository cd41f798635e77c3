"""Which computations run because others do: those that they call, directly or not, and how many call each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from compiler.ir.graph import reachable
from compiler.ir.module import Computation, Module

Calls = Counter[Computation]
"""How many instructions call each computation of a module."""


def calls_of(module: Module) -> Calls:
    """The calls of a module."""
    return Counter(chain.from_iterable(computation.called_computations() for computation in module.computations))


def reached(starts: Iterable[Computation]) -> Iterator[Computation]:
    """Some computations and those that they call, directly or not, each once."""
    return reachable(starts, Computation.called_computations)
