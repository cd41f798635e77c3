"""Messages as bytes, in the wire format of protocol buffers, as `schema` describes them.

A message is a mapping from the names of its fields to values: numbers, texts, bytes, words of an enumeration, further
messages, and sequences of these where a field is repeated.  Long sequences of numbers may be NumPy arrays.  A field
that is missing, or holds its default, takes no bytes; repeated numbers are packed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import UnsupportedError
from compiler.proto.schema import ENUMERATIONS, MESSAGES, Field
from compiler.varint import varint

Message = Mapping[str, Any]
"""Values by the names of fields."""

LONGEST = (1 << 31) - 1
"""Bytes of the longest message that can be read."""

_VARINT, _FIXED_64, _LENGTH, _FIXED_32 = 0, 1, 2, 5
"""Wire types (protocol buffers, encoding)."""
_BITS = 64
"""Bits of a number on the wire (protocol buffers, encoding)."""


class _Fixed(NamedTuple):
    """A number of a fixed width: its wire type, its code in `struct`, its type in NumPy."""

    wire_type: int
    code: str
    dtype: str


_FIXED = {"float": _Fixed(_FIXED_32, "<f", "<f4"), "double": _Fixed(_FIXED_64, "<d", "<f8")}
_CHUNK = 1 << 14  # elements turned into varints at once, each by ten columns of 8 bytes


def encode(message: str, values: Message) -> bytes:
    """A message of the schema with these values.

    Raises:
        UnsupportedError: it is longer than any reader of protocol buffers takes.
    """
    fields = MESSAGES[message]
    present = sorted((fields[name].number, name) for name in values)
    encoded = b"".join(_field(fields[name], values[name]) for _, name in present)
    if len(encoded) > LONGEST:
        raise UnsupportedError(f"{message} of {len(encoded)} bytes", "protocol buffers", "they end at 2 GiB")
    return encoded


def _field(field: Field, value: Any) -> bytes:
    """One field with its tag, or nothing where it holds the default."""
    if not field.is_repeated:
        if not field.is_explicit and _is_default(field, value):
            return b""
        return _tagged(field, *_encoded(field.type, value))
    if not len(value):
        return b""
    if _is_packed(field.type):
        return _tagged(field, _LENGTH, _packed(field.type, value))
    return b"".join(_tagged(field, *_encoded(field.type, element)) for element in value)


def _is_default(field: Field, value: Any) -> bool:
    if field.type in MESSAGES:
        return False  # an empty message is there
    if field.type in ENUMERATIONS:
        return ENUMERATIONS[field.type][value] == 0
    if field.type in _FIXED:
        return not any(struct.pack(_FIXED[field.type].code, value))  # -0.0 is not the default
    return not value


def _is_packed(kind: str) -> bool:
    return kind not in MESSAGES and kind not in ("string", "bytes")


def _tagged(field: Field, wire_type: int, encoded: bytes) -> bytes:
    tag = varint(field.number << 3 | wire_type)
    return tag + varint(len(encoded)) + encoded if wire_type == _LENGTH else tag + encoded


def _encoded(kind: str, value: Any) -> tuple[int, bytes]:
    """A value's wire type, and its bytes."""
    if kind in MESSAGES:
        return _LENGTH, encode(kind, value)
    if kind in ENUMERATIONS:
        return _VARINT, varint(ENUMERATIONS[kind][value])
    if kind == "string":
        return _LENGTH, value.encode("utf-8", "surrogateescape")
    if kind == "bytes":
        return _LENGTH, value
    fixed = _FIXED.get(kind)
    if fixed is not None:
        return fixed.wire_type, struct.pack(fixed.code, value)
    return _VARINT, varint(int(value))


def _packed(kind: str, values: Sequence[Any] | NDArray[Any]) -> bytes:
    fixed = _FIXED.get(kind)
    if fixed is not None:
        return np.asarray(values, fixed.dtype).tobytes()
    if isinstance(values, np.ndarray):
        return b"".join(_varints(values))
    return b"".join(_encoded(kind, value)[1] for value in values)


def _varints(values: NDArray[Any]) -> Iterator[bytes]:
    """The varints of a long array, whose numbers are cut into groups of seven bits side by side."""
    wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)
    shifts = np.arange(0, _BITS, 7, dtype=np.uint64)
    for start in range(0, wide.size, _CHUNK):
        rests = wide[start : start + _CHUNK, None] >> shifts
        written = rests != 0
        written[:, 0] = True
        groups = (rests & np.uint64(127)).astype(np.uint8)
        groups[:, :-1] |= written[:, 1:].astype(np.uint8) << 7
        yield groups[written].tobytes()
