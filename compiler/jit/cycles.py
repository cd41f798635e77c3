"""A graph of which edges are contracted, as long as no cycle comes of it.

Nodes are kept in an order in which every edge goes forwards.  A new edge that goes backwards moves only nodes between
its ends (D. J. Pearce and P. H. J. Kelly, *A dynamic topological sort algorithm for directed acyclic graphs*, 2006),
and whether one node reaches another is looked for between them only: both are cheap where clustering asks, among
neighbours.  The order is TensorFlow's own, because what is contracted first decides what can be contracted later.

Loops of frames (`Enter`, `NextIteration`, ...) are cycles that are meant.  Each frame becomes one node more, which
takes the edges into the frame and out of it, so that for the rest of the graph a loop is a node; its body hangs alone,
without the edges that go back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.graph.frames import is_a
from compiler.jit.topology import Topology


class _Ordered:
    """A set in the order of insertion, except that the last takes the place of one that goes."""

    __slots__ = ("_position", "_sequence")

    def __init__(self) -> None:
        self._sequence: list[int] = []
        self._position: dict[int, int] = {}

    def __contains__(self, one: int) -> bool:
        return one in self._position

    def __iter__(self) -> Iterator[int]:
        return iter(self._sequence)

    def __len__(self) -> int:
        return len(self._sequence)

    def add(self, one: int) -> bool:
        if one in self._position:
            return False
        self._position[one] = len(self._sequence)
        self._sequence.append(one)
        return True

    def discard(self, one: int) -> None:
        position = self._position.pop(one, None)
        if position is None:
            return
        last = self._sequence.pop()
        if last != one:
            self._sequence[position] = last
            self._position[last] = position


class GraphCycles:
    """Nodes from 0 on, and edges without cycles."""

    def __init__(self, count: int = 0) -> None:
        """Begin with nodes and no edges."""
        self._rank: list[int] = []
        self._out: list[_Ordered] = []
        self._in: list[_Ordered] = []
        self._gone: set[int] = set()
        for _ in range(count):
            self.new_node()

    def new_node(self) -> int:
        """Add a node without edges."""
        self._rank.append(len(self._rank))
        self._out.append(_Ordered())
        self._in.append(_Ordered())
        return len(self._rank) - 1

    def has_edge(self, source: int, target: int) -> bool:
        """Whether there is that edge."""
        return target in self._out[source]

    def insert_edge(self, source: int, target: int) -> bool:
        """Add an edge, if it makes no cycle; whether it is there now."""
        if source == target:
            return False
        if not self._out[source].add(target):
            return True
        self._in[target].add(source)
        if self._rank[source] <= self._rank[target]:
            return True
        after = self._between(target, self._out, self._rank[source])
        if source in after:
            self.remove_edge(source, target)
            return False
        self._reorder(self._before(source, self._rank[target]), after)
        return True

    def remove_edge(self, source: int, target: int) -> None:
        """Take an edge away."""
        self._out[source].discard(target)
        self._in[target].discard(source)

    def is_reachable(self, source: int, target: int) -> bool:
        """Whether edges lead from one node to another, or they are one."""
        if source == target:
            return True
        limit = self._rank[target]
        return self._rank[source] < limit and target in self._between(source, self._out, limit)

    def contract_edge(self, source: int, target: int) -> int | None:
        """Make one node of two that an edge joins, and say which number it keeps; None if a cycle would come of it."""
        assert self.has_edge(source, target)
        self.remove_edge(source, target)
        if self.is_reachable(source, target):
            self.insert_edge(source, target)
            return None
        stays, goes = source, target
        if len(self._in[goes]) + len(self._out[goes]) > len(self._in[stays]) + len(self._out[stays]):
            stays, goes = goes, stays  # fewer edges move
        successors, predecessors = list(self._out[goes]), list(self._in[goes])
        for other in successors:
            self.remove_edge(goes, other)
        for other in predecessors:
            self.remove_edge(other, goes)
        self._gone.add(goes)
        for other in successors:
            self.insert_edge(stays, other)
        for other in predecessors:
            self.insert_edge(other, stays)
        return stays

    def successors(self, node: int) -> list[int]:
        """The nodes that edges lead to."""
        return list(self._out[node])

    def predecessors(self, node: int) -> list[int]:
        """The nodes that edges come from."""
        return list(self._in[node])

    def post_order(self) -> list[int]:
        """Nodes after all that their edges lead to."""
        there = (node for node in range(len(self._rank)) if node not in self._gone)
        return sorted(there, key=lambda node: -self._rank[node])

    def path(self, source: int, target: int) -> list[int]:
        """The nodes of a way from one to another, other than the edge between them; empty if there is none."""
        came: dict[int, int] = {}
        stack = [source]
        while stack:
            node = stack.pop()
            for following in self._out[node]:
                if following in came or (node, following) == (source, target):
                    continue
                came[following] = node
                if following != target:
                    stack.append(following)
        if target not in came:
            return []
        way = [target]
        while way[-1] != source:
            way.append(came[way[-1]])
        return way[::-1]

    def _between(self, start: int, edges: list[_Ordered], limit: int) -> set[int]:
        """The nodes that one reaches up to a rank."""
        seen, stack = {start}, [start]
        while stack:
            for following in edges[stack.pop()]:
                if following not in seen and self._rank[following] <= limit:
                    seen.add(following)
                    stack.append(following)
        return seen

    def _before(self, start: int, limit: int) -> set[int]:
        """The nodes from which one is reached, down to a rank."""
        seen, stack = {start}, [start]
        while stack:
            for following in self._in[stack.pop()]:
                if following not in seen and self._rank[following] > limit:
                    seen.add(following)
                    stack.append(following)
        return seen

    def _reorder(self, first: Iterable[int], then: Iterable[int]) -> None:
        """Give the ranks that nodes have to them anew, some before the others."""
        nodes = [*sorted(first, key=self._rank.__getitem__), *sorted(then, key=self._rank.__getitem__)]
        for node, rank in zip(nodes, sorted(self._rank[node] for node in nodes), strict=True):
            self._rank[node] = rank


def cycle_graph(topology: Topology) -> GraphCycles | None:
    """The graph that clusters may be contracted in; None if frames of loops are such that there is none."""
    cycles = GraphCycles(len(topology.nodes))
    frames = topology.frames()
    numbers: dict[str, int] = {}

    def frame_node(number: int) -> int:
        name = frames.name(topology.nodes[number].name)
        if name not in numbers:
            numbers[name] = cycles.new_node()
        return numbers[name]

    for edge in topology.edges():
        source, target = edge.source, edge.target
        enters, leaves = is_a(topology.nodes[target], "Enter"), is_a(topology.nodes[source], "Exit")
        if topology.is_back_edge(edge):
            continue
        target = frame_node(target) if enters else target
        source = frame_node(source) if leaves else source
        if not cycles.insert_edge(source, target):
            assert enters or leaves, "the graph is verified, so that every cycle goes through a loop's entry"
            return None
    return cycles
