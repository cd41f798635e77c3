"""Protocol buffers read without XLA and without our own tables: numbers of fields, as this file knows them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

FIXED = {1: "<d", 5: "<f"}


def varint(data: bytes, position: int) -> tuple[int, int]:
    """A number and the place behind it; one of 64 bits below zero as it was."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value - (1 << 64 if value >> 63 else 0), position


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number, and an int, a float, or bytes."""
    position = 0
    while position < len(data):
        tag, position = varint(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, position = varint(data, position)
            yield number, value
        elif kind == 2:
            size, position = varint(data, position)
            assert position + size <= len(data)
            yield number, data[position : position + size]
            position += size
        else:
            code = FIXED[kind]
            yield number, struct.unpack_from(code, data, position)[0]
            position += struct.calcsize(code)


def every(data: bytes, *path: int) -> list[Any]:
    """The values of a field, found through those of the messages around it."""
    found: list[Any] = [data]
    for number in path:
        found = [value for message in found for key, value in fields(message) if key == number]
    return found


def one(data: bytes, *path: int, default: Any = 0) -> Any:
    """The value of a field that is there once, or not at all."""
    found = every(data, *path)
    assert len(found) < 2, found
    return found[0] if found else default


def numbers(packed: bytes) -> list[int]:
    """The numbers of a repeated field."""
    listed, position = [], 0
    while position < len(packed):
        value, position = varint(packed, position)
        listed.append(value)
    return listed


def computations(dump: bytes) -> list[bytes]:
    """Each computation of an `HloProto`."""
    return every(dump, 1, 3)


def instructions(computation: bytes) -> list[dict[str, Any]]:
    """Each instruction's name, opcode, number, operands' numbers, element type (a number) and sizes."""
    return [
        {
            "name": one(message, 1, default=b"").decode(),
            "opcode": one(message, 2, default=b"").decode(),
            "id": one(message, 35),
            "operands": numbers(one(message, 36, default=b"")),
            "type": one(message, 3, 2),
            "sizes": numbers(one(message, 3, 3, default=b"")),
        }
        for message in every(computation, 2)
    ]
