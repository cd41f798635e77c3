"""Places for the nodes of a graph, layer by layer, so that values flow downwards; no other program is needed.

A node lies one layer below the lowest of those that it uses.  Within a layer nodes are ordered by where those beside
them in the layers above and below lie, a few times over, which undoes most crossings.  A cluster is laid out by itself
first and then is one big node of the cluster around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.drawing.graph import Cluster, Graph, Node

_CHARACTER, _LINE, _PADDING = 6.2, 13.0, 8.0
"""Pixels of a character, in type of 10 pixels, of a line, and around a text."""
_GAP_X, _GAP_Y, _TITLE = 18.0, 30.0, 18.0
"""Pixels between boxes of a layer, between layers, and of a cluster's title."""
_SWEEPS = 4
"""Passes down and up that order the nodes of layers: beyond, few crossings go (Sugiyama's method; Graphviz's dot takes
24)."""


@dataclass(slots=True)
class Box:
    """A node or a cluster with its upper left corner, from that of the box around it, and its size, in pixels."""

    of: Node | Cluster
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    inner: list[Box] = field(default_factory=list)


def lay_out(graph: Graph) -> list[Box]:
    """A box for each cluster of the graph, one below the other."""
    holders: dict[str, str] = {}
    for cluster in graph.clusters:
        _note_holders(cluster, holders)
    pairs = [(edge.source, edge.target) for edge in graph.edges if not edge.is_broken]
    uses = _uses_by_holder(pairs, holders)
    boxes, y = [], 0.0
    for cluster in graph.clusters:
        box = _cluster_box(cluster, uses)
        box.y, y = y, y + box.height + _GAP_Y
        boxes.append(box)
    return boxes


def _note_holders(cluster: Cluster, holders: dict[str, str]) -> None:
    """Which cluster each node and each cluster lies in, by their keys."""
    for member in cluster.members:
        holders[member.key] = cluster.key
        if isinstance(member, Cluster):
            _note_holders(member, holders)


def _uses_by_holder(pairs: Sequence[tuple[str, str]], holders: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
    """The edges between members of each cluster; an edge into, or out of, a cluster within it is that cluster's."""
    uses: dict[str, list[tuple[str, str]]] = {}
    for source, target in pairs:
        above = _path(source, holders)
        below = {holder: member for member, holder in _path(target, holders)}
        for member, holder in above:
            if holder in below:
                if member != below[holder]:
                    uses.setdefault(holder, []).append((member, below[holder]))
                break
    return uses


def _path(key: str, holders: Mapping[str, str]) -> list[tuple[str, str]]:
    """A node, or the cluster it lies in, with the cluster around that, from the inside out."""
    path = []
    while key in holders:
        path.append((key, holders[key]))
        key = holders[key]
    return path


def _cluster_box(cluster: Cluster, uses: Mapping[str, list[tuple[str, str]]]) -> Box:
    inner = {
        member.key: _node_box(member) if isinstance(member, Node) else _cluster_box(member, uses)
        for member in cluster.members
    }
    rows = _rows(list(inner), uses.get(cluster.key, []))
    widths = [sum(inner[key].width for key in row) + _GAP_X * (len(row) - 1) for row in rows]
    width = max([*widths, len(cluster.label) * _CHARACTER]) + 2 * _GAP_X
    y = _TITLE + _PADDING
    for row, taken in zip(rows, widths, strict=True):
        x = (width - taken) / 2
        for key in row:
            inner[key].x, inner[key].y = x, y
            x += inner[key].width + _GAP_X
        y += max(inner[key].height for key in row) + _GAP_Y
    return Box(cluster, width, y - _GAP_Y + _GAP_X, inner=list(inner.values()))


def _node_box(node: Node) -> Box:
    width = max(map(len, node.lines)) * _CHARACTER + 2 * _PADDING
    return Box(node, width, len(node.lines) * _LINE + _PADDING)


def _rows(keys: Sequence[str], uses: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The members of a cluster, which stand in an order in which uses come later, in layers from above."""
    above: dict[str, list[str]] = {key: [] for key in keys}
    below: dict[str, list[str]] = {key: [] for key in keys}
    for source, target in uses:
        above[target].append(source)
        below[source].append(target)
    depth: dict[str, int] = {}
    for key in keys:
        depth[key] = max((depth[source] + 1 for source in above[key]), default=0)
    for key in reversed(keys):  # what has no operands lies just above who uses it
        if not above[key] and below[key]:
            depth[key] = min(depth[target] for target in below[key]) - 1
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key in keys:
        rows[depth[key]].append(key)
    rows = [row for row in rows if row]
    for sweep in range(_SWEEPS):
        _order(rows if sweep % 2 == 0 else rows[::-1], above if sweep % 2 == 0 else below)
    return rows


def _order(rows: Sequence[list[str]], beside: Mapping[str, Sequence[str]]) -> None:
    """Order each row by the mean place of what its members are connected to in the rows before."""
    position: dict[str, float] = {}
    for row in rows:
        means = {}
        for number, key in enumerate(row):
            known = [position[other] for other in beside[key] if other in position]
            means[key] = sum(known) / len(known) if known else number / len(row)
        row.sort(key=means.__getitem__)
        position |= {key: number / len(row) for number, key in enumerate(row)}
