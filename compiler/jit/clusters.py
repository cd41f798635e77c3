"""Clusters, and the contraction of edges that makes them grow.

Every candidate begins as a cluster of its own.  Edges are walked from the users of nodes back to these, so that a
cluster is as large as it can be before it is joined to what it takes from: then one walk leaves no edge that could
still be contracted.  What cannot be undone is decided first: ops that ask only for shapes go with what they ask about,
whose values would have to leave the cluster otherwise; and nodes that merely end a step, or count steps, come last, so
that they do not tie together what would keep variables' updates out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from compiler.graph import DataType, Node, Tensor
from compiler.jit.cycles import GraphCycles
from compiler.jit.devices import Device, pick_device
from compiler.jit.predicates import Predicate
from compiler.jit.topology import SINK, Topology

SHAPE_CONSUMERS = ("Shape", "Rank", "Size")
"""Ops that ask for the shape of what they take, not for its elements."""


@dataclass(slots=True, eq=False)
class Cluster:
    """Nodes that run as one.

    Attributes:
        at: the node of the graph of cycles that stands for it.
        members: its nodes, by number.
        counted: how many of them count against the smallest size.
        has_control_flow: whether a loop or branch is among them, which counts for any size.
        devices: where its nodes stand.
        variable_device: where its variables stand; None if it has none.
        alive: when its nodes are alive; None where nobody cares.
        must_compile: whether a node asks for it, whatever the size.
        scope: the scope that all its nodes are in which are in any; empty if none is.
        on_variables: those of its nodes that may read or write variables.
    """

    at: int
    members: list[int]
    counted: int = 1
    has_control_flow: bool = False
    devices: frozenset[Device] = frozenset()
    variable_device: Device | None = None
    alive: Predicate | None = None
    must_compile: bool = False
    scope: str = ""
    on_variables: list[int] = field(default_factory=list)

    def absorb(self, other: Cluster) -> None:
        """Take the nodes of another."""
        self.members += other.members
        self.counted += other.counted
        self.has_control_flow |= other.has_control_flow
        self.devices |= other.devices
        self.variable_device = self.variable_device or other.variable_device
        self.must_compile |= other.must_compile
        self.scope = self.scope or other.scope
        self.on_variables += other.on_variables


class Contraction:
    """The clusters of a graph while they grow.

    Attributes:
        refused: why an edge between two clusters stayed, by one node of each.
    """

    def __init__(
        self,
        topology: Topology,
        cycles: GraphCycles,
        clusters: Iterable[Cluster],
        most_nodes: int,
        unsafe: frozenset[tuple[int, int]],
    ) -> None:
        """Begin with clusters of one node each.

        Args:
            topology: the graph.
            cycles: the graph that must not become cyclic.
            clusters: those that may grow.
            most_nodes: that one may have.
            unsafe: pairs of nodes that may not be in one.
        """
        self._topology = topology
        self._cycles = cycles
        self._most_nodes = most_nodes
        self._unsafe = unsafe
        self._of: dict[int, Cluster] = {one.at: one for one in clusters}
        self._at: dict[int, Cluster] = dict(self._of)
        self.refused: dict[tuple[int, int], str] = {}

    def run(self) -> None:
        """Contract what can be."""
        self.walk(lambda _, target: self._only(target, lambda node: node.op in SHAPE_CONSUMERS))
        self.walk(lambda source, target: not (self._ends(target) or self._counts(source)))
        self.walk()

    def of(self, number: int) -> Cluster | None:
        """The cluster of a node; None if it is no candidate."""
        return self._of.get(number)

    def walk(self, wanted: Callable[[Cluster, Cluster], bool] = lambda _, __: True) -> bool:
        """Try the edges of every cluster, its users' first; whether any was contracted."""
        changed = False
        for number in self._cycles.post_order():
            source = self._at.get(number)
            if source is None:
                continue
            for other in self._cycles.successors(source.at):
                target = self._at.get(other)
                if target is not None and target is not source and wanted(source, target):
                    joined = self._contracted(source, target)
                    changed |= joined is not None
                    source = joined or source
        return changed

    def _only(self, cluster: Cluster, holds: Callable[[Node], bool]) -> bool:
        """Whether a cluster is one node of which something holds."""
        return len(cluster.members) == 1 and holds(self._topology.nodes[cluster.members[0]])

    def _ends(self, cluster: Cluster) -> bool:
        """Whether it is one node that does nothing and that nothing waits for."""
        outputs = self._topology.outputs[cluster.members[0]]
        return self._only(cluster, lambda node: node.op == "NoOp") and [edge.target for edge in outputs] == [SINK]

    def _counts(self, cluster: Cluster) -> bool:
        """Whether it adds a constant to a whole number that is a variable."""
        return self._only(cluster, self._is_counter)

    def _is_counter(self, node: Node) -> bool:
        data_type = node.attributes.get("dtype")
        if node.op not in ("AssignAddVariableOp", "AssignSubVariableOp") or not isinstance(data_type, DataType):
            return False
        if not str(data_type).startswith(("int", "uint")):
            return False
        sources = (
            self._topology.nodes[edge.source] for edge in self._topology.inputs[self._topology.number[node.name]]
        )
        constant = next((one for one in sources if one.op == "Const"), None)
        value = constant.attributes.get("value") if constant else None
        return isinstance(value, Tensor) and not value.dims

    def _contracted(self, source: Cluster, target: Cluster) -> Cluster | None:
        """Make one cluster of two, if they may be one; the larger takes the nodes of the other."""
        said = self._objection(source, target)
        kept = None if said else self._cycles.contract_edge(source.at, target.at)
        if kept is None:
            self.refused[source.members[0], target.members[0]] = said or self._described(source, target)
            return None
        large, small = (source, target) if len(source.members) >= len(target.members) else (target, source)
        del self._at[large.at], self._at[small.at]
        for member in small.members:
            self._of[member] = large
        large.absorb(small)
        large.at = kept
        self._at[kept] = large
        return large

    def _objection(self, source: Cluster, target: Cluster) -> str:
        """Why two clusters may not become one; empty if they may, cycles aside."""
        if source.alive is not target.alive:
            return f"they are alive at different times: {_short(source.alive)} and {_short(target.alive)}"
        if not _compatible(source, target):
            return "their devices do not go together"
        if source.scope and target.scope and source.scope != target.scope:
            return f"they are in different scopes: {source.scope} and {target.scope}"
        if len(source.members) + len(target.members) > self._most_nodes:
            return f"together they have more than {self._most_nodes} nodes"
        if self._waits_for_another_device(source, target):
            return "it would wait for another device"
        return self._reads_too_late(source, target)

    def _reads_too_late(self, source: Cluster, target: Cluster) -> str:
        """Which variables would be read too late, in one cluster."""
        for first in source.on_variables:
            for second in target.on_variables:
                if (first, second) in self._unsafe:
                    names = (self._topology.nodes[one].name for one in (first, second))
                    return "variables would be read too late: {} runs before {}".format(*names)
        return ""

    def _waits_for_another_device(self, source: Cluster, target: Cluster) -> bool:
        takes_from = (self._at.get(one) for one in self._cycles.predecessors(target.at))
        return any(
            one is not None and not (_compatible(target, one) and _compatible(source, one)) for one in takes_from
        )

    def _described(self, source: Cluster, target: Cluster) -> str:
        """The way around an edge, by which the joined clusters would wait for themselves."""
        names = (
            self._topology.nodes[one].name if one < len(self._topology.nodes) else "a loop"
            for one in self._cycles.path(source.at, target.at)[1:-1]
        )
        return f"it would wait for itself through {', '.join(names)}"


def _compatible(one: Cluster, other: Cluster) -> bool:
    """Whether there is a device for two clusters together, which is that of their variables."""
    picked = pick_device(one.devices | other.devices)
    return picked is not None and all(cluster.variable_device in (None, picked) for cluster in (one, other))


_LONGEST = 80
"""Characters of a reason in a table."""


def _short(predicate: Predicate | None) -> str:
    text = str(predicate)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
