"""The edges of a graph with all that follows from them, each worked out the plain way: order, ways, what is alive.

For whoever judges what the passes of clustering do, and so must not share how they see a graph (`compiler/jit`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from compiler.tf import Graph, Node, Tensor, is_a

_MOST_CONDITIONS = 10
"""Conditions of which every combination is tried; of more so many combinations are drawn as of these."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What a node takes, or waits for where the port is -1."""

    source: str
    port: int
    target: str
    slot: int


class Wiring:
    """A graph's nodes by name, and its edges.

    Attributes:
        graph: the graph.
        nodes: by name.
    """

    def __init__(self, graph: Graph) -> None:
        """Look at a graph that has been verified."""
        self.graph = graph
        self.nodes: dict[str, Node] = {node.name: node for node in graph.nodes}

    @cached_property
    def edges(self) -> list[Edge]:
        """All edges, but those by which a loop goes on; a loop of frames is a way from all that enters to all exits."""
        found = []
        for node in self.graph.nodes:
            for slot, text in enumerate(node.inputs):
                name, _, port = text.removeprefix("^").partition(":")
                if not is_a(self.nodes[name], "NextIteration"):
                    number = -1 if text.startswith("^") else int(port or 0)
                    found.append(Edge(name, number, node.name, slot))
        return found

    @cached_property
    def taken(self) -> dict[str, list[Edge]]:
        """The edges by their targets."""
        found: dict[str, list[Edge]] = {name: [] for name in self.nodes}
        for edge in self.edges:
            found[edge.target].append(edge)
        return found

    @cached_property
    def order(self) -> list[str]:
        """Nodes behind all that they take."""
        return _ordered({name: {edge.source for edge in edges} for name, edges in self.taken.items()})[0]

    @cached_property
    def before(self) -> dict[str, set[str]]:
        """The nodes that lead to each."""
        found: dict[str, set[str]] = {}
        for name in self.order:
            found[name] = set()
            for edge in self.taken[name]:
                found[name] |= {edge.source} | found[edge.source]
        return found

    @cached_property
    def has_frames(self) -> bool:
        """Whether it has loops of TensorFlow 1."""
        return any(is_a(node, "Enter") for node in self.graph.nodes)

    def waiting(self, clusters: Mapping[str, str]) -> list[str]:
        """What waits for itself where each cluster of nodes is one node; empty where there is an order."""
        groups = {name: f"cluster {one}" if (one := clusters.get(name, "")) else name for name in self.nodes}
        waits: dict[str, set[str]] = {group: set() for group in groups.values()}
        for edge in self.edges:
            source, target = groups[edge.source], groups[edge.target]
            if source != target:
                waits[target].add(source)
        for source, target in self._around_frames():
            waits[groups[target]] |= {groups[source]} - {groups[target]}
        return _ordered(waits)[1]

    def _around_frames(self) -> list[tuple[str, str]]:
        """From all that enters a loop of frames to all that leaves it."""
        entered: dict[str, str] = {}
        ways = []
        for name in self.order:
            node = self.nodes[name]
            inside = {entered[edge.source] for edge in self.taken[name] if entered.get(edge.source)}
            if is_a(node, "Enter"):
                stated = node.attributes.get("frame_name")
                entered[name] = stated.decode() if isinstance(stated, bytes) else ""
            elif is_a(node, "Exit"):
                frame = next(iter(inside), "")
                ways += [
                    (edge.source, name)
                    for one, of in entered.items()
                    if of == frame and is_a(self.nodes[one], "Enter")
                    for edge in self.taken[one]
                ]
            else:
                entered[name] = next(iter(inside), "")
        return ways

    @cached_property
    def alive(self) -> dict[tuple[str, int], Any]:
        """When each node (port -1), and each side of a switch, is alive: truths for every combination of conditions."""
        conditions = sorted({self._condition(node) for node in self.graph.nodes if is_a(node, "Switch")} - {""})
        truths = _combinations(conditions)
        count = len(next(iter(truths.values()))) if truths else 1
        always = np.ones(count, bool)
        found: dict[tuple[str, int], Any] = {}

        def at(edge: Edge) -> Any:
            return found.get((edge.source, edge.port), found[edge.source, -1])

        for name in self.order:
            node, taken = self.nodes[name], self.taken[name]
            if is_a(node, "Merge"):
                found[name, -1] = np.any([at(edge) for edge in taken if edge.port >= 0], axis=0)
            elif node.op == "ControlTrigger" or not taken:
                found[name, -1] = always
            else:
                found[name, -1] = np.all([at(edge) for edge in taken], axis=0)
            if is_a(node, "Switch"):
                holds = self._constant(node)
                chosen = truths[self._condition(node)] if holds is None else always & holds
                found[name, 0], found[name, 1] = found[name, -1] & ~chosen, found[name, -1] & chosen
        return found

    def _condition(self, node: Node) -> str:
        """The output that a switch asks; empty where that is a constant."""
        if self._constant(node) is not None:
            return ""
        text = node.inputs[1]
        return text if ":" in text else f"{text}:0"

    def _constant(self, node: Node) -> bool | None:
        asked = self.nodes[node.inputs[1].partition(":")[0]]
        value = asked.attributes.get("value")
        return bool(value.array()) if asked.op == "Const" and isinstance(value, Tensor) and not value.dims else None


def _ordered(waits: Mapping[str, set[str]]) -> tuple[list[str], list[str]]:
    """Names behind those that they wait for, and those that wait for themselves."""
    left = {name: set(before) for name, before in waits.items()}
    users: dict[str, list[str]] = {name: [] for name in waits}
    for name, before in waits.items():
        for one in before:
            users[one].append(name)
    ready, order = [name for name, before in left.items() if not before], []
    while ready:
        order.append(name := ready.pop())
        for user in users[name]:
            left[user].discard(name)
            if not left[user]:
                ready.append(user)
    done = {*order}
    return order, [name for name in waits if name not in done]


def _combinations(conditions: Sequence[str]) -> dict[str, Any]:
    count = 1 << min(len(conditions), _MOST_CONDITIONS)
    numbers, rng = np.arange(count), np.random.default_rng(len(conditions))
    return {
        one: (numbers >> n) & 1 == 1 if n < _MOST_CONDITIONS else rng.random(count) < 0.5
        for n, one in enumerate(conditions)
    }
