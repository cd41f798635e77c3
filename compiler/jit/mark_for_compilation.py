"""MarkForCompilation: which nodes form clusters, written to them as the attribute `_XlaCluster`.

1. Candidates are found, in the order of creation while there is fuel: nodes that can be compiled where they stand, and
   that are asked to be, by the session or by themselves.
2. Edges between candidates are contracted (`clusters`).
3. A cluster is kept if it has ops enough (constants and identities do not count), or a loop or branch, or a node that
   asks for compilation.  A `Fill` that nothing in its cluster takes goes: what it would hand out is cheaper made there.

Why a node is in no cluster is kept too, for people who ask.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from compiler.graph import Graph, Node
from compiler.graph.frames import is_a
from compiler.jit.attributes import (
    CLUSTER,
    CLUSTERED,
    COMPILE,
    INTERNAL_SCOPE,
    MUST_COMPILE,
    SCOPE,
    text_of,
    truth_of,
)
from compiler.jit.clusters import Cluster, Contraction
from compiler.jit.compilability import STORES, Compilability
from compiler.jit.cycles import cycle_graph
from compiler.jit.deadness import Deadness
from compiler.jit.devices import Device, Policy, Registration, device_of, registration_of
from compiler.jit.flags import Flags
from compiler.jit.op_groups import checked, ops_to_cluster
from compiler.jit.options import OFF, Options
from compiler.jit.resource_safety import Access, access_of, unsafe_pairs
from compiler.jit.topology import Topology
from compiler.tf2xla import RECORDS, Trait, must_be_known
from compiler.tf2xla.node_types import Library, has_resource, input_types, is_reference, output_types, type_at

_LOOPS_AND_BRANCHES = frozenset(("While", "StatelessWhile", "If", "StatelessIf"))
_FREE = frozenset(("Identity", "Const"))


@dataclass(slots=True)
class Marking:
    """What was decided about a graph.

    Attributes:
        clusters: the name of each node's cluster.
        reasons: of the others, why they are in none.
        candidates: the nodes that clusters were made of, in the order in which fuel is used up.
        refused: why an edge between two nodes does not join their clusters.
        notes: what a user should be told.
    """

    clusters: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    candidates: list[str] = field(default_factory=list)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def members(self) -> Mapping[str, list[str]]:
        """The nodes of each cluster."""
        found: dict[str, list[str]] = {}
        for node, name in self.clusters.items():
            found.setdefault(name, []).append(node)
        return found


def mark_for_compilation(graph: Graph, flags: Flags, options: Options) -> Marking:
    """Find clusters, and write their names to the nodes of the graph, which was verified.

    Args:
        graph: was verified; its nodes are changed.
        flags: those of TF_XLA_FLAGS.
        options: the session's.

    Raises:
        InputError: a flag names no op, a node names no device, or a loop makes no sense.
    """
    for node in graph.nodes:
        if CLUSTERED in node.attributes:  # functions come here again when they are run
            return Marking(reasons={one.name: "its graph was clustered before" for one in graph.nodes})
    return _Marker(graph, flags, options).run()


def jit_level(graph: Graph, flags: Flags, options: Options) -> int:
    """The level that holds for a graph: the flags' where they say one, else the session's.

    Args:
        graph: whose devices say which flag holds.
        flags: those of TF_XLA_FLAGS.
        options: the session's.
    """
    level = options.global_jit_level or OFF
    gpus = {device for node in graph.nodes if (device := device_of(node.device, options.default_device)).type == "GPU"}
    return (flags.auto_jit_single_gpu if len(gpus) == 1 else flags.auto_jit) or level


class _Marker:
    """One graph on its way to clusters."""

    def __init__(self, graph: Graph, flags: Flags, options: Options) -> None:
        self._graph = graph
        self._flags = replace(flags, cpu_global_jit=flags.cpu_global_jit or options.cpu_global_jit)
        self._options = options
        self._library: Library = {function.name: function for function in graph.functions}
        self._is_on = jit_level(graph, flags, options) != OFF
        self._topology = Topology(graph)
        self._only = ops_to_cluster(flags.ops_to_cluster)
        self._never = frozenset(checked(op, "cluster_exclude_ops") for op in flags.cluster_exclude_ops)
        self._checkers: dict[Registration, Compilability] = {}
        self._marking = Marking()

    def run(self) -> Marking:
        """Find candidates, contract edges, name clusters."""
        candidates = self._candidates()
        if not candidates:
            return self._marking
        self._marking.candidates = [self._topology.nodes[number].name for number in candidates]
        cycles = cycle_graph(self._topology)
        if cycles is None:
            said = "frames of loops take from each other, so that cycles could not be told"
            self._marking.reasons |= {self._topology.nodes[one].name: said for one in candidates}
            return self._marking
        deadness = None
        if not self._flags.disable_deadness_safety_checks_for_debugging:
            deadness = Deadness(self._topology)
        clusters = [self._cluster(number, deadness) for number in candidates]
        contraction = Contraction(self._topology, cycles, clusters, self._flags.max_cluster_size, self._unsafe())
        contraction.run()
        self._name(candidates, contraction)
        name = [node.name for node in self._topology.nodes]
        self._marking.refused = {(name[a], name[b]): said for (a, b), said in contraction.refused.items()}
        return self._marking

    def _unsafe(self) -> frozenset[tuple[int, int]]:
        if self._flags.disable_resource_variable_safety_checks_for_debugging:
            return frozenset()
        return frozenset(unsafe_pairs(self._topology, self._library, self._is_always_compiled))

    def _is_always_compiled(self, number: int) -> bool:
        """Whether a node has no kernel where it stands, so that its order among others cannot be kept by one."""
        registration = registration_of(self._device(self._topology.nodes[number]), self._flags)
        return registration is None or registration.allows_everything

    def _device(self, node: Node) -> Device:
        return device_of(node.device, self._options.default_device)

    def _candidates(self) -> list[int]:
        known = must_be_known(self._graph, [node.name for node in self._graph.nodes])
        found = []
        for number in self._topology.numbers:
            node = self._topology.nodes[number]
            said = self._objection(node, number, must_be_constant=node.name in known)
            if not said and not self._options.progress.take_fuel(self._flags.clustering_fuel):
                said = f"--tf_xla_clustering_fuel={self._flags.clustering_fuel} is used up"
            if said:
                self._marking.reasons[node.name] = said
            else:
                found.append(number)
        return found

    def _objection(self, node: Node, number: int, *, must_be_constant: bool) -> str:
        """Why a node is no candidate; empty if it is one."""
        if truth_of(node, COMPILE, self._library) is False:
            return f"its attribute {COMPILE} says so"
        device = self._device(node)
        registration = registration_of(device, self._flags)
        if registration is None:
            return f"nothing is compiled for devices of the type {device.type}"
        if not self._is_asked(node, registration):
            return self._nobody_asks(device)
        checker = self._checkers.setdefault(registration, Compilability(self._library, registration))
        if must_be_constant and self._is_stateful(node) and not node.op.startswith(STORES):
            return "its value must be a compile-time constant where it is used, and is another each time"
        return checker.objection(node) or self._choice(node) or self._device_objection(node, number)

    def _device_objection(self, node: Node, number: int) -> str:
        """What speaks against a node because of those around it."""
        if self._takes_reference(node, number):
            return "it hands on a reference to a variable"
        if self._drives_constants(number):
            return "constants of a loop's body wait for it, which its condition would then wait for too"
        return ""

    def _choice(self, node: Node) -> str:
        if self._only and node.op not in self._only:
            return f"op {node.op} is not among --tf_xla_ops_to_cluster"
        return f"op {node.op} is among --tf_xla_cluster_exclude_ops" if node.op in self._never else ""

    def _is_asked(self, node: Node, registration: Registration) -> bool:
        if self._must_compile(node) or registration.policy is Policy.ALWAYS:
            return True
        return self._is_on and registration.policy is Policy.IF_ENABLED_GLOBALLY

    def _must_compile(self, node: Node) -> bool:
        asked = truth_of(node, COMPILE, self._library)
        return bool(asked or (self._is_on and truth_of(node, MUST_COMPILE, self._library)))

    def _nobody_asks(self, device: Device) -> str:
        if not self._is_on:
            return "nobody asks for it: neither the session's global_jit_level, nor --tf_xla_auto_jit, nor a jit_scope"
        note = (
            "not using XLA:CPU for clusters: set --tf_xla_cpu_global_jit in TF_XLA_FLAGS, or cpu_global_jit in the "
            "session's OptimizerOptions, or use jit_scope"
        )
        if note not in self._marking.notes:
            self._marking.notes.append(note)
        return f"on a {device.type} --tf_xla_cpu_global_jit must be set"

    def _is_stateful(self, node: Node) -> bool:
        if node.op in self._library:
            called = self._library[node.op].nodes
            return any(self._is_stateful(one) for one in called if one.op not in self._library)
        record = RECORDS.get(node.op)
        return record is not None and Trait.STATEFUL in record.traits

    def _takes_reference(self, node: Node, number: int) -> bool:
        """Whether it is an identity of a variable of TensorFlow 1, which others may write to."""
        if node.op != "Identity":
            return False
        for edge in self._topology.inputs[number]:
            if is_reference(type_at(output_types(self._topology.nodes[edge.source], self._library), edge.port)):
                return True
        return False

    def _drives_constants(self, number: int) -> bool:
        """Whether an identity of what a loop goes on with makes constants of its body wait."""
        nodes, inputs = self._topology.nodes, self._topology.inputs
        if nodes[number].op != "Identity":
            return False
        switch = next(
            (edge.source for edge in inputs[number] if edge.port == 1 and is_a(nodes[edge.source], "Switch")), None
        )
        if switch is None or not any(e.slot == 1 and nodes[e.source].op == "LoopCond" for e in inputs[switch]):
            return False
        return any(e.is_control and nodes[e.target].op == "Const" for e in self._topology.outputs[number])

    def _cluster(self, number: int, deadness: Deadness | None) -> Cluster:
        """The cluster of one node."""
        node = self._topology.nodes[number]
        device = self._device(node)
        types = (*input_types(node, self._library), *(output_types(node, self._library) or ()))
        on_variables = has_resource(types) or access_of(node, self._library) is not Access.NONE
        return Cluster(
            at=number,
            members=[number],
            counted=0 if node.op in _FREE else 1,
            has_control_flow=node.op in _LOOPS_AND_BRANCHES,
            devices=frozenset((device,)),
            variable_device=device if has_resource(types) else None,
            alive=deadness.of(number) if deadness else None,
            must_compile=self._must_compile(node),
            scope=text_of(node, INTERNAL_SCOPE if self._is_on else SCOPE),
            on_variables=[number] if on_variables else [],
        )

    def _name(self, candidates: list[int], contraction: Contraction) -> None:
        """Name the clusters that are kept, and their nodes' attributes."""
        names: dict[Cluster, str] = {}
        fingerprint = _fingerprint(self._graph) if self._flags.deterministic_cluster_names else ""
        prefix = (self._options.name or "cluster") + (f"_{fingerprint}" if fingerprint else "")
        for number in candidates:
            node, cluster = self._topology.nodes[number], contraction.of(number)
            assert cluster is not None
            said = self._too_small(cluster) or self._lonely_fill(number, contraction)
            if said:
                self._marking.reasons[node.name] = said
                continue
            if cluster not in names:
                names[cluster] = f"{prefix}_{self._options.progress.next_number(fingerprint)}"
            self._marking.clusters[node.name] = names[cluster]
            node.attributes |= {CLUSTER: names[cluster].encode(), CLUSTERED: True}

    def _too_small(self, cluster: Cluster) -> str:
        least = self._flags.min_cluster_size
        if cluster.counted >= least or cluster.has_control_flow or cluster.must_compile:
            return ""
        return f"its cluster has {cluster.counted} ops that count, fewer than {least}"

    def _lonely_fill(self, number: int, contraction: Contraction) -> str:
        if self._topology.nodes[number].op != "Fill":
            return ""
        own = contraction.of(number)
        inside = any(contraction.of(edge.target) is own for edge in self._topology.outputs[number])
        return "" if inside else "nothing in its cluster takes it, and it is cheaper made where it is taken"


def _fingerprint(graph: Graph) -> str:
    """A number that graphs have in common only if they are alike."""
    return str(int.from_bytes(hashlib.sha256(str(graph).encode()).digest()[:8], "big"))
