"""ClusterScoping: stages of a pipeline stay apart.

What comes before a `Stage` works ahead for later steps, and what comes behind an `Unstage` takes what was made ahead.
In one cluster they would wait for each other, which is right and slow.  So each such node gives all nodes on its side a
scope of their own; a node on two sides gets both, and is with none that is on one of them only.
"""

from __future__ import annotations

from compiler.graph import Graph
from compiler.jit.attributes import INTERNAL_SCOPE, text_of
from compiler.jit.topology import SINK, SOURCE, Topology


def scope_clusters(graph: Graph) -> None:
    """Write scopes to the nodes of a graph that has stages."""
    if not any(node.op in ("Stage", "Unstage") for node in graph.nodes):
        return
    topology = Topology(graph)
    scopes = 0
    for number in topology.numbers:
        op = topology.nodes[number].op
        if op == "Unstage":
            side = topology.reached(number, lambda one: [edge.target for edge in topology.outputs[one]])
        elif op == "Stage":
            side = topology.reached(number, lambda one: [edge.source for edge in topology.inputs[one]])
        else:
            continue
        for one in side:
            if one in (SOURCE, SINK):
                continue
            node = topology.nodes[one]
            before = text_of(node, INTERNAL_SCOPE)
            node.attributes[INTERNAL_SCOPE] = (f"{before}&_{scopes}" if before else f"_{scopes}").encode()
        scopes += 1
