"""A graph with its clusters, as a picture: each cluster a frame in a colour of its own."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.drawing.graph import Cluster as Frame
from compiler.drawing.graph import Edge, Kind, Node
from compiler.drawing.graph import Graph as Drawing
from compiler.graph import Graph
from compiler.jit.attributes import cluster_of
from compiler.jit.topology import SINK, SOURCE, Topology

_OUTSIDE = Kind("in no cluster", "#ffffff", "#9e9e9e")
_END = Kind("fed or fetched", "#eceff1", "#b0bec5")
_COLOURS = (
    ("#fff9c4", "#cbc693"),
    ("#c8e6c9", "#97b498"),
    ("#e1bee7", "#af8eb5"),
    ("#ffcc80", "#ca9b52"),
    ("#b3e5fc", "#82b3c9"),
    ("#ffcdd2", "#cb9ca1"),
    ("#d7ccc8", "#a69b97"),
    ("#dcedc8", "#aabb97"),
)
_LONGEST_LINE = 32
"""Characters of a node's name in a drawing."""
_LONGEST_TIP = 400
"""Characters of what it says when it is pointed at."""


def drawing_of(
    graph: Graph, reasons: Mapping[str, str], name: str = "graph", texts: Mapping[str, str] | None = None
) -> Drawing:
    """The picture of a graph whose nodes say which cluster they are in.

    Args:
        graph: the graph, clustered.
        reasons: of nodes that are in no cluster, why.
        name: what the picture is called.
        texts: what can be opened beneath it, by titles.
    """
    topology = Topology(graph)
    names = list(dict.fromkeys(filter(None, map(cluster_of, graph.nodes))))
    kinds = {one: Kind(one, *_COLOURS[number % len(_COLOURS)]) for number, one in enumerate(names)}
    groups = topology.grouped(lambda number: cluster_of(topology.nodes[number]) or f"node {number}")
    members: list[Node | Frame] = []
    for key, numbers in groups.items():
        if numbers[0] in (SOURCE, SINK):
            continue
        nodes = tuple(_node(topology, number, kinds, reasons) for number in numbers)
        members += [Frame(f"c_{nodes[0].key}", key, f"{key}: {len(nodes)} nodes", nodes)] if key in kinds else nodes
    rank_of = {number: rank for rank, numbers in enumerate(groups.values()) for number in numbers}
    edges = [
        Edge(
            f"n{edge.source}",
            f"n{edge.target}",
            _said(topology, edge.source, edge.port),
            is_broken=edge.is_control or topology.is_back_edge(edge) or rank_of[edge.source] > rank_of[edge.target],
        )
        for edge in topology.edges()
        if edge.source != SOURCE and edge.target != SINK
    ]
    return Drawing(
        name, [Frame("g", name, name, tuple(members))], edges, (*kinds.values(), _OUTSIDE, _END), texts or {}
    )


def _node(topology: Topology, number: int, kinds: Mapping[str, Kind], reasons: Mapping[str, str]) -> Node:
    node = topology.nodes[number]
    kind = kinds.get(cluster_of(node)) or (_END if node.op in ("_Arg", "_Retval") else _OUTSIDE)
    said = reasons.get(node.name, "")
    tip = f"{node} - in no cluster: {said}" if said else str(node)
    return Node(
        f"n{number}", (node.op, _ending(node.name)), _cut(tip, _LONGEST_TIP), kind, is_root=node.op == "_Retval"
    )


def _said(topology: Topology, number: int, port: int) -> str:
    name = topology.nodes[number].name
    return f"waits for {name}" if port < 0 else f"{name}:{port}"


def _ending(name: str) -> str:
    """The end of a long name: how scopes begin all nodes around it have in common."""
    if len(name) <= _LONGEST_LINE:
        return name
    kept = name[3 - _LONGEST_LINE :]
    return f"...{kept[max(kept.find('/'), 0) :]}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
