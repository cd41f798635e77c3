"""SavedModels: a folder with a graph, signatures that name its inputs and outputs, and the values of its variables.

A variable is a node that hands out a handle; which tensor of the checkpoint is its value the graph says itself, by the
nodes that restore it: `RestoreV2` gives tensors by their keys, and `AssignVariableOp` (or `Assign`) takes one and a
handle.  Releases 1 of TensorFlow have these nodes in the graph, releases 2 in a function that the graph calls with the
handles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from compiler.diagnostics import InputError, did_you_mean
from compiler.frontends import read_program
from compiler.graph.attrdef import shape_of
from compiler.graph.bundle import Bundle
from compiler.graph.files import decoded
from compiler.graph.graph import Graph, Node
from compiler.graph.graphdef import graph_of
from compiler.graph.messages import Message, from_bytes, from_text, rest_of
from compiler.graph.names import MODEL_FILES, endpoint
from compiler.graph.shapes import PartialShape
from compiler.graph.tensors import Tensor
from compiler.graph.types import DataType
from compiler.graph.verify import verify

_ASSIGNS = frozenset({"AssignVariableOp", "Assign"})
_PASSES_ON = frozenset({"Identity", "EnsureShape", "Reshape"})  # savers check the sizes, or change them


@dataclass(frozen=True, slots=True)
class Port:
    """One input or output of a signature: which output of which node it is, and what is known of its tensor."""

    name: str
    type: DataType
    shape: PartialShape


@dataclass(frozen=True, slots=True)
class Signature:
    """One way to call a model, under a name.

    Attributes:
        method: what kind of call it is, as TensorFlow names it.
        inputs: by their names.
        outputs: by their names.
        rest: what else the file says of it.
        several: the names of inputs and outputs that are several tensors each (sparse, ragged), which `rest` keeps: a
            model can be called in other ways still.
    """

    method: str
    inputs: Mapping[str, Port]
    outputs: Mapping[str, Port]
    rest: bytes = b""
    several: tuple[str, ...] = ()


@dataclass(slots=True)
class SavedModel:
    """A graph with its signatures and variables.

    Attributes:
        graph: all nodes, those of saving and restoring as well.
        signatures: by their names.
        tags: what the graph is for, as `serve`.
        made_by: the release of TensorFlow that wrote it.
        bundle: the checkpoint, None where the model has no variables.
        keys: the checkpoint's key of each variable that is restored, by the name of its node.
        rest: what else the file says of the graph: its objects, how it is saved and restored.
        info_rest: what else it says of where the graph comes from.
    """

    graph: Graph
    signatures: Mapping[str, Signature]
    tags: tuple[str, ...] = ()
    made_by: str = ""
    bundle: Bundle | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    rest: bytes = b""
    info_rest: bytes = b""

    def variable(self, node: str) -> NDArray[Any]:
        """The value of a variable, by the name of its node.

        Raises:
            InputError: nothing restores it, or its value cannot be read.
            UnsupportedError: its elements are no numbers.
        """
        if node not in self.keys or self.bundle is None:
            raise InputError(f"no value is restored for a variable {node!r}" + did_you_mean(node, self.keys))
        return self.bundle.array(self.keys[node])


def read_saved_model(path: Path, tags: Sequence[str] = ()) -> SavedModel:
    """The model in a folder, or of the file in it that holds its graph.

    Args:
        path: the folder, or its `saved_model.pb`.
        tags: which of its graphs, where there are several.

    Raises:
        InputError: it cannot be read or makes no sense, or has no graph of these tags.
        VerifyError: the graph breaks rules.
        UnsupportedError: the checkpoint's form is not one that is read here.
    """
    file = (
        path
        if path.name in MODEL_FILES
        else next((path / name for name in MODEL_FILES if (path / name).exists()), None)
    )
    if file is None:
        raise InputError(f"{path}: no SavedModel: the folder has none of {' and '.join(MODEL_FILES)}")
    data, filename = read_program(file), str(file)
    if file.name.endswith(".pbtxt"):
        read = from_text("SavedModel", decoded(data, filename), filename)
    else:
        read = from_bytes("SavedModel", data, filename)
    chosen = _chosen(list(read.meta_graphs), tuple(tags), filename)
    graph = graph_of(chosen.graph_def, filename)
    verify(graph, context=filename)
    prefix = file.parent / "variables" / "variables"
    bundle = Bundle(prefix) if Path(f"{prefix}.index").exists() else None
    signatures = {name: _signature(chosen.signature_def[name], filename) for name in sorted(chosen.signature_def)}
    info = chosen.meta_info_def
    rest = rest_of(chosen, "meta_info_def", "graph_def", "signature_def")
    info_rest = rest_of(info, "tags", "tensorflow_version")
    keys = dict(restored(graph))
    return SavedModel(graph, signatures, tuple(info.tags), info.tensorflow_version, bundle, keys, rest, info_rest)


def _chosen(graphs: Sequence[Message], tags: tuple[str, ...], filename: str) -> Message:
    if len(graphs) == 1 and not tags:
        return graphs[0]
    if not graphs:
        raise InputError(f"{filename}: it holds no graph")
    has = [set(graph.meta_info_def.tags) for graph in graphs]
    if set(tags) not in has:
        there = "; ".join(",".join(sorted(one)) or "none" for one in has)
        raise InputError(f"{filename}: no graph has exactly the tags {','.join(tags) or 'none'}; there are: {there}")
    return graphs[has.index(set(tags))]


def _signature(read: Message, filename: str) -> Signature:
    inputs, outputs = _ports(read.inputs, filename), _ports(read.outputs, filename)
    several = [name for one in (read.inputs, read.outputs) for name in sorted(one) if not _is_one(one[name])]
    left = type(read)()
    left.CopyFrom(read)
    for side, ports in ((left.inputs, inputs), (left.outputs, outputs)):
        for name in ports:
            del side[name]
    return Signature(read.method_name, inputs, outputs, rest_of(left, "method_name"), tuple(several))


def _is_one(info: Message) -> bool:
    """Whether it is one tensor."""
    return info.WhichOneof("encoding") in ("name", None)


def _ports(read: Mapping[str, Message], filename: str) -> dict[str, Port]:
    ports = {}
    for name in sorted(one for one in read if _is_one(read[one])):
        info = read[name]
        shape = shape_of(info.tensor_shape, f"{filename}: {name!r}")
        ports[name] = Port(info.name, DataType(info.dtype), shape)
    return ports


def restored(graph: Graph) -> Iterator[tuple[str, str]]:
    """The nodes of variables, each with the key of the tensor that the graph restores it from.

    Keras hands TensorFlow copies of its variables to save, each of which begins as what the variable holds, while
    functions read the variable: then both have the copy's value.
    """
    found = dict(_restored(graph))
    yield from found.items()
    for copy, original in _copied(graph.nodes):
        if copy in found and original not in found:
            yield original, found[copy]


def _copied(nodes: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """The nodes of variables that begin as what others hold, each with the other's."""
    reads = {node.name: node.inputs[0] for node in nodes if node.op == "ReadVariableOp" and node.inputs}
    for node in nodes:
        if node.op == "AssignVariableOp" and len(node.data_inputs) > 1 and node.inputs[1] in reads:
            yield node.inputs[0], reads[node.inputs[1]]


