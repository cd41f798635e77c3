"""Graphs written to files between passes, under the names that TensorFlow gives them.

    TF_DUMP_GRAPH_PREFIX=/tmp/graphs TF_XLA_FLAGS=--tf_xla_clustering_debug python train.py

writes `before_mark_for_compilation.pbtxt`, `mark_for_compilation.pbtxt`, and `mark_for_compilation_annotated.pbtxt`, in
which every node's name begins with its cluster's, so that tools that group nodes by their names show clusters; then the
graphs around the two passes that follow.  The second graph of a process gets `_1` behind each name, and so on.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from compiler.diagnostics import InputError
from compiler.graph import Graph, Node, to_text
from compiler.jit.attributes import cluster_of
from compiler.jit.flags import Flags
from compiler.jit.options import Options

VARIABLE = "TF_DUMP_GRAPH_PREFIX"
"""The environment variable that names the folder."""


def dump(name: str, graph: Graph, flags: Flags, options: Options) -> None:
    """Write a graph, if flags ask for it and a folder is given.

    Args:
        name: of the file, without its number.
        graph: what is written.
        flags: say whether it is.
        options: the session's, which name the folder and count files.

    Raises:
        InputError: the file cannot be written.
        UnsupportedError: the library `protobuf` is not installed.
    """
    if not (flags.clustering_debug and options.dump_to):
        return
    number = options.progress.dumps.get(name, 0)
    options.progress.dumps[name] = number + 1
    path = Path(options.dump_to) / (f"{name}_{number}.pbtxt" if number else f"{name}.pbtxt")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_text(graph), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}; {VARIABLE} names the folder"
        ) from error


def annotated(graph: Graph) -> Graph:
    """The graph with the names of clusters before the names of nodes."""
    names = {node.name: _annotated(node) for node in graph.nodes}
    return replace(graph, nodes=[_renamed(node, names) for node in graph.nodes])


def _annotated(node: Node) -> str:
    group = "varhandle" if node.op == "VarHandleOp" else "unclustered"
    return f"{cluster_of(node) or group}/{node.name}"


def _renamed(node: Node, names: dict[str, str]) -> Node:
    inputs = []
    for text in node.inputs:
        wait = "^" if text.startswith("^") else ""
        name, colon, port = text.removeprefix("^").partition(":")
        inputs.append(f"{wait}{names[name]}{colon}{port}")
    return replace(node, name=names[node.name], inputs=tuple(inputs))
