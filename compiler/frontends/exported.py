"""Files of `jax.export`: where in one the program stands, and for which platforms it was lowered.

Such a file is a FlatBuffer with one table.  Only what is needed of that format is read, so that no package for it has
to be there: an offset to the table, the table's offset back to its list of fields, and vectors, which begin with their
length.  The program is the one vector of bytes that begins as StableHLO's bytecode does, in whatever field a version of
JAX keeps it; the platforms have been the tenth field since there were any.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

BYTECODE_MAGIC = b"ML\xefR"

_PLATFORMS = 9
_MOST_FIELDS = 64


@dataclass(frozen=True, slots=True)
class Exported:
    """What stands in such a file: MLIR bytecode, and the names of the platforms in JAX's order."""

    bytecode: bytes
    platforms: tuple[str, ...]


def read_exported(data: bytes) -> Exported | None:
    """The program of a `jax.export` file; None for anything else."""
    try:
        fields = _fields(data)
        for place in fields:
            if place and data.startswith(BYTECODE_MAGIC, _target(data, place) + 4):
                return Exported(_vector(data, place), _platforms(data, fields))
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
    return None


def _fields(data: bytes) -> list[int]:
    """The place of each field of the table, 0 for one that was left out."""
    table = _target(data, 0)
    listed = table - struct.unpack_from("<i", data, table)[0]
    size, extent = struct.unpack_from("<HH", data, listed)
    count = (size - 4) // 2
    if listed < 0 or size % 2 or not 0 < count <= _MOST_FIELDS:
        raise IndexError(listed)
    offsets = struct.unpack_from(f"<{count}H", data, listed + 4)
    # A vector's offset takes four bytes of the table; fields at its end are smaller and hold numbers.
    return [table + offset if 0 < offset <= extent - 4 else 0 for offset in offsets]


def _platforms(data: bytes, fields: list[int]) -> tuple[str, ...]:
    place = fields[_PLATFORMS] if len(fields) > _PLATFORMS else 0
    if not place:
        return ()
    vector = _target(data, place)
    (count,) = struct.unpack_from("<I", data, vector)
    if count > _MOST_FIELDS:
        raise IndexError(count)
    return tuple(_vector(data, vector + 4 + 4 * number).decode() for number in range(count))


def _target(data: bytes, place: int) -> int:
    """Where the offset at a place leads to."""
    target: int = place + struct.unpack_from("<I", data, place)[0]
    if target + 4 > len(data):
        raise IndexError(target)
    return target


def _vector(data: bytes, place: int) -> bytes:
    """The bytes of the vector, or string, that the offset at a place leads to."""
    start = _target(data, place)
    (size,) = struct.unpack_from("<I", data, start)
    if start + 4 + size > len(data):
        raise IndexError(size)
    return data[start + 4 : start + 4 + size]
