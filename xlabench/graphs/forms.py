"""Whether a graph is the same graph in every form that it is written in, and its binary form what the format says.

A reader and a writer that agree on something else than the format hide it from each other.  So the binary form is read
once more by what stands here alone: the numbers of fields and of types as TensorFlow's `.proto` files have them.  What
is cut off somewhere is refused, or is another graph, and nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from compiler.tf import (
    Attribute,
    AttributeList,
    CompilerError,
    DataType,
    FunctionReference,
    Graph,
    Node,
    PartialShape,
    PlaceholderName,
    Tensor,
    parse_graph,
    to_binary,
    to_text,
)

_FIXED = {1: "<d", 5: "<f"}
_LIST, _BYTES, _INT, _FLOAT, _BOOL, _TYPE, _SHAPE, _TENSOR, _PLACEHOLDER, _FUNC = range(1, 11)
"""The fields of an AttrValue (TensorFlow, attr_value.proto)."""
_OF_LIST: Mapping[str, int] = {"s": 2, "i": 3, "f": 4, "b": 5, "type": 6, "shape": 7, "tensor": 8}
"""The fields of its list."""
_NAMES = (
    *("", "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool", "", "", ""),
    *("bfloat16", "", "", "uint16", "complex128", "float16", "resource", "variant", "uint32", "uint64"),
)
_TYPES: Mapping[str, int] = {name: number for number, name in enumerate(_NAMES) if name}
"""The numbers of types (TensorFlow, types.proto)."""
_REFERENCE = 100
_DEBUG = b"\x32\x03\x0a\x01a"
"""A field of a NodeDef that no graph here has a name for, which says nothing of what it computes: its debug info."""


def problems(graph: Graph, cut: float) -> list[str]:
    """What is wrong with the forms of a graph.

    Args:
        graph: the graph.
        cut: where its binary form is cut off, as a share of its length.
    """
    binary = to_binary(graph)
    found = [] if _is_read(binary, graph) else ["binary: it does not say what the graph is"]
    if to_binary(parse_graph(binary)) != binary:
        found.append("binary: what is read is another graph")
    if to_binary(parse_graph(to_text(graph))) != binary:
        found.append("text: what is read is another graph")
    if not _keeps_the_rest(binary):
        found.append("rest: what nothing here has a name for is lost")
    try:
        parse_graph(binary[: int(cut * len(binary))])
    except CompilerError:
        pass
    except Exception as error:  # noqa: BLE001 - whatever else is raised is what is looked for
        found.append(f"cut: {type(error).__name__}: {error}")
    return found


def _keeps_the_rest(binary: bytes) -> bool:
    """Whether nodes that have a field more have it still when they are written again."""
    message = _Message(binary)
    nodes = [(1, one + _DEBUG) for one in message.every(1)]
    others = [(number, one) for number in (2, 4) for one in message.every(number)]
    extended = b"".join(bytes([number << 3 | 2]) + _length(one) + one for number, one in (*nodes, *others))
    again = _Message(to_binary(parse_graph(extended)))
    return [_Message(one).one(6) for one in again.every(1)] == [_DEBUG[2:]] * len(nodes)


def _length(data: bytes) -> bytes:
    """How many bytes there are, seven bits at a time, the lowest first."""
    size, found = len(data), bytearray()
    while size > 0x7F:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*found, size])


def _is_read(binary: bytes, graph: Graph) -> bool:
    """Whether nodes and functions are where the format has them."""
    message = _Message(binary)
    functions = [_Message(one) for one in _Message(message.one(2)).every(1)]
    if len(message.every(1)) != len(graph.nodes) or len(functions) != len(graph.functions):
        return False
    pairs = [*zip(message.every(1), graph.nodes, strict=True)]
    for read, function in zip(functions, graph.functions, strict=True):
        signature = _Message(read.one(1))
        arguments = [(_Message(one).one(1).decode(), _Message(one).one(3, 0)) for one in signature.every(2)]
        returns = dict(_texts(one) for one in read.every(4))
        stated = [(one.name, _number(one.type)) for one in function.inputs]
        if (signature.one(1).decode(), arguments, returns) != (function.name, stated, function.returns):
            return False
        pairs += zip(read.every(3), function.nodes, strict=True)
    return all(_is_node(_Message(data), node) for data, node in pairs)


def _is_node(read: _Message, node: Node) -> bool:
    inputs = tuple(one.decode() for one in read.every(3))
    if (read.one(1).decode(), read.one(2).decode(), inputs) != (node.name, node.op, node.inputs):
        return False
    attributes = {key.decode(): _Message(value) for key, value in map(_entry, read.every(5))}
    if read.one(4).decode() != node.device or attributes.keys() != node.attributes.keys():
        return False
    return all(_is_value(attributes[name], value) for name, value in node.attributes.items())


def _is_value(read: _Message, value: Attribute) -> bool:
    """Whether an AttrValue is a value; of kinds that are not drawn nothing is said."""
    holds = next((holds for kind, holds in _VALUES if isinstance(value, kind)), None)
    return holds is None or bool(holds(read, value))


def _is_list(read: _Message, value: AttributeList) -> bool:
    given = read.every(_OF_LIST.get(value.kind, 0))
    if value.kind in ("i", "type", "b"):
        given = [one for packed in given for one in (_numbers(packed) if isinstance(packed, bytes) else [packed])]
        wanted: list[Any] = [_number(one) if isinstance(one, DataType) else one for one in value.values]
        return [int(one) for one in given] == wanted
    if value.kind == "s":
        return bool(given == list(value.values))
    return value.kind != "shape" or all(
        _is_shape(_Message(data), one)
        for data, one in zip(given, value.values, strict=True)
        if isinstance(one, PartialShape)
    )


def _is_shape(read: _Message, shape: PartialShape) -> bool:
    if shape.dims is None:
        return bool(read.one(3, 0) == 1)
    dims = [_Message(one).one(1, 0) for one in read.every(2)]
    return dims == [-1 if one is None else one for one in shape.dims]


def _is_tensor(read: _Message, tensor: Tensor) -> bool:
    """Whether a TensorProto has the type, the sizes and, where it holds them so, the bytes of a tensor."""
    dims = tuple(_Message(one).one(1, 0) for one in _Message(read.one(2)).every(2))
    if (read.one(1, 0), dims) != (_number(tensor.type), tuple(tensor.dims)):
        return False
    content = bytes(read.one(4))
    return bool(not content or tensor.stated is None or content == np.ascontiguousarray(tensor.array()).tobytes())


def _number(kind: DataType) -> int:
    name = str(kind.base)
    return _TYPES.get(name, 0) + (_REFERENCE if kind.is_reference else 0)


_Holds = Callable[[Any, Any], bool]
_VALUES: tuple[tuple[type, _Holds], ...] = (
    (bool, lambda read, value: bool(read.one(_BOOL, 0)) is value),
    (int, lambda read, value: int(read.one(_INT, 0)) == value),
    (float, lambda read, value: np.float32(read.one(_FLOAT, 0.0)).tobytes() == np.float32(value).tobytes()),
    (bytes, lambda read, value: bytes(read.one(_BYTES)) == value),
    (DataType, lambda read, value: int(read.one(_TYPE, 0)) == _number(value)),
    (PartialShape, lambda read, value: _is_shape(_Message(read.one(_SHAPE)), value)),
    (Tensor, lambda read, value: _is_tensor(_Message(read.one(_TENSOR)), value)),
    (FunctionReference, lambda read, value: _Message(read.one(_FUNC)).one(1).decode() == value.name),
    (PlaceholderName, lambda read, value: bytes(read.one(_PLACEHOLDER)).decode() == value.name),
    (AttributeList, lambda read, value: not value.values or _is_list(_Message(read.one(_LIST)), value)),
)
"""How values of a kind stand in an AttrValue; a truth is a number of Python's, too, and so comes first."""


class _Message:
    """The fields of a message, by their numbers."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[Any]] = {}
        for number, value in _fields(data):
            self._fields.setdefault(number, []).append(value)

    def every(self, number: int) -> list[Any]:
        """The values of a field."""
        return self._fields.get(number, [])

    def one(self, number: int, default: Any = b"") -> Any:
        """The value of a field that is there once; what stands for it where it is not there."""
        return self.every(number)[-1] if number in self._fields else default


def _entry(data: bytes) -> tuple[bytes, bytes]:
    message = _Message(data)
    return message.one(1), message.one(2)


def _texts(data: bytes) -> tuple[str, str]:
    key, value = _entry(data)
    return key.decode(), value.decode()


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == 0:
            value, position = _varint(data, position)
            yield tag >> 3, value
        elif kind == 2:
            size, position = _varint(data, position)
            yield tag >> 3, data[position : position + size]
            position += size
        else:
            yield tag >> 3, struct.unpack_from(_FIXED[kind], data, position)[0]
            position += struct.calcsize(_FIXED[kind])


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value - (1 << 64 if value >> 63 else 0), position


def _numbers(packed: bytes) -> Iterator[int]:
    position = 0
    while position < len(packed):
        value, position = _varint(packed, position)
        yield value
