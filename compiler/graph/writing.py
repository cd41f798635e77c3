"""SavedModels and checkpoints written: folders with graph, signatures and checkpoint that TensorFlow reads.

What was read and is not known here is written back as it was.  Of variables that have other values the checkpoint has
these, with new checksums; strings, and whatever else has no meaning here, are copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import InputError, did_you_mean
from compiler.graph.bundle import Bundle
from compiler.graph.checksum import crc32c, masked
from compiler.graph.graph import Graph
from compiler.graph.graphdef import message_of
from compiler.graph.messages import Message, started_from, to_bytes
from compiler.graph.savedmodel import Port, SavedModel, Signature
from compiler.graph.shapes import PartialShape
from compiler.graph.table import table_of
from compiler.graph.tensors import tensor_of

_SCHEMA = 1
"""`SavedModel.saved_model_schema_version` (TensorFlow's `kSavedModelSchemaVersion`)."""


def write_saved_model(model: SavedModel, folder: Path, values: Mapping[str, NDArray[Any]]) -> None:
    """See `compiler.graph.write_saved_model`.

    Args:
        model: graph, signatures and variables.
        folder: where it goes; made if it is not there.
        values: of variables, by their names; of others those that the model has.

    Raises:
        InputError: the folder is there and not empty, or cannot be written.
    """
    changed = _by_key(model, values)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: it is there already: give a folder that is not, or is empty")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "saved_model.pb").write_bytes(to_bytes(_message(model)))
        if model.bundle is not None:
            (folder / "variables").mkdir()
            _write_tensors(folder / "variables" / "variables", _kept(model.bundle, changed))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from error


def _by_key(model: SavedModel, values: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The new values by the keys of the checkpoint."""
    found: dict[str, NDArray[Any]] = {}
    for node, value in values.items():
        if model.bundle is None or node not in model.keys:
            raise InputError(f"no value is restored for a variable {node!r}" + did_you_mean(node, model.keys))
        key = model.keys[node]
        array = np.asarray(value)
        kind, dims = model.bundle.type(key), model.bundle.dims(key)
        if tensor_of(array).type != kind or array.shape != dims:
            raise InputError(f"variable {node!r} is {kind}{list(dims)}, not {array.dtype}{list(array.shape)}")
        found[key] = array
    return found


def _message(model: SavedModel) -> Message:
    made = started_from("SavedModel", b"", saved_model_schema_version=_SCHEMA)
    graph = started_from("MetaGraphDef", model.rest)
    info = started_from("MetaGraphDef.MetaInfoDef", model.info_rest, tensorflow_version=model.made_by)
    info.tags.extend(model.tags)
    graph.meta_info_def.CopyFrom(info)
    graph.graph_def.CopyFrom(message_of(model.graph))
    for name, signature in model.signatures.items():
        graph.signature_def[name].CopyFrom(_signature(signature))
    made.meta_graphs.append(graph)
    return made


def _signature(signature: Signature) -> Message:
    made = started_from("SignatureDef", signature.rest, method_name=signature.method)
    for side, ports in ((made.inputs, signature.inputs), (made.outputs, signature.outputs)):
        for name, port in ports.items():
            side[name].CopyFrom(_tensor_info(port))
    return made


def _tensor_info(port: Port) -> Message:
    made = started_from("TensorInfo", b"", dtype=port.type.number)
    if port.name:
        made.name = port.name
    _put_shape(made.tensor_shape, port.shape)
    return made


def _put_shape(made: Message, shape: PartialShape) -> None:
    made.SetInParent()
    if shape.dims is None:
        made.unknown_rank = True
    for size in shape.dims or ():
        made.dim.add(size=-1 if size is None else size)


def write_checkpoint(prefix: Path, values: Mapping[str, NDArray[Any]]) -> None:
    """See `compiler.graph.write_checkpoint`; InputError where it cannot be written."""
    try:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        _write_tensors(prefix, (_stored(key, np.asarray(values[key])) for key in sorted(values)))
    except OSError as error:
        raise InputError(f"{prefix}: cannot be written: {error.strerror or error}") from error


class _Stored(NamedTuple):
    """A tensor of a checkpoint: its key, what the index says of it, and its bytes."""

    key: str
    entry: Message
    data: bytes


def _stored(key: str, array: NDArray[Any]) -> _Stored:
    """A tensor that no checkpoint had before."""
    data = np.ascontiguousarray(array).tobytes()
    entry = started_from("BundleEntryProto", b"", dtype=tensor_of(array).type.number, size=len(data))
    entry.crc32c = masked(crc32c(data))
    _put_shape(entry.shape, PartialShape(array.shape))
    return _Stored(key, entry, data)


def _kept(bundle: Bundle, changed: Mapping[str, NDArray[Any]]) -> Iterator[_Stored]:
    """The tensors of a checkpoint in the order that they had, of some of them other values."""
    for key in sorted(bundle, key=bundle.location):
        entry, data = bundle.stored(key)
        if key in changed:
            data = np.ascontiguousarray(changed[key]).tobytes()
            entry.crc32c = masked(crc32c(data))
        yield _Stored(key, entry, data)


def _write_tensors(prefix: Path, tensors: Iterable[_Stored]) -> None:
    """One file of tensors, and the index; the index comes last, so that no half of a checkpoint has one."""
    rows: dict[bytes, bytes] = {b"": to_bytes(_header())}
    offset = 0
    index, unfinished = Path(f"{prefix}.index"), Path(f"{prefix}.data-00000-of-00001.tempstate")
    with unfinished.open("wb") as file:
        for key, entry, data in tensors:
            entry.shard_id, entry.offset = 0, offset
            offset += file.write(data)
            rows[key.encode("utf-8", "backslashreplace")] = to_bytes(entry)
    unfinished.replace(unfinished.with_suffix(""))
    index.with_name(f"{index.name}.tempstate").write_bytes(table_of(rows))
    index.with_name(f"{index.name}.tempstate").replace(index)


def _header() -> Message:
    """One file; numbers with the lowest byte first; the version that TensorFlow writes."""
    made = started_from("BundleHeaderProto", b"", num_shards=1)
    made.version.producer = 1
    return made


def meta_graph(graph: Graph, saver: Mapping[str, str]) -> bytes:
    """See `compiler.graph.meta_graph`."""
    made = started_from("MetaGraphDef", b"")
    made.graph_def.CopyFrom(message_of(graph))
    made.saver_def.CopyFrom(started_from("SaverDef", b"", **saver))
    return to_bytes(made)
