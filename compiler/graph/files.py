"""Graphs from files and into them; loaded when the first is read or written, since it needs `protobuf`."""

from __future__ import annotations

import re
from pathlib import Path

from compiler.diagnostics import InputError
from compiler.frontends import read_program
from compiler.graph.graph import Graph
from compiler.graph.graphdef import graph_of, message_of
from compiler.graph.messages import Message, from_bytes, from_text, to_bytes
from compiler.graph.messages import to_text as text_of
from compiler.graph.verify import verify

_CONTROL = re.compile(rb"[^\t\n\r\x20-\x7e\x80-\xff]")  # every node in binary form has some such bytes
_HEAD = 4096
"""Bytes of a file by which text is told from the binary form."""


def read_graph(path: Path) -> Graph:
    """See `compiler.graph.read_graph`."""
    return parse_graph(read_program(path, "a graph"), str(path))


def parse_graph(source: str | bytes, filename: str) -> Graph:
    """See `compiler.graph.parse_graph`."""
    graph = graph_of(parse_message("GraphDef", source, filename), filename)
    verify(graph, context=filename)
    return graph


def parse_message(kind: str, source: str | bytes, filename: str) -> Message:
    """A message from text, or from the bytes of a file in either form.

    Args:
        kind: the class of the message.
        source: text, or bytes of either form.
        filename: what messages call it.

    Raises:
        InputError: it is none of that kind.
    """
    if isinstance(source, bytes) and is_text(source, filename):
        source = decoded(source, filename)
    return from_text(kind, source, filename) if isinstance(source, str) else from_bytes(kind, source, filename)


def is_text(data: bytes, filename: str) -> bool:
    """Whether a file is in text form: its name says so, or that there are no control characters at its start."""
    name = filename.removesuffix(".gz")
    return name.endswith(".pbtxt") or (not name.endswith(".pb") and _CONTROL.search(data, 0, _HEAD) is None)


def decoded(data: bytes, filename: str) -> str:
    """The text of a file.

    Raises:
        InputError: it is no UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{filename}:{line}: no text: byte {error.start:,} is no UTF-8; get the file again") from error


def to_binary(graph: Graph) -> bytes:
    """See `compiler.graph.to_binary`."""
    return to_bytes(message_of(graph))


def to_text(graph: Graph) -> str:
    """See `compiler.graph.to_text`."""
    return text_of(message_of(graph))
