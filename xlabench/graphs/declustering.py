"""Whether the right nodes left their clusters again, said of the graph as it stands then and not of how they left.

What must be a compile-time constant, and follows from what comes from outside of its cluster, is made outside of it;
so is a shape that nothing in the cluster is needed for; and nothing else leaves a cluster, but whole numbers that a GPU
would have to fetch from the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.tf import RECORDS, AttributeList, Graph, Node, Tensor, Trait
from xlabench.graphs.legality import CLUSTER
from xlabench.graphs.wiring import Wiring

_ASK_SHAPE = frozenset({"Shape", "Rank", "Size"})
_CONSTANT_INPUTS = "_XlaCompileTimeConstantInputs"


@dataclass
class Declustering:
    """A graph whose nodes say which cluster they are in, after some have left theirs.

    Attributes:
        graph: the graph.
        clusters: the cluster that each node was put into at first.
    """

    graph: Graph
    clusters: Mapping[str, str]

    def __post_init__(self) -> None:
        self._wiring = Wiring(self.graph)
        self._nodes = self._wiring.nodes
        self._now = {node.name: one.decode() for node in self.graph.nodes if isinstance(one := _said(node), bytes)}

    def problems(self) -> list[str]:
        """What is wrong, each behind what it is about."""
        return [*self._left_for_nothing(), *self._stayed(), *self._slices()]

    def _left_for_nothing(self) -> list[str]:
        is_changed = any(name not in self._nodes for name in self.clusters) or "/static_shaped_slice" in str(self.graph)
        if is_changed or any("GPU:" in node.device for node in self.graph.nodes):
            return []
        known = self._known(self.clusters)
        return [
            f"declustering: {name} left {one} for nothing"
            for name, one in self.clusters.items()
            if name not in self._now and name not in known and self._nodes[name].op not in _ASK_SHAPE
        ]

    def _stayed(self) -> list[str]:
        """What is at the edge of its cluster, and should be outside."""
        known = self._known(self._now)
        found = []
        for name, one in self._now.items():
            node = self._nodes[name]
            sources = {edge.source for edge in self._wiring.taken[name]}
            is_at_edge = all(self._now.get(source) != one for source in sources)
            is_first = all(self.clusters.get(source) != one for source in sources if self._left_last(source))
            is_constant = is_first and name in known and node.op != "Const" and "XLA_" not in node.device
            if is_at_edge and (is_constant or node.op in _ASK_SHAPE):
                found.append(f"declustering: {name} ({node.op}) is still in {one}")
        return found

    def _left_last(self, name: str) -> bool:
        """Whether a node left its cluster when what must be constant had left already."""
        return self._nodes[name].op in _ASK_SHAPE

    def _known(self, clusters: Mapping[str, str]) -> set[str]:
        """The nodes whose values must be known where they and what asks for them are in one cluster."""
        stack = [
            (self._nodes[name].data_inputs[number], one)
            for name, one in clusters.items()
            if name in self._nodes
            for number in _asked(self._nodes[name])
        ]
        found: set[str] = set()
        while stack:
            text, one = stack.pop()
            name = text.partition(":")[0]
            if clusters.get(name) == one and name not in found:
                found.add(name)
                record = RECORDS.get(self._nodes[name].op)
                if record is None or Trait.ASKS_SHAPE not in record.traits:
                    stack += [(source, one) for source in self._nodes[name].data_inputs]
        return found

    def _slices(self) -> list[str]:
        """Slices whose sizes hang on where they begin, though they could be computed on the host."""
        found = []
        for name in self._now:
            node = self._nodes[name]
            if node.op != "Slice" or _CONSTANT_INPUTS in node.attributes:
                continue
            begin, size = (self._nodes[text.partition(":")[0]] for text in node.data_inputs[1:])
            value = size.attributes.get("value") if size.op == "Const" else None
            if begin.op != "Const" and isinstance(value, Tensor) and bool((value.array() >= -1).all()):
                found.append(f"slices: {name} is as it was, and begins at {begin.name}")
        return found


def _said(node: Node) -> object:
    return node.attributes.get(CLUSTER)


def _asked(node: Node) -> list[int]:
    """The numbers of the inputs whose values a node asks for, of one whose inputs are single arrays."""
    record = RECORDS.get(node.op)
    if record is None or any(not port.is_one for port in record.signature.inputs):
        return []
    stated = node.attributes.get(_CONSTANT_INPUTS)
    names = list(record.constants)
    if isinstance(stated, AttributeList):
        names = [one.decode() for one in stated.values if isinstance(one, bytes)]
    return [number for number, port in enumerate(record.signature.inputs) if port.name in names]
