"""A graph in the language of Graphviz: `dot -Tsvg FILE` draws it."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.drawing.graph import Cluster, Graph, Node


def write_dot(graph: Graph) -> str:
    """The graph as one `digraph`."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    yield f"digraph {_quoted(graph.name)} {{"
    yield f'  graph [label={_quoted(graph.name)}, labelloc=t, fontname=Helvetica, tooltip=" "];'
    yield "  node [shape=box, style=filled, fontname=Helvetica, fontsize=10];"
    yield "  edge [fontname=Helvetica, fontsize=9];"
    for cluster in graph.clusters:
        yield from _cluster(cluster, "  ", 0)
    for edge in graph.edges:
        style = ", style=dashed" if edge.is_broken else ""
        yield f"  {edge.source} -> {edge.target} [tooltip={_quoted(edge.tip)}{style}];"
    yield "}"


def _cluster(cluster: Cluster, indent: str, depth: int) -> Iterator[str]:
    fill = "#fafafa" if depth % 2 == 0 else "#f0f0f0"
    yield f"{indent}subgraph cluster_{cluster.key} {{"
    yield f"{indent}  label={_quoted(cluster.label)}; tooltip={_quoted(cluster.tip)};"
    yield f'{indent}  style="rounded,filled"; fillcolor="{fill}"; color="#9e9e9e";'
    for member in cluster.members:
        if isinstance(member, Node):
            yield f"{indent}  {_node(member)}"
        else:
            yield from _cluster(member, f"{indent}  ", depth + 1)
    yield f"{indent}}}"


def _node(node: Node) -> str:
    label = '"' + "\\n".join(_escaped(line) for line in node.lines) + '"'
    width = ", penwidth=3" if node.is_root else ""
    colours = f'fillcolor="{node.kind.fill}", color="{node.kind.line}", fontcolor="{node.kind.text}"'
    return f"{node.key} [label={label}, tooltip={_quoted(node.tip)}, {colours}{width}];"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Text between quotation marks: Graphviz gives a backslash a meaning, and an ampersand that of HTML."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
