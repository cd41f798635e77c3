"""Attributes, shapes and tensors to and from the messages `AttrValue`, `TensorShapeProto` and `TensorProto`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import InputError
from compiler.graph.attributes import (
    Attribute,
    AttributeList,
    FunctionReference,
    PlaceholderName,
    Unset,
)
from compiler.graph.messages import Message, rest_of
from compiler.graph.shapes import PartialShape
from compiler.graph.tensors import Tensor
from compiler.graph.types import DataType

_DEEPEST = 50
"""Functions in attributes of functions: TensorFlow writes two, protocol buffers are read to a depth of 100."""
_LISTED = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


@dataclass(frozen=True, slots=True)
class _Stated:
    """The field that states a tensor's elements: how they become an array of the type, and how an array is written."""

    field: str
    array: Callable[[Any, np.dtype[Any]], NDArray[Any]]
    values: Callable[[NDArray[Any]], Any]


def _as_numbers(field: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.array(field, np.int64 if dtype.kind in "iuV" else dtype).astype(dtype)


def _as_unsigned(field: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.array(field, np.uint64).astype(dtype)


def _as_bits(field: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.array(field, np.int64).astype(np.uint16).view(dtype)


def _as_pairs(field: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    numbers = np.array(field, np.float32 if dtype.itemsize == 8 else np.float64)
    if numbers.size % 2:
        raise InputError("complex numbers have an odd number of parts")
    return numbers.view(dtype)


def _as_bytes(field: bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(field, np.uint8).view(dtype)


def _plain(array: NDArray[Any]) -> Any:
    return array.astype(np.int64).tolist() if array.dtype.kind in "iuV" else array.tolist()


_INT = _Stated("int_val", _as_numbers, _plain)
_HALF = _Stated("half_val", _as_bits, lambda array: array.view(np.uint16).tolist())
_BYTE = _Stated("float8_val", _as_bytes, lambda array: array.tobytes())
_STATED: Mapping[str, _Stated] = {
    "float32": _Stated("float_val", _as_numbers, _plain),
    "float64": _Stated("double_val", _as_numbers, _plain),
    "bool": _Stated("bool_val", _as_numbers, _plain),
    "int64": _Stated("int64_val", _as_numbers, _plain),
    "uint32": _Stated("uint32_val", _as_unsigned, lambda array: array.tolist()),
    "uint64": _Stated("uint64_val", _as_unsigned, lambda array: array.tolist()),
    "complex64": _Stated("scomplex_val", _as_pairs, lambda array: array.view(np.float32).tolist()),
    "complex128": _Stated("dcomplex_val", _as_pairs, lambda array: array.view(np.float64).tolist()),
    "float16": _HALF,
    "bfloat16": _HALF,
    **dict.fromkeys(("int32", "uint8", "int16", "int8", "uint16", "int4", "uint4", "int2", "uint2"), _INT),
    **dict.fromkeys(("qint8", "quint8", "qint16", "quint16", "qint32"), _INT),
    **dict.fromkeys(
        ("float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz", "float4_e2m1fn"),
        _BYTE,
    ),
}


def attribute_of(read: Message, where: str, depth: int = 0) -> Attribute:
    """The value that an `AttrValue` holds.

    Args:
        read: an `AttrValue`.
        where: which attribute it is, for messages.
        depth: of the lists and functions that it is in.

    Raises:
        InputError: it makes no sense; `where` says which attribute it is.
    """
    kind = read.WhichOneof("value")
    if kind is None:
        return Unset(rest_of(read))
    _refuse_unknown(read, where)
    if kind == "placeholder":
        return PlaceholderName(read.placeholder)
    if kind != "list":
        return _one(kind, getattr(read, kind), where, depth)
    _refuse_unknown(read.list, where)
    held = [name for name in _LISTED if len(getattr(read.list, name))]
    if len(held) > 1:
        raise InputError(f"{where}: a list holds values of several kinds: {', '.join(held)}")
    values = ((_one(name, value, where, depth) for value in getattr(read.list, name)) for name in held)
    return AttributeList(held[0] if held else "", tuple(value for items in values for value in items))


def _one(kind: str, value: Any, where: str, depth: int) -> Attribute:
    """A value that is no list."""
    match kind:
        case "type":
            return DataType(value)
        case "shape":
            return shape_of(value, where)
        case "tensor":
            return tensor_of_message(value, where)
        case "func":
            _refuse_unknown(value, where)
            if depth > _DEEPEST:
                raise InputError(f"{where}: functions stand more than {_DEEPEST} deep in each other's attributes")
            inner = attributes_of(value.attr, f"{where}, function {value.name!r}", depth + 1)
            return FunctionReference(value.name, inner)
        case _:
            plain: Attribute = value
            return plain


def attributes_of(read: Mapping[str, Message], where: str, depth: int = 0) -> dict[str, Attribute]:
    """Attributes by their names, in the order of these, since a map has none.

    What TensorFlow's passes note for each other, under names that begin with `_`, may be what no attribute is: Grappler
    writes -4 for sizes that it knows to be equal.  Such a note is kept as it is.

    Args:
        read: the map of a message, by names.
        where: the node or function, for messages.
        depth: functions around it in whose attributes it stands.
    """
    return {name: _attribute_or_note(name, read[name], where, depth) for name in sorted(read)}


def _attribute_or_note(name: str, read: Message, where: str, depth: int) -> Attribute:
    try:
        return attribute_of(read, f"{where}, attribute {name!r}", depth)
    except InputError:
        if not name.startswith("_"):
            raise
        return Unset(read.SerializeToString(deterministic=True))


def _refuse_unknown(read: Message, where: str) -> None:
    if rest_of(read, *(field.name for field in read.DESCRIPTOR.fields)):
        raise InputError(f"{where}: it holds fields of numbers that no release of TensorFlow up to 2.21 has")


def shape_of(read: Message, where: str) -> PartialShape:
    """The shape that a `TensorShapeProto` says.

    Raises:
        InputError: a size is below -1, which means that it is unknown; or sizes are there though they should not be.
    """
    sizes = [dim.size for dim in read.dim]
    if any(size < -1 for size in sizes):
        raise InputError(f"{where}: a shape has the size {min(sizes)}; -1 means unknown, and nothing is below that")
    if read.unknown_rank:
        if sizes:
            raise InputError(f"{where}: a shape of unknown rank has {len(sizes)} sizes")
        return PartialShape(None)
    names = tuple(dim.name for dim in read.dim)
    return PartialShape(tuple(None if size < 0 else size for size in sizes), names if any(names) else ())


def _write_shape(written: Message, shape: PartialShape) -> None:
    """Write a shape into a `TensorShapeProto`."""
    written.SetInParent()
    if shape.dims is None:
        written.unknown_rank = True
        return
    for number, size in enumerate(shape.dims):
        written.dim.add(size=-1 if size is None else size, name=shape.names[number] if shape.names else "")


def tensor_of_message(read: Message, where: str) -> Tensor:
    """The tensor that a `TensorProto` holds, not expanded.

    Raises:
        InputError: its sizes are not all known, or it states more or other bytes than they ask for.
    """
    data_type = DataType(read.dtype)
    dims = shape_of(read.tensor_shape, where).static
    if dims is None:
        raise InputError(f"{where}: the sizes of a tensor are not all known")
    element_type = None if data_type.is_reference else data_type.element_type
    if element_type is None:
        strings = tuple(read.string_val)
        if len(strings) > max(math.prod(dims), 0):
            raise InputError(f"{where}: a tensor of {math.prod(dims)} elements states {len(strings)}")
        return Tensor(data_type, dims, None, strings, rest_of(read, "dtype", "tensor_shape", "string_val"))
    stated = _STATED[str(data_type)]
    rest = rest_of(read, "dtype", "tensor_shape", "tensor_content", stated.field)
    size = math.prod(dims)
    if read.tensor_content:
        wanted = size * element_type.size_bytes
        if len(read.tensor_content) != wanted:
            said = f"a tensor of {size:,} elements of {data_type} takes {wanted:,} bytes"
            raise InputError(f"{where}: {said}, but {len(read.tensor_content):,} are stated")
        return Tensor(data_type, dims, np.frombuffer(read.tensor_content, element_type.dtype), rest=rest)
    try:
        array = stated.array(getattr(read, stated.field), element_type.dtype)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if array.size > size:
        raise InputError(f"{where}: a tensor of {size:,} elements states {array.size:,}")
    return Tensor(data_type, dims, array, rest=rest)


def _write_tensor(written: Message, tensor: Tensor) -> None:
    """Write a tensor into a `TensorProto`."""
    if tensor.rest:
        written.MergeFromString(tensor.rest)
    written.dtype = tensor.type.number
    _write_shape(written.tensor_shape, PartialShape(tensor.dims))
    written.string_val.extend(tensor.strings)
    if tensor.stated is None or not tensor.stated.size:
        return
    if tensor.stated.size == tensor.size > 1:
        written.tensor_content = tensor.stated.tobytes()
        return
    stated = _STATED[str(tensor.type)]
    values = stated.values(tensor.stated)
    if isinstance(values, bytes):
        setattr(written, stated.field, values)
    else:
        getattr(written, stated.field).extend(values)


def write_attributes(written: Any, attributes: Mapping[str, Attribute]) -> None:
    """Write attributes into a map of `AttrValue`."""
    for name, value in attributes.items():
        _write_attribute(written[name], value)


def _write_attribute(written: Message, value: Attribute) -> None:
    match value:
        case Unset():
            written.MergeFromString(value.rest)
        case PlaceholderName():
            written.placeholder = value.name
        case AttributeList():
            written.list.SetInParent()
            if value.kind:
                _write_list(getattr(written.list, value.kind), value.values)
        case PartialShape():
            _write_shape(written.shape, value)
        case Tensor():
            _write_tensor(written.tensor, value)
        case FunctionReference():
            _write_reference(written.func, value)
        case _:
            setattr(written, _kind_of(value), value.number if isinstance(value, DataType) else value)


def _kind_of(value: Attribute) -> str:
    """The field of a value that is one number or text."""
    kinds: Iterable[tuple[type, str]] = ((bool, "b"), (int, "i"), (float, "f"), (bytes, "s"), (DataType, "type"))
    return next(field for kind, field in kinds if isinstance(value, kind))


def _write_list(written: Any, values: Iterable[Attribute]) -> None:
    for value in values:
        match value:
            case PartialShape():
                _write_shape(written.add(), value)
            case Tensor():
                _write_tensor(written.add(), value)
            case FunctionReference():
                _write_reference(written.add(), value)
            case _:
                written.append(value.number if isinstance(value, DataType) else value)


def _write_reference(written: Message, reference: FunctionReference) -> None:
    written.SetInParent()
    written.name = reference.name
    write_attributes(written.attr, reference.attributes)
