"""Graphs of sessions as files, which every command here that takes graphs reads, and TensorFlow too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from compiler.tf import require_protobuf, to_binary, to_text
from xlabench.tensorflow.framework.imported import definition_of


def write_graph(graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True) -> str:
    """Write a graph to a file in a folder, which is made; the file's path.

    Args:
        graph_or_graph_def: the graph, or its GraphDef.
        logdir: the folder.
        name: of the file.
        as_text: whether it is a protobuf's text, instead of bytes.

    Raises:
        UnsupportedError: the library `protobuf` is not installed.
    """
    require_protobuf("writing a graph")
    definition = definition_of(graph_or_graph_def)
    path = Path(logdir) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_text(definition).encode() if as_text else to_binary(definition))
    return str(path)
