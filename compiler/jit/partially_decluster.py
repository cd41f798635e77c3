"""PartiallyDecluster: nodes at the edge of a cluster that are better outside of it.

1. On a GPU whole numbers of 32 bits live on the host.  A node that gives some to a user outside of its cluster would
   have them copied to the device and back, so that user gets a copy of the node that is in no cluster; a node that has
   no other users goes.  What touches variables is never run twice.
2. A value that must be a compile-time constant in a cluster is part of its signature.  A node that makes one of what
   comes from outside goes out, since it may make equal values of different ones: what follows is compiled less often,
   never more often.
3. `Shape`, `Rank` and `Size` of what comes from outside need not be in.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.graph import BY_NAME, DataType, Graph, Node
from compiler.jit.attributes import CLUSTER, cluster_of
from compiler.jit.clusters import SHAPE_CONSUMERS
from compiler.jit.devices import device_of, registration_of
from compiler.jit.flags import Flags
from compiler.jit.options import Options
from compiler.jit.topology import SINK, SOURCE, Edge, Topology
from compiler.tf2xla import must_be_known
from compiler.tf2xla.node_types import Library, Types, has_resource, input_types, output_types, type_at

_ON_HOST = BY_NAME["int32"]


def partially_decluster(graph: Graph, flags: Flags, options: Options) -> None:
    """Take nodes out of the clusters of a graph, or copy them.

    Args:
        graph: whose nodes have the names of their clusters, and are changed.
        flags: those of TF_XLA_FLAGS.
        options: the session's.
    """
    _copy_for_hosts(graph, options)
    _take_out_constants(graph, flags, options)
    _take_out_shapes(graph)


def _copy_for_hosts(graph: Graph, options: Options) -> None:
    library: Library = {function.name: function for function in graph.functions}
    topology = Topology(graph)
    order = topology.post_order()
    chosen: set[int] = set()

    def is_on_host(number: int, data_type: DataType | None) -> bool:
        device = device_of(topology.nodes[number].device, options.default_device)
        return data_type == _ON_HOST and device.type == "GPU"

    def is_copied(number: int, given: Types, edge: Edge) -> bool:
        """Whether what goes along an edge leaves the cluster, from the host to the host."""
        target = topology.nodes[edge.target]
        cluster = "" if edge.target in chosen else cluster_of(target)
        if edge.is_control or cluster == cluster_of(topology.nodes[number]):
            return False
        taken = type_at(input_types(target, library), edge.slot)
        return is_on_host(number, type_at(given, edge.port)) and is_on_host(edge.target, taken)

    for number in order:
        node = topology.nodes[number]
        given = output_types(node, library) or ()
        is_free = node.op not in SHAPE_CONSUMERS and not has_resource((*input_types(node, library), *given))
        if cluster_of(node) and is_free and any(is_copied(number, given, one) for one in topology.outputs[number]):
            chosen.add(number)
    for number in order:
        if number in chosen:
            _copy(graph, topology.nodes[number])


def _copy(graph: Graph, node: Node) -> None:
    """Give the users of a node that are not in its cluster a copy that is in none."""
    attributes = {name: value for name, value in node.attributes.items() if name != CLUSTER}
    copy = replace(node, name=f"{node.name}/declustered", attributes=attributes)
    is_used = False
    for user in graph.nodes:
        outside = cluster_of(user) != cluster_of(node)
        inputs = tuple(_moved(text, node.name, copy.name) if outside else text for text in user.inputs)
        user.inputs = inputs
        is_used |= any(text.removeprefix("^").partition(":")[0] == node.name for text in inputs)
    graph.nodes.append(copy)
    if not is_used:
        graph.nodes.remove(node)


def _moved(text: str, before: str, after: str) -> str:
    """An input with one node's name for another's, if it takes something of it."""
    name, colon, port = text.partition(":")
    return f"{after}{colon}{port}" if name == before else text


def _take_out_constants(graph: Graph, flags: Flags, options: Options) -> None:
    topology = Topology(graph)
    clusters: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if cluster_of(node):
            clusters.setdefault(cluster_of(node), []).append(node)
    known: set[str] = set()
    for nodes in clusters.values():
        names = {node.name for node in nodes}
        known |= must_be_known(Graph(nodes, graph.functions), [*names]) & names
    for number in reversed(topology.post_order()):
        node = topology.nodes[number]
        if node.name not in known or not _is_at_edge(topology, number):
            continue
        registration = registration_of(device_of(node.device, options.default_device), flags)
        if registration is not None and registration.allows_everything:
            continue
        if node.op != "Const" or _waits_for_another_device(topology, number, options):
            node.attributes.pop(CLUSTER)


def _is_at_edge(topology: Topology, number: int) -> bool:
    """Whether nothing that a node takes or waits for is in its cluster."""
    own = cluster_of(topology.nodes[number])
    return all(cluster_of(topology.nodes[edge.source]) != own for edge in topology.inputs[number])


def _waits_for_another_device(topology: Topology, number: int, options: Options) -> bool:
    own = device_of(topology.nodes[number].device, options.default_device)
    sources = {edge.source for edge in topology.inputs[number]} - {SOURCE, SINK}
    return any(device_of(topology.nodes[one].device, options.default_device) != own for one in sources)


def _take_out_shapes(graph: Graph) -> None:
    topology = Topology(graph)
    for number in reversed(topology.post_order()):
        node = topology.nodes[number]
        if node.op in SHAPE_CONSUMERS and cluster_of(node) and _is_at_edge(topology, number):
            node.attributes.pop(CLUSTER)
