"""A graph as one page that needs nothing else: neither a network, nor scripts, nor Graphviz.

Resting the pointer on a node shows the whole instruction; what the operands of a fusion lead to is drawn inside it.
The name of a frame that there is a text of leads to that text, which opens then: browsers open what a link leads into.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

from compiler.drawing.graph import Cluster, Edge, Graph, Kind, Node
from compiler.drawing.layout import Box, lay_out

_STYLE = """
body { font: 14px Helvetica, Arial, sans-serif; margin: 1em; color: #000; background: #fff; }
svg text { font: 10px Helvetica, Arial, sans-serif; }
svg .frame { fill: #90a4ae; fill-opacity: 0.12; stroke: #9e9e9e; }
svg .edge { fill: none; stroke: #607d8b; }
svg .broken { stroke-dasharray: 4 3; }
svg a text { fill: #1565c0; text-decoration: underline; }
svg .opcode { font-weight: bold; }
.legend span { display: inline-block; padding: 2px 8px; margin-right: 4px; border: 1px solid; }
"""
_BASELINE, _LINE = 14.0, 13.0
"""Pixels from the top of a box to its first line, and from line to line."""
_MARGIN = 10.0
"""Pixels around a drawing."""


def write_html(graph: Graph) -> str:
    """The graph as a page."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    boxes = lay_out(graph)
    width = max((box.width for box in boxes), default=0) + 2 * _MARGIN
    height = max((box.y + box.height for box in boxes), default=0) + 2 * _MARGIN
    name = _shown(graph.name)
    yield f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{name}</title>'
    yield f"<style>{_STYLE}</style></head>\n<body>\n<h1>{name}</h1>"
    yield '<p class="legend">' + "".join(map(_legend, graph.kinds)) + "</p>"
    size = f'width="{width:.0f}" height="{height:.0f}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:.0f} {height:.0f}">'
    yield '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    yield '<path d="M0 0 8 4 0 8z" fill="#607d8b"/></marker></defs>'
    drawn_at: dict[str, _Drawn] = {}
    links = {title: f"text_{number}" for number, title in enumerate(graph.texts)}
    drawn = [line for box in boxes for line in _box(box, _MARGIN, _MARGIN, drawn_at, links)]
    for edge in graph.edges:
        yield _edge(edge, drawn_at)
    yield from drawn  # above the edges, which would strike out what nodes say
    yield "</svg>"
    for title, text in graph.texts.items():
        yield f'<details><summary>{_shown(title)}</summary><pre id="{links[title]}">{escape(text)}</pre></details>'
    yield "</body>\n</html>"


def _legend(kind: Kind) -> str:
    style = f"background: {kind.fill}; border-color: {kind.line}; color: {kind.text}"
    return f'<span style="{style}">{_shown(kind.name)}</span>'


class _Drawn(NamedTuple):
    """A box and where its upper left corner is, in pixels."""

    x: float
    y: float
    box: Box


def _box(box: Box, x: float, y: float, drawn_at: dict[str, _Drawn], links: Mapping[str, str]) -> Iterator[str]:
    x, y = x + box.x, y + box.y
    drawn_at[box.of.key] = _Drawn(x, y, box)
    where = f'x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    if isinstance(box.of, Cluster):
        yield f'<g><title>{_shown(box.of.tip)}</title><rect class="frame" rx="6" {where}/>'
        label = f'<text x="{x + 8:.1f}" y="{y + _BASELINE:.1f}">{_shown(box.of.label)}</text>'
        link = links.get(box.of.label)
        yield f'<a href="#{link}">{label}</a></g>' if link else f"{label}</g>"
        for inner in box.inner:
            yield from _box(inner, x, y, drawn_at, links)
    else:
        yield from _node(box.of, x, y, box.width, where)


def _node(node: Node, x: float, y: float, width: float, where: str) -> Iterator[str]:
    kind = node.kind
    colours = f'fill="{kind.fill}" stroke="{kind.line}" stroke-width="{3 if node.is_root else 1}"'
    yield f'<g><title>{_shown(node.tip)}</title><rect rx="2" {where} {colours}/>'
    for number, line in enumerate(node.lines):
        style = ' class="opcode"' if number == 0 else ""
        at = f'x="{x + width / 2:.1f}" y="{y + _BASELINE + _LINE * number:.1f}" text-anchor="middle" fill="{kind.text}"'
        yield f"<text{style} {at}>{_shown(line)}</text>"
    yield "</g>"


def _edge(edge: Edge, drawn_at: dict[str, _Drawn]) -> str:
    """A curve from the lower side of one node to the upper side of another."""
    from_x, from_y, source = drawn_at[edge.source]
    to_x, to_y, target = drawn_at[edge.target]
    start, end = (from_x + source.width / 2, from_y + source.height), (to_x + target.width / 2, to_y)
    bend = max(12.0, abs(end[1] - start[1]) / 3)
    curve = f"M{start[0]:.1f} {start[1]:.1f}C{start[0]:.1f} {start[1] + bend:.1f} {end[0]:.1f} {end[1] - bend:.1f} "
    style = "edge broken" if edge.is_broken else "edge"
    end_mark = f'{end[0]:.1f} {end[1]:.1f}" marker-end="url(#tip)"'
    return f'<path class="{style}" d="{curve}{end_mark}><title>{_shown(edge.tip)}</title></path>'


def _shown(text: str) -> str:
    return escape("".join(c if c.isprintable() else " " for c in text))
