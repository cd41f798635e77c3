"""TensorFlow's messages as classes of the library `protobuf`, made from `schema` when this module is loaded.

Why the library, and not a codec of our own like `compiler.proto.wire`: that one only writes, and only XLA's binary
form.  Graphs come from anywhere, in two forms, and a reader of hostile bytes, of the text format with its escapes,
extensions and numbers, and of fields that are not known but must be written back is what `protobuf` is; a second one
would have bugs that are long fixed there.  Why no generated code: it is tied to the release of `protobuf` that it was
made for, it would be TensorFlow's text, and it needs `protoc`.  A table of rows, read by people and held to
TensorFlow's own descriptors by a test, makes the same classes, in a pool of their own, so that a TensorFlow in
the same process keeps its messages.

Only this module knows the library; it is loaded when a file is read or written (`compiler.graph.files`), since a
graph that a program makes needs none.
"""

from __future__ import annotations

import warnings
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory, text_format, unknown_fields

from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph.damage import DEEPEST, damage_location
from compiler.graph.schema import ENUMERATIONS, MESSAGES, SCALARS, Field

Message = Any
"""An instance of one of the classes; their attributes are the fields of the schema."""

_PACKAGE = "tensorflow"
_PROTO: Any = descriptor_pb2.FieldDescriptorProto
_ENTRY = "Entry"


def _file() -> Any:
    """The description of all messages, as `protoc` would make it of `.proto` files."""
    file = descriptor_pb2.FileDescriptorProto(name="graphs.proto", package=_PACKAGE, syntax="proto3")
    for name, words in ENUMERATIONS.items():
        enumeration = file.enum_type.add(name=name)
        for word, number in words.items():
            enumeration.value.add(name=word, number=number)
    made: dict[str, Any] = {}
    for name, fields in MESSAGES.items():  # an outer message stands before those inside it
        outer, _, inner = name.rpartition(".")
        made[name] = made[outer].nested_type.add(name=inner) if outer else file.message_type.add(name=inner)
        for field in fields:
            _add_field(made[name], name, field)
    return file


def _add_field(described: Any, owner: str, field: Field) -> None:
    if field.key:
        entry = described.nested_type.add(name="".join(map(str.capitalize, field.name.split("_"))) + _ENTRY)
        entry.options.map_entry = True
        _typed(entry.field.add(name="key", number=1, label=_PROTO.LABEL_OPTIONAL), field.key)
        _typed(entry.field.add(name="value", number=2, label=_PROTO.LABEL_OPTIONAL), field.type)
    label = _PROTO.LABEL_REPEATED if field.is_repeated or field.key else _PROTO.LABEL_OPTIONAL
    row = described.field.add(name=field.name, number=field.number, label=label)
    _typed(row, f"{owner}.{entry.name}" if field.key else field.type)
    if field.group:
        groups = [group.name for group in described.oneof_decl]
        if field.group not in groups:
            described.oneof_decl.add(name=field.group)
            groups.append(field.group)
        row.oneof_index = groups.index(field.group)


def _typed(row: Any, kind: str) -> None:
    if kind in SCALARS:
        row.type = getattr(_PROTO, f"TYPE_{kind.upper()}")
        return
    row.type = _PROTO.TYPE_ENUM if kind in ENUMERATIONS else _PROTO.TYPE_MESSAGE
    row.type_name = f".{_PACKAGE}.{kind}"


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_file())
CLASSES: dict[str, Any] = {
    name: message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in MESSAGES
}
"""The class of each message."""


def from_bytes(kind: str, data: bytes, filename: str) -> Message:
    """A message from its binary form.

    Args:
        kind: the message's name in TensorFlow's schema.
        data: its bytes.
        filename: where they come from, for messages.

    Raises:
        InputError: it is none; the place where reading stopped making sense is named.
    """
    read = CLASSES[kind]()
    try:
        read.ParseFromString(data)
    except message.DecodeError as error:
        location = damage_location(kind, data) or str(error)
        raise InputError(f"{filename}: no {kind} in binary form: {location}; get the file again") from error
    return read


def from_text(kind: str, text: str, filename: str) -> Message:
    """A message from its text form.

    Args:
        kind: the class of the message.
        text: its text form.
        filename: what messages call it.

    Raises:
        InputError: it is none; line and column are named.
    """
    _check_depth(text, filename, kind)
    read = CLASSES[kind]()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # an escape that is none stands for itself
            text_format.Parse(text, read)
    except text_format.ParseError as error:
        said = str(error).partition(" : ")[2] or str(error)
        line, column = error.GetLine() or 1, error.GetColumn() or 1
        raise InputError(f"{filename}:{line}:{column}: no {kind} in text form: {said}") from error
    return read


def _check_depth(text: str, filename: str, kind: str) -> None:
    """Messages inside of messages take the reader's stack: see that there are no more than it has."""
    depth, quote, escaped, line = 0, "", False, 1
    for character in text:
        if character == "\n":
            line += 1
            quote = ""  # no string goes past its line, and no comment
        if escaped:
            escaped = False
        elif quote:
            escaped = character == "\\" and quote != "#"
            quote = "" if character == quote else quote
        elif character in "\"'#":
            quote = character
        elif character in "{<":
            depth += 1
            if depth > DEEPEST:
                raise InputError(f"{filename}:{line}: no {kind}: messages stand more than {DEEPEST} deep in each other")
        elif character in "}>":
            depth -= 1


def to_bytes(written: Message) -> bytes:
    """The binary form of a message, with maps in the order of their keys.

    Raises:
        UnsupportedError: it is longer than any reader takes.
    """
    try:
        encoded: bytes = written.SerializeToString(deterministic=True)
    except (message.EncodeError, ValueError) as error:
        raise UnsupportedError("a graph of more than 2 GiB", "protocol buffers", str(error)) from error
    return encoded


def to_text(written: Message) -> str:
    """The text form of a message.

    Raises:
        UnsupportedError: it holds fields that are not known here, for which text has no names.
    """
    known = type(written)()
    known.CopyFrom(written)
    known.DiscardUnknownFields()
    if known.ByteSize() != written.ByteSize():
        raise UnsupportedError(
            "a field of a number that no release of TensorFlow up to 2.21 has", "the text form", "write the binary form"
        )
    text: str = text_format.MessageToString(written)
    return text


def rest_of(read: Message, *known: str) -> bytes:
    """What a message holds besides the fields of these names, serialised; empty where that is nothing."""
    if not len(unknown_fields.UnknownFieldSet(read)) and all(field.name in known for field, _ in read.ListFields()):
        return b""
    rest = type(read)()
    rest.CopyFrom(read)
    for name in known:
        rest.ClearField(name)
    return to_bytes(rest)


def started_from(kind: str, rest: bytes, **fields: Any) -> Message:
    """A message of what `rest_of` kept, with these scalar fields set.

    Args:
        kind: the message's name.
        rest: the bytes that `rest_of` kept, "" for none.
        fields: scalars by the fields' names.
    """
    made = CLASSES[kind](**fields)
    if rest:
        made.MergeFromString(rest)
    return made
