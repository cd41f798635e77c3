"""Whether a clustering is one that may be, found out in another way than clustering finds clusters.

Clustering grows clusters edge by edge, keeps an order of nodes up to date, compares formulas and remembers pairs.  Here
a graph that says which cluster its nodes are in is looked at as it stands: each cluster becomes one node, and what is
left must have an order; every combination of the conditions of its switches is tried, and what is in a cluster must be
alive together; every two nodes on variables are looked at of which one leads to the other.  Nothing is shared with the
passes but the graph, so that a slip in one of them does not hide itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.tf import Flags, FunctionReference, Graph, Node, input_types, output_types
from xlabench.graphs.wiring import Wiring

CLUSTER, SCOPE, ASKED = "_XlaCluster", "_XlaInternalScope", "_XlaCompile"
"""TensorFlow's names of what nodes say about clusters."""
_FREE = frozenset({"Const", "Identity"})
_WHATEVER_SIZE = frozenset({"While", "StatelessWhile", "If", "StatelessIf"})
_ONLY_READ = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"})
_ONLY_WRITE = frozenset({"AssignVariableOp"})
_NEVER = frozenset(
    (
        *("_Arg", "_Retval", "Placeholder", "VarHandleOp", "Switch", "Merge", "Enter", "Exit", "NextIteration"),
        *("LoopCond", "VariableV2", "Assign", "PyFunc", "Print", "Where", "Unique", "RandomUniform", "RandomShuffle"),
        *("RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "Multinomial", "ControlTrigger", "Assert"),
        *("CheckNumerics", "SelfAdjointEigV2", "Svd", "Qr", "MatrixInverse", "MatrixSolve", "ResizeBilinearGrad"),
    )
)
"""Ops that TensorFlow clusters on no device that has kernels."""


@dataclass
class Clustering:
    """A graph whose nodes say which cluster they are in, and by what flags they were put there.

    Attributes:
        graph: after all passes that change clusters.
        flags: those of TF_XLA_FLAGS.
        clusters: which cluster each node was put into at first, before some were taken out again.
        candidates: the nodes that clusters were made of.
    """

    graph: Graph
    flags: Flags
    clusters: Mapping[str, str]
    candidates: Sequence[str]

    def __post_init__(self) -> None:
        self._wiring = Wiring(self.graph)
        self._nodes = self._wiring.nodes
        self._library = {function.name: function for function in self.graph.functions}

    def problems(self) -> list[str]:
        """What is wrong with the clusters, each behind the rule that it breaks."""
        final = {name: self.cluster(name) for name in self._nodes}
        found = [
            *self._unordered(final),
            *self._half_alive(final),
            *self._misread(final),
            *self._misplaced(final),
            *self._not_compiled(),
        ]
        return [*found, *self._missized(), *self._out_of_scope(), *self._unjoined()]

    def cluster(self, name: str) -> str:
        """The cluster that a node says it is in; empty for none."""
        said = self._nodes[name].attributes.get(CLUSTER)
        return said.decode() if isinstance(said, bytes) else ""

    def _unordered(self, clusters: Mapping[str, str]) -> list[str]:
        """Clusters that wait for themselves."""
        left = self._wiring.waiting(clusters)
        return [f"cycle: {', '.join(sorted(left)[:6])} wait for each other"] if left else []

    def _half_alive(self, clusters: Mapping[str, str]) -> list[str]:
        """Clusters of which something is dead while something else is alive."""
        if self._wiring.has_frames or self.flags.disable_deadness_safety_checks_for_debugging:
            return []
        first: dict[str, str] = {}
        found = []
        for name in self._wiring.order:
            one = clusters.get(name, "") if name in self.clusters else ""  # what passes add dies with what takes it
            other = first.setdefault(one, name)
            if one and not np.array_equal(self._wiring.alive[name, -1], self._wiring.alive[other, -1]):
                found.append(f"deadness: {name} and {other} are in {one}, and alive at different times")
        return found

    def access(self, node: Node) -> str:
        """What a node does to variables: `r`, `w`, both or neither."""
        if node.op in _ONLY_READ or node.op in _ONLY_WRITE:
            return "r" if node.op in _ONLY_READ else "w"
        calls = node.op in self._library or any(map(_has_function, node.attributes.values()))
        takes = any(str(one) == "resource" for one in input_types(node, self._library))
        return "rw" if calls or (takes and node.op not in ("_Retval", "Identity")) else ""

    def _misread(self, clusters: Mapping[str, str]) -> list[str]:
        """Clusters that would read a variable before it is written, since they read first and write last."""
        if self.flags.disable_resource_variable_safety_checks_for_debugging:
            return []
        on_variables = [name for name in self._nodes if clusters.get(name) and self.access(self._nodes[name])]
        on_variables = [name for name in on_variables if not _type_of(self._nodes[name]).startswith("XLA_")]
        return [
            f"variables: {second} reads behind what {first} writes, and both are in {clusters[first]}"
            for first in on_variables
            for second in on_variables
            if clusters[first] == clusters[second]
            and first in self._wiring.before[second]
            and "w" in self.access(self._nodes[first])
            and "r" in self.access(self._nodes[second])
        ]

    def _misplaced(self, clusters: Mapping[str, str]) -> list[str]:
        """Clusters with nodes on devices that do not go together."""
        found = []
        for one in sorted({*clusters.values()} - {""}):
            members = [self._nodes[name] for name, of in clusters.items() if of == one]
            devices = {node.device for node in members}
            others = {device for device in devices if _type(device) != "CPU"}
            if len(others) > 1 or len(devices - others) > 1:
                found.append(f"devices: {one} has nodes on {', '.join(sorted(devices))}")
            runs_on = next(iter(others), next(iter(devices)))
            held = {node.device for node in members if self._holds_variable(node)}
            if held - {runs_on}:
                found.append(f"devices: {one} runs on {runs_on}, and has variables on {', '.join(sorted(held))}")
        return found

    def _holds_variable(self, node: Node) -> bool:
        types = (*input_types(node, self._library), *(output_types(node, self._library) or ()))
        return any(str(one) == "resource" for one in types)

    def _not_compiled(self) -> list[str]:
        """Nodes in clusters that nobody compiles, or that were not to be."""
        return [
            f"compilable: {name} ({self._nodes[name].op}) is in {one}: {said}"
            for name in self._nodes
            if (one := self.cluster(name) or self.clusters.get(name, ""))
            and (said := self._objection(self._nodes[name]))
        ]

    def _objection(self, node: Node) -> str:
        flags = self.flags
        if node.attributes.get(ASKED) is False:
            return f"it says {ASKED}=false"
        if node.name in self.clusters and (node.op in flags.cluster_exclude_ops or self._is_left_out(node)):
            return "flags leave its op out"
        types = (*input_types(node, self._library), *(output_types(node, self._library) or ()))
        if any(str(one) == "string" or str(one).endswith("_ref") for one in types):
            return "it takes or gives texts, or references"
        if node.op in _NEVER and not _type_of(node).startswith("XLA_"):
            return "its op is never clustered"
        return ""

    def _is_left_out(self, node: Node) -> bool:
        only = self.flags.ops_to_cluster
        return bool(only) and all(one.isalpha() and not one.isupper() for one in only) and node.op not in only

    def _groups(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, one in self.clusters.items():
            found.setdefault(one, []).append(name)
        return found

    def _missized(self) -> list[str]:
        """Clusters that are too small or too large when they are made, or made of more nodes than there is fuel for."""
        found = []
        for one, names in self._groups().items():
            members = [self._nodes[name] for name in names if name in self._nodes]
            if len(members) < len(names):
                continue  # slices that are other nodes since
            counted = sum(node.op not in _FREE for node in members)
            is_asked = any(node.op in _WHATEVER_SIZE or self._is_asked(node) for node in members)
            least, has_fills = self.flags.min_cluster_size, any(one.op == "Fill" for one in self.graph.nodes)
            if counted < least and not is_asked and not has_fills:  # of these some are left out when all are counted
                found.append(f"size: {one} has {counted} nodes that count, fewer than {least}")
            if len(members) > max(1, self.flags.max_cluster_size):
                found.append(f"size: {one} has {len(members)} nodes, more than {self.flags.max_cluster_size}")
        if len(self.candidates) > self.flags.clustering_fuel:
            found.append(f"fuel: {len(self.candidates)} candidates of {self.flags.clustering_fuel}")
        strangers = self.clusters.keys() - {*self.candidates}
        return [*found, *(f"candidates: {name} is in a cluster, and none" for name in sorted(strangers))]

    def _is_asked(self, node: Node) -> bool:
        called = self._library.get(node.op)
        stated = [held.attributes.get(key) for held in (node, called) if held for key in (ASKED, "_XlaMustCompile")]
        return True in stated

    def _out_of_scope(self) -> list[str]:
        """Clusters with nodes of several scopes."""
        found = []
        for one, names in self._groups().items():
            scopes = {node.attributes.get(SCOPE) for name in names if (node := self._nodes.get(name))} - {None, b""}
            if len(scopes) > 1:
                found.append(f"scope: {one} has nodes of {len(scopes)} scopes")
        return found

    def _unjoined(self) -> list[str]:
        """Two clusters on one device that could be one, where all is alive and nothing else is a candidate."""
        left = [name for name in self.candidates if name not in self.clusters]
        is_plain = len({node.device for node in self.graph.nodes}) == 1 and not self._wiring.has_frames
        if not is_plain or any(name not in self._nodes for name in self.candidates) or self._are_joined(left):
            return []
        groups = self._groups()
        pairs = {(self.clusters.get(edge.source), self.clusters.get(edge.target)) for edge in self._wiring.edges}
        return [
            f"joining: {one} and {other} could be one cluster"
            for one, other in sorted((a, b) for a, b in pairs if a and b and a != b)
            if self._could_be_one(one, [*groups[one], *groups[other]])
        ]

    def _are_joined(self, names: Sequence[str]) -> bool:
        """Whether candidates that are in no cluster may have been in one that was too small."""
        among = {*names}
        return any(edge.source in among and edge.target in among for edge in self._wiring.edges)

    def _could_be_one(self, name: str, members: Sequence[str]) -> bool:
        joined = {**self.clusters, **dict.fromkeys(members, name)}
        scopes = {self._nodes[one].attributes.get(SCOPE) for one in members} - {None, b""}
        if len(members) > self.flags.max_cluster_size or len(scopes) > 1:
            return False
        if not all(self._wiring.alive[one, -1].all() for one in members):
            return False
        return not self._misread(joined) and not self._wiring.waiting(joined)


def _has_function(value: object) -> bool:
    return any(isinstance(one, FunctionReference) for one in (value, *getattr(value, "values", ())))


def _type_of(node: Node) -> str:
    return _type(node.device)


def _type(device: str) -> str:
    """The type that the full name of a device ends with."""
    return device.rpartition("device:")[2].partition(":")[0] or "CPU"
