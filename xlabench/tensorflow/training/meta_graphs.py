"""`tf.train.import_meta_graph`: graphs that were written with their savers, and what their programs collected."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from compiler.tf import CompilerError, message_class, parse_message
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.imported import import_graph_def
from xlabench.tensorflow.training.checkpoint_state import FilePath
from xlabench.tensorflow.training.collected import collect
from xlabench.tensorflow.training.saver import Saver


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **_options: Any
) -> Saver | None:
    """Add a graph that was written with its saver to the default one, with its collections.

    Args:
        meta_graph_or_file: the path of the file, which ends in `.meta`, or a message that holds one.
        clear_devices: whether its nodes forget where they ran.
        import_scope: the scope of the nodes, by default none.
        _options: what else TensorFlow takes changes nothing.

    Returns:
        The saver, None where the graph has no variables.

    Raises:
        OSError: there is no such file.
        ValueError: it makes no sense, or a name of it is taken.
    """
    given = meta_graph_or_file
    read = _read(given) if isinstance(given, str | os.PathLike) else given
    definition = message_class("GraphDef").FromString(read.graph_def.SerializeToString())
    if clear_devices:
        for node in definition.node:
            node.device = ""
    graph = get_default_graph()
    inside = graph.builder.scope_name
    import_graph_def(definition, name=import_scope or "")
    scope = f"{inside}{import_scope}/" if import_scope else inside
    collect(graph, read, scope)
    saver = read.saver_def
    if not saver.restore_op_name:
        return None
    names = saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name
    return Saver.of_nodes(*(graph.as_graph_element(scope + name) for name in names))


def _read(path: FilePath) -> Any:
    try:
        return parse_message("MetaGraphDef", Path(path).read_bytes(), str(path))
    except CompilerError as error:
        raise ValueError(str(error)) from error
