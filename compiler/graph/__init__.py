"""TensorFlow's graphs as data, without TensorFlow: nodes, functions, attributes, and the files that hold them.

| form          | what it is                                         | told by                                |
|---------------|----------------------------------------------------|----------------------------------------|
| `text`        | GraphDef as text (`.pbtxt`), so TensorFlow dumps   | no control characters at its start     |
| `binary`      | GraphDef in binary form (`.pb`)                    | everything else                        |
| `saved model` | a folder with `saved_model.pb` and its variables   | being a folder, or a file of that name |

Files are read and written by the library `protobuf` (the extra `graphs`); a graph that a program makes of `Node` and
`Graph` needs none.  What is read is verified (`verify`), and anything that is wrong about a file is an `InputError`
or a `VerifyError` that names the place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from compiler.diagnostics import UnsupportedError
from compiler.graph.attributes import (
    Attribute,
    AttributeList,
    FunctionReference,
    PlaceholderName,
    Unset,
)
from compiler.graph.checksum import framed
from compiler.graph.graph import Argument, Function, Graph, Node
from compiler.graph.names import MODEL_FILES
from compiler.graph.shapes import PartialShape
from compiler.graph.tensors import Tensor, tensor_of
from compiler.graph.types import BY_NAME, DataType
from compiler.graph.verify import verify

if TYPE_CHECKING:
    from compiler.graph.bundle import Bundle
    from compiler.graph.savedmodel import SavedModel

__all__ = [
    "BY_NAME",
    "MODEL_FILES",
    "Argument",
    "Attribute",
    "AttributeList",
    "DataType",
    "Function",
    "FunctionReference",
    "Graph",
    "Node",
    "PartialShape",
    "PlaceholderName",
    "Tensor",
    "Unset",
    "encoded",
    "framed",
    "is_saved_model",
    "message_class",
    "meta_graph",
    "parse_graph",
    "parse_message",
    "read_checkpoint",
    "read_graph",
    "read_saved_model",
    "require_protobuf",
    "tensor_of",
    "to_binary",
    "to_text",
    "verify",
    "write_checkpoint",
    "write_saved_model",
]


def read_graph(path: Path) -> Graph:
    """The graph of a file, compressed by gzip or not.

    Raises:
        InputError: it cannot be read, or is no GraphDef.
        VerifyError: the graph breaks rules.
        UnsupportedError: the library `protobuf` is not installed.
    """
    graph: Graph = _files(str(path)).read_graph(path)
    return graph


def parse_graph(source: str | bytes, filename: str = "<string>") -> Graph:
    """The graph of text, or of the bytes of a file; raises as `read_graph` does."""
    graph: Graph = _files(filename).parse_graph(source, filename)
    return graph


def parse_message(kind: str, data: bytes, filename: str) -> Any:
    """One of TensorFlow's messages from the bytes of a file, in binary form or as text.

    Args:
        kind: the message's name, of those in `schema`.
        data: what the file holds.
        filename: what messages call it.

    Raises:
        InputError: it is none of that kind.
        UnsupportedError: the library `protobuf` is not installed.
    """
    return _files(filename).parse_message(kind, data, filename)


def is_saved_model(path: Path) -> bool:
    """Whether a path is that of a SavedModel: a folder, or a file of the name that such a folder has."""
    return path.is_dir() or path.name in MODEL_FILES


def read_saved_model(path: Path, tags: Sequence[str] = ()) -> SavedModel:
    """The model in a folder, or of the file in it that holds its graph.

    Args:
        path: the folder, or its `saved_model.pb`.
        tags: which of its graphs, where there are several.

    Raises:
        InputError: it cannot be read or makes no sense, or has no graph of these tags.
        VerifyError: the graph breaks rules.
        UnsupportedError: the library `protobuf` is not installed, or the checkpoint's form is not read here.
    """
    require_protobuf(str(path))
    model: SavedModel = import_module("compiler.graph.savedmodel").read_saved_model(path, tags)
    return model


def write_saved_model(model: SavedModel, folder: Path, values: Mapping[str, NDArray[Any]] | None = None) -> None:
    """Write a model as a folder that TensorFlow reads; files beside graph and checkpoint (assets) are not copied.

    Args:
        model: as it was read, or changed.
        folder: where; it must not be there, or be empty.
        values: other values of variables, by the names of their nodes.

    Raises:
        InputError: it cannot be written, or a value is not of its variable's type and sizes.
        UnsupportedError: the library `protobuf` is not installed, or the graph takes more than 2 GiB.
    """
    require_protobuf(str(folder))
    import_module("compiler.graph.writing").write_saved_model(model, folder, values or {})


def read_checkpoint(prefix: Path) -> Bundle:
    """The tensors of a checkpoint by their keys, read when they are asked for.

    Args:
        prefix: the path of its files without `.index` and `.data-...`.

    Raises:
        InputError: it cannot be read, or makes no sense.
        UnsupportedError: the library `protobuf` is not installed, or the checkpoint's form is not read here.
    """
    require_protobuf(str(prefix))
    bundle: Bundle = import_module("compiler.graph.bundle").Bundle(prefix)
    return bundle


def write_checkpoint(prefix: Path, values: Mapping[str, NDArray[Any]]) -> None:
    """Write tensors as a checkpoint that TensorFlow reads; one that is there is replaced when all is written.

    Args:
        prefix: the path of its files without `.index` and `.data-...`; its folder is made.
        values: the tensors by their keys.

    Raises:
        InputError: it cannot be written.
        UnsupportedError: the library `protobuf` is not installed.
    """
    require_protobuf(str(prefix))
    import_module("compiler.graph.writing").write_checkpoint(prefix, values)


def meta_graph(graph: Graph, saver: Mapping[str, str]) -> bytes:
    """A graph with the names of what saves and restores its variables, as MetaGraphDef in binary form.

    Args:
        graph: the graph.
        saver: of a SaverDef the tensor with the file's name, the tensor that saves, and the node that restores.

    Raises:
        UnsupportedError: the library `protobuf` is not installed, or the graph takes more than 2 GiB.
    """
    require_protobuf("writing a graph")
    encoded: bytes = import_module("compiler.graph.writing").meta_graph(graph, saver)
    return encoded


@cache
def message_class(kind: str) -> Any:
    """The class of one of TensorFlow's messages, as the library `protobuf` has it.

    Args:
        kind: the message's name, of those in `schema`.

    Raises:
        UnsupportedError: the library `protobuf` is not installed.
    """
    require_protobuf(f"a message {kind}")
    return import_module("compiler.graph.messages").CLASSES[kind]


def encoded(kind: str, text: str) -> bytes:
    """One of TensorFlow's messages in binary form, from its text form.

    Raises:
        InputError: the text is none of a message of this kind.
        UnsupportedError: the library `protobuf` is not installed.
    """
    require_protobuf(f"a message {kind}")
    messages = import_module("compiler.graph.messages")
    written: bytes = messages.to_bytes(messages.from_text(kind, text, kind))
    return written


def to_binary(graph: Graph) -> bytes:
    """A graph as GraphDef in binary form.

    Raises:
        UnsupportedError: the library `protobuf` is not installed, or the graph takes more than 2 GiB.
    """
    encoded: bytes = _files("writing a graph").to_binary(graph)
    return encoded


def to_text(graph: Graph) -> str:
    """A graph as GraphDef in text form.

    Raises:
        UnsupportedError: the library `protobuf` is not installed, or the graph holds fields that have no name here.
    """
    text: str = _files("writing a graph").to_text(graph)
    return text


def require_protobuf(what: str) -> None:
    """See that files can be read and written.

    Args:
        what: the file, or what is done with it.

    Raises:
        UnsupportedError: the library `protobuf` is not installed.
    """
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        reason = "it needs the package protobuf, which is not installed; pip install '.[graphs]'"
        raise UnsupportedError(f"{what}: a graph of TensorFlow's", "this installation", reason)


def _files(what: str) -> Any:
    """The module that knows files, which needs the library."""
    require_protobuf(what)
    return import_module("compiler.graph.files")
