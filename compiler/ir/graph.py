"""Walks through the graphs that programs are: of values by operands or users, of computations by calls.

A walk is a function of where it starts and of what follows what it meets; what is asked of those it meets is up to
whoever walks, who may stop early.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def reachable(starts: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """What is reached from `starts`, these included, each once, depth first.

    Args:
        starts: where the walk begins.
        following: what comes directly after a node; asked when the next node is, so that it may depend on what has been
            done with those before.
    """
    pending, seen = list(starts), set[Node]()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending += following(node)
