"""Walks through the graphs that programs are: of values by operands or users, of computations by calls.

A walk is a function of where it starts and of what follows what it meets; what is asked of those it meets is up to
whoever walks, who may stop early.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def reachable(starts: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """The nodes that are reached from `starts`, these included, each once, depth first.

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


def in_order(nodes: list[Node], dependencies: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """The nodes as `dependencies_first` has them: the list that is given where nothing moves, which is nearly always.

    Args:
        nodes: all of a graph's nodes, each once.
        dependencies: what must come before a node; nothing needs itself.
    """
    done: set[Node] = set()
    for node in nodes:
        if not done.issuperset(dependencies(node)):
            return dependencies_first(nodes, dependencies)
        done.add(node)
    return nodes


def dependencies_first(nodes: Iterable[Node], dependencies: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """The nodes, and what they need, in the order given but for those that others before them need.

    Args:
        nodes: some or all of a graph's nodes.
        dependencies: what must come before a node; nothing needs itself.
    """
    done: set[Node] = set()
    order: list[Node] = []
    for start in nodes:
        if start in done:
            continue
        if done.issuperset(dependencies(start)):  # nearly always
            done.add(start)
            order.append(start)
            continue
        stack, waiting = [(start, iter(dependencies(start)))], {start}
        while stack:
            node, pending = stack[-1]
            following = next((one for one in pending if one not in done), None)
            if following is not None:
                assert following not in waiting, f"{following!r} needs itself"
                waiting.add(following)
                stack.append((following, iter(dependencies(following))))
                continue
            stack.pop()
            waiting.discard(node)
            if node not in done:
                done.add(node)
                order.append(node)
    return order
