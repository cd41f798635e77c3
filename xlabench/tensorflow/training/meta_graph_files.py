"""Graphs with their savers and collections, as messages and files: what `export_meta_graph` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler.tf import message_class, meta_graph, require_protobuf
from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.training.checkpoint_state import FilePath
from xlabench.tensorflow.training.collected import collections


def message_of(graph: Graph, names: Mapping[str, str]) -> Any:
    """A graph, its collections, and what saves and restores it, as a `MetaGraphDef`.

    `names` are those of the nodes of its saver, empty where it has none.
    """
    pieces = meta_graph(graph.definition, names) + collections(graph)  # two pieces of a message are one
    return message_class("MetaGraphDef").FromString(pieces)


def written(made: Any, filename: FilePath | None, options: Mapping[str, Any]) -> Any:
    """A `MetaGraphDef`, changed as is asked for, and written to a file where one is named.

    Args:
        made: the message.
        filename: the file, None for none.
        options: `collection_list`, the collections that are kept, None for all; `clear_devices`, whether nodes forget
            where they ran; `as_text`, whether the file is text.
    """
    kept = options.get("collection_list")
    for name in list(made.collection_def):
        if kept is not None and name not in kept:
            del made.collection_def[name]
    for node in made.graph_def.node if options.get("clear_devices") else ():
        node.device = ""
    if filename is not None:
        path = Path(filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(str(made).encode() if options.get("as_text") else made.SerializeToString(deterministic=True))
    return made


def export_meta_graph(
    filename: FilePath | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """A graph and its collections as a message `MetaGraphDef`.

    Args:
        filename: where it is written too, None for nowhere.
        meta_info_def: what the message says of itself.
        graph_def: a `GraphDef` instead of the graph's own.
        saver_def: what saves and restores the graph.
        collection_list: the collections that are kept, None for all.
        as_text: whether the file is text.
        graph: the graph, None for the default one.
        export_scope: must be None.
        clear_devices: whether nodes forget where they ran.
        clear_extraneous_savers: changes nothing, as do the next ones.
        strip_default_attrs: changes nothing.
        save_debug_info: changes nothing.
        kwargs: changes nothing.

    Raises:
        NotHereError: a scope is to be written alone.
        UnsupportedError: the library `protobuf` is not installed.
    """
    if export_scope is not None:
        raise NotHereError("tf.train.export_meta_graph of a scope is not there: use tf.graph_util.extract_sub_graph")
    require_protobuf("writing a graph")
    made = message_of(graph if graph is not None else get_default_graph(), {})
    for field, given in (("meta_info_def", meta_info_def), ("graph_def", graph_def), ("saver_def", saver_def)):
        if given is not None:
            getattr(made, field).ParseFromString(given.SerializeToString())
    options = {"collection_list": collection_list, "clear_devices": clear_devices, "as_text": as_text}
    return written(made, filename, options)
