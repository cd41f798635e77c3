"""Pictures of a module: `graph` says what is drawn, `dot` and `html` write it, `layout` finds places for the latter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.drawing.dot import write_dot
from compiler.drawing.graph import graph_of
from compiler.drawing.html import write_html
from compiler.ir.module import Module

__all__ = ["PICTURES", "write_dot", "write_html"]

PICTURES: Mapping[str, Callable[[Module], str]] = {
    "dot": lambda module: write_dot(graph_of(module)),
    "html": lambda module: write_html(graph_of(module)),
}
"""How a module is drawn, by the end of the file's name."""
