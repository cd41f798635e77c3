"""A graph as clustering sees it: nodes by number, with their edges in both directions.

Numbers follow the order of creation, as TensorFlow's do, because decisions are made in that order.  Two nodes stand
before all others and are in no graph: the *source*, which every node without inputs waits for, and the *sink*, which
waits for every node without users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from compiler.graph import Graph, Node
from compiler.graph.frames import Frames, is_a
from compiler.graph.names import endpoint

SOURCE, SINK = 0, 1
"""The numbers of the nodes before and behind all others (TensorFlow's `Graph::kSourceId`, `kSinkId`)."""
CONTROL = -1
"""The port, and the slot, of an edge that only waits."""


class Edge(NamedTuple):
    """What a node takes of another: output `port` of `source` as input `slot` of `target`."""

    source: int
    port: int
    target: int
    slot: int

    @property
    def is_control(self) -> bool:
        """Whether the target only waits for the source."""
        return self.port == CONTROL


class Topology:
    """The nodes of a graph that has been verified, and the edges between them.

    Attributes:
        nodes: by number.
        number: of each name.
        inputs, outputs: the edges of each node, in the order of inputs, and in the order of the users' numbers.
    """

    def __init__(self, graph: Graph) -> None:
        """Read the edges of a graph."""
        self.nodes: list[Node] = [Node("_SOURCE", "NoOp"), Node("_SINK", "NoOp"), *graph.nodes]
        self.number = {node.name: number for number, node in enumerate(self.nodes)}
        self.inputs: list[list[Edge]] = [[] for _ in self.nodes]
        self.outputs: list[list[Edge]] = [[] for _ in self.nodes]
        for number in self.numbers:
            for slot, text in enumerate(self.nodes[number].inputs):
                source = endpoint(text)
                assert source is not None, "the graph is verified"
                waits = source.port == CONTROL
                self._add(Edge(self.number[source.node], source.port, number, CONTROL if waits else slot))
        for number in self.numbers:
            if not self.inputs[number]:
                self._add(Edge(SOURCE, CONTROL, number, CONTROL))
            if not self.outputs[number]:
                self._add(Edge(number, CONTROL, SINK, CONTROL))

    def _add(self, edge: Edge) -> None:
        self.outputs[edge.source].append(edge)
        self.inputs[edge.target].append(edge)

    @property
    def numbers(self) -> range:
        """The nodes of the graph itself."""
        return range(SINK + 1, len(self.nodes))

    def edges(self) -> Iterator[Edge]:
        """All edges, those of source and sink last, as TensorFlow adds them."""
        ends: list[Edge] = []
        for number in self.numbers:
            for edge in self.inputs[number]:
                if edge.source == SOURCE:
                    ends.append(edge)
                else:
                    yield edge
            ends += (edge for edge in self.outputs[number] if edge.target == SINK)
        yield from ends

    def frames(self) -> Frames:
        """The frames of its loops, by the names of nodes; raises as `Frames` does."""
        return Frames(self.nodes[SINK + 1 :])

    def is_back_edge(self, edge: Edge) -> bool:
        """Whether an edge gives a loop its next value."""
        return is_a(self.nodes[edge.source], "NextIteration")

    def post_order(self) -> list[int]:
        """Nodes after all that use them, but over back edges; the users of a node in the order of their names."""
        order: list[int] = []
        seen: set[int] = set()
        for root in range(len(self.nodes)):  # the source, and what only back edges lead to
            if root not in seen:
                self._visit(root, seen, order)
        return order

    def _visit(self, root: int, seen: set[int], order: list[int]) -> None:
        seen.add(root)
        stack: list[tuple[int, Iterator[int]]] = [(root, iter(self._users(root)))]
        while stack:
            number, pending = stack[-1]
            following = next((user for user in pending if user not in seen), None)
            if following is None:
                order.append(number)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(self._users(following))))

    def _users(self, number: int) -> list[int]:
        forwards = {edge.target for edge in self.outputs[number] if not self.is_back_edge(edge)}
        return sorted(forwards, key=lambda user: self.nodes[user].name)

    def grouped(self, group: Callable[[int], str]) -> dict[str, list[int]]:
        """The nodes of each group in an order in which uses come later, over back edges, as the groups do.

        Should groups take from each other in a circle, one of them is the first.
        """
        order = self.post_order()[::-1]
        waits: dict[str, set[str]] = {group(number): set() for number in order}
        users: dict[str, list[str]] = {key: [] for key in waits}
        for number in order:
            forwards = (edge for edge in self.inputs[number] if not self.is_back_edge(edge))
            waits[group(number)] |= {group(edge.source) for edge in forwards} - {group(number)}
        for key, before in waits.items():
            for one in before:
                users[one].append(key)
        found: dict[str, list[int]] = {}
        ready = [key for key, before in waits.items() if not before][::-1]
        for key in (*waits, ""):
            while ready:
                found[one := ready.pop()] = []
                for user in users[one]:
                    waits[user].discard(one)
                    ready += [user] if not waits[user] and user not in found else []
            ready += [key] if key and key not in found else []
        for number in order:
            found[group(number)].append(number)
        return found

    def reached(self, start: int, direction: Callable[[int], Sequence[int]]) -> list[int]:
        """All nodes that one reaches, itself among them, where `direction` gives the next ones of a node."""
        reached, stack = {start: None}, [start]
        while stack:
            for following in direction(stack.pop()):
                if following not in reached:
                    reached[following] = None
                    stack.append(following)
        return list(reached)
