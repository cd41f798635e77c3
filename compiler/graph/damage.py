"""Where a message in binary form is damaged: the field, by its path, and the byte.

The library that reads messages says only that it could not; this walks the same bytes by the same schema until they
make no sense.  It is slow and runs on what was refused only.
"""

from __future__ import annotations

from typing import NamedTuple

from compiler.graph.schema import MESSAGES, Field
from compiler.varint import read_varint

DEEPEST = 100
"""Messages inside of each other that readers of protocol buffers take."""

_VARINT, _FIXED_64, _LENGTH, _START_GROUP, _END_GROUP, _FIXED_32 = range(6)
_FIXED = {_FIXED_64: 8, _FIXED_32: 4}


class _DamageError(Exception):
    """What is wrong, and at which byte."""

    def __init__(self, at: int, said: str) -> None:
        super().__init__(said)
        self.at = at
        self.said = said


class _Open(NamedTuple):
    """A message that is being walked: its kind, what its path ends with, and the byte where it ends."""

    fields: dict[int, Field]
    step: str
    end: int
    counts: dict[int, int]


def damage_location(kind: str, data: bytes) -> str:
    """What is wrong about the bytes of a message of the schema and where; empty where nothing is found."""
    stack = [_opened(kind, "", len(data))]
    at = 0
    try:
        while stack:
            if at >= stack[-1].end:
                stack.pop()
                continue
            at = _walk(stack, data, at)
    except _DamageError as damage:
        path = ".".join(one.step for one in stack if one.step)
        return f"at byte {damage.at:,}" + (f", in {path}" if path else "") + f", {damage.said}"
    return ""


def _opened(kind: str, step: str, end: int) -> _Open:
    return _Open({field.number: field for field in MESSAGES[kind]}, step, end, {})


def _walk(stack: list[_Open], data: bytes, at: int) -> int:
    """Walk one field of the innermost message, or enter it; the byte to go on at."""
    inside = stack[-1]
    tag, after = _varint(data, at, inside.end)
    number, wire_type = tag >> 3, tag & 7
    field = inside.fields.get(number)
    name = field.name if field else f"field {number}"
    if not number:
        raise _DamageError(at, "a field has the number 0")
    if wire_type in _FIXED:
        return _within(after + _FIXED[wire_type], inside.end, after, name)
    if wire_type == _VARINT:
        return _varint(data, after, inside.end)[1]
    if wire_type != _LENGTH:
        raise _DamageError(at, f"{name} is written in a way (wire type {wire_type}) that graphs have not")
    length, start = _varint(data, after, inside.end)
    end = _within(start + length, inside.end, after, name)
    if field is None:
        return end
    count = inside.counts.get(number, 0)
    inside.counts[number] = count + 1
    step = f"{name}[{count}]" if field.is_repeated or field.key else name
    if field.key or field.type in MESSAGES:
        if len(stack) > DEEPEST:
            raise _DamageError(at, f"messages stand more than {DEEPEST} deep in each other")
        stack.append(_entry(field, step, end) if field.key else _opened(field.type, step, end))
        return start
    if field.type == "string":
        _check_text(data, start, end, name)
    elif field.type != "bytes":
        _check_packed(field, data, start, end)
    return end


def _entry(field: Field, step: str, end: int) -> _Open:
    """An entry of a map, a message of a key and a value."""
    pair = (Field("key", 1, field.key, False, "", ""), Field("value", 2, field.type, False, "", ""))  # noqa: FBT003
    return _Open({one.number: one for one in pair}, step, end, {})


def _within(at: int, end: int, start: int, name: str) -> int:
    if at > end:
        raise _DamageError(start, f"{name} says that it ends at byte {at:,}, but what holds it ends at {end:,}")
    return at


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    try:
        return read_varint(data, at, end)
    except ValueError as error:
        raise _DamageError(at, str(error)) from error


def _check_text(data: bytes, start: int, end: int, name: str) -> None:
    try:
        data[start:end].decode()
    except UnicodeDecodeError as error:
        raise _DamageError(start + error.start, f"{name} is no UTF-8") from error


def _check_packed(field: Field, data: bytes, start: int, end: int) -> None:
    """Numbers one after the other."""
    size = {"float": 4, "fixed32": 4, "double": 8, "fixed64": 8}.get(field.type)
    if size is not None:
        if (end - start) % size:
            raise _DamageError(start, f"{field.name} holds {end - start} bytes, no multiple of {size}")
        return
    at = start
    while at < end:
        at = _varint(data, at, end)[1]
