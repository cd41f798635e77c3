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
_LONGEST_TIP = 400


def drawing_of(graph: Graph, reasons: Mapping[str, str], name: str = "graph") -> Drawing:
    """The picture of a graph whose nodes say which cluster they are in.

    Args:
        graph: the graph, clustered.
        reasons: of nodes that are in no cluster, why.
        name: what the picture is called.
    """
    topology = Topology(graph)
    names = list(dict.fromkeys(filter(None, map(cluster_of, graph.nodes))))
    kinds = {one: Kind(one, *_COLOURS[number % len(_COLOURS)]) for number, one in enumerate(names)}
    frames: dict[str, list[Node]] = {one: [] for one in names}
    members: list[Node | Frame] = []
    for number in reversed(topology.post_order()):
        if number in (SOURCE, SINK):
            continue
        node = topology.nodes[number]
        kind = kinds.get(cluster_of(node)) or (_END if node.op in ("_Arg", "_Retval") else _OUTSIDE)
        said = reasons.get(node.name, "")
        tip = _cut(
            str(node) + (f" - in no cluster: {said}" if said and kind not in kinds.values() else ""), _LONGEST_TIP
        )
        drawn = Node(f"n{number}", (node.op, _cut(node.name)), tip, kind, is_root=node.op == "_Retval")
        frames.get(cluster_of(node), members).append(drawn)
    inner = [
        Frame(f"c{number}", one, f"{one}: {len(frames[one])} nodes", tuple(frames[one]))
        for number, one in enumerate(names)
    ]
    edges = [
        Edge(f"n{edge.source}", f"n{edge.target}", _said(topology, edge.source, edge.port), is_broken=edge.is_control)
        for edge in topology.edges()
        if edge.source != SOURCE and edge.target != SINK
    ]
    whole = Frame("g", name, name, (*members, *inner))
    return Drawing(name, [whole], edges, (*kinds.values(), _OUTSIDE, _END))


def _said(topology: Topology, number: int, port: int) -> str:
    name = topology.nodes[number].name
    return f"waits for {name}" if port < 0 else f"{name}:{port}"


def _cut(text: str, most: int = _LONGEST_LINE) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