def _restored(graph: Graph) -> Iterator[tuple[str, str]]:
    functions = {function.name: function for function in graph.functions}
    yield from _assigned(graph.nodes, in_function=False)
    for node in graph.nodes:
        called = functions.get(_callee(node))
        if called is None:
            continue
        given = dict(zip((argument.name for argument in called.inputs), node.data_inputs, strict=False))
        for argument, key in _assigned(called.nodes, in_function=True):
            source = endpoint(given.get(argument, ""))
            if source is not None:
                yield source.node, key


def _callee(node: Node) -> str:
    reference = node.attributes.get("f")
    return getattr(reference, "name", node.op)


def _assigned(nodes: Sequence[Node], *, in_function: bool) -> Iterator[tuple[str, str]]:
    """What is assigned something restored: the name of a node or an argument, and the key."""
    by_name = {node.name: node for node in nodes}

    def source(text: str) -> tuple[str, int]:
        """The node, or argument, and the output that reach an input through nodes that pass on what they take."""
        for _ in by_name:
            found = endpoint(text, in_function=in_function)
            if found is None:
                break
            node = by_name.get(found.node)
            if node is None or node.op not in _PASSES_ON or not node.inputs:
                return found.node, found.port
            text = node.inputs[0]
        return "", 0

    for node in nodes:
        if node.op not in _ASSIGNS or len(node.data_inputs) < 2:
            continue
        name, number = source(node.inputs[1])
        giver = by_name.get(name)
        if giver is None or giver.op != "RestoreV2" or len(giver.data_inputs) < 2:
            continue
        listed = by_name.get(source(giver.inputs[1])[0])
        keys = listed.attributes.get("value") if listed is not None else None
        if isinstance(keys, Tensor) and number < len(keys.strings):
            yield source(node.inputs[0])[0], keys.strings[number].decode("utf-8", "backslashreplace")
