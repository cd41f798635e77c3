"""Files of `jax.export`: where in one the program stands, for which platforms it was lowered, and what it uses.

Such a file is a FlatBuffer with one table.  Only what is needed of that format is read, so that no package for it has
to be there: an offset to the table, the table's offset back to its list of fields, and vectors, which begin with their
length.  The program is the one vector of bytes that begins as StableHLO's bytecode does, in whatever field a version of
JAX keeps it; the platforms have been the tenth field since there were any.  JAX leaves arguments that a function does
not use out of the program: the sixteenth field numbers those that it kept, and the types of all are a vector whose
length alone is read, the fourth field or in newer files the twenty-third.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

BYTECODE_MAGIC = b"ML\xefR"

_PLATFORMS = 9
"""The place of `platforms` in the table `Exported` (JAX, serialization.fbs)."""
_KEPT = 15
"""The place of `module_kept_var_idx` there."""
_ARGUMENTS = (22, 3)
"""The places of what has an entry for each argument, 3 that of `in_avals`; the first that is there counts."""
_MOST_FIELDS = 64
"""Fields and platforms beyond which a file is none of JAX's: it has fewer than 20."""

_Input = TypeVar("_Input")


@dataclass(frozen=True, slots=True)
class Exported:
    """A file of `jax.export`: MLIR bytecode, and the names of the platforms in JAX's order.

    `kept` are the numbers of the arguments that the program takes, of `arguments` that the function does; where the
    file does not say them there are none.
    """

    bytecode: bytes
    platforms: tuple[str, ...]
    kept: tuple[int, ...] = ()
    arguments: int = 0


NOTE = "exported_arguments"
"""The name of what a program's header says of the arguments of the function that it was made of."""
_OF = " of "


def note_of(exported: Exported) -> str:
    """What a program's header says of the arguments, `0 3 of 5`; "" where all are kept or nothing is known."""
    return note(exported.kept, exported.arguments)


def note(kept: Sequence[int], count: int) -> str:
    """What a program's header says of the arguments that it takes, of so many; "" where it takes all."""
    return "" if len(kept) == count else f"{' '.join(map(str, kept))}{_OF}{count}"


def arguments_of(attributes: Mapping[str, Any]) -> tuple[tuple[int, ...], int] | None:
    """The arguments that the program of a module with these attributes kept, and how many its function takes.

    None where it is no export, or one that uses all.
    """
    note = dict(attributes.get("frontend_attributes", ())).get(NOTE, "")
    kept, _, count = note.partition(_OF)
    words = kept.split()
    if not count.isdecimal() or not all(word.isdecimal() for word in words):
        return None
    numbers = tuple(map(int, words))
    return (numbers, int(count)) if all(number < int(count) for number in numbers) else None


def unused_said(attributes: Mapping[str, Any]) -> str:
    """A note for people on unused arguments, to stand behind other words; "" where there are none."""
    arguments = arguments_of(attributes)
    if arguments is None:
        return ""
    kept, count = arguments
    used = f"only {', '.join(map(str, kept))} (from 0)" if kept else "none"
    return f"; of the {count} arguments of its function it uses {used}"


def only_kept(inputs: list[_Input], attributes: Mapping[str, Any], taken: int) -> list[_Input]:
    """Of inputs for all arguments of an exported function those that its program takes; others as they are.

    Args:
        inputs: for all arguments, or for those that are used.
        attributes: of the exported function, which say which arguments it keeps.
        taken: inputs that the program takes.
    """
    kept, count = arguments_of(attributes) or ((), 0)
    return [inputs[number] for number in kept] if count and (len(inputs), taken) == (count, len(kept)) else inputs


def read_exported(data: bytes) -> Exported | None:
    """The program of a `jax.export` file; None for anything else."""
    try:
        fields = _fields(data)
        for offset in fields:
            if offset and data.startswith(BYTECODE_MAGIC, _target(data, offset) + 4):
                return Exported(_vector(data, offset), _platforms(data, fields), *_arguments(data, fields))
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
    offset = fields[_PLATFORMS] if len(fields) > _PLATFORMS else 0
    if not offset:
        return ()
    vector = _target(data, offset)
    (count,) = struct.unpack_from("<I", data, vector)
    if count > _MOST_FIELDS:
        raise IndexError(count)
    return tuple(_vector(data, vector + 4 + 4 * number).decode() for number in range(count))


def _arguments(data: bytes, fields: list[int]) -> tuple[tuple[int, ...], int]:
    """The numbers of the arguments that are kept, and how many there are."""
    counts = (_count(data, fields, number) for number in _ARGUMENTS)
    count = next(filter(None, counts), 0)
    kept = _count(data, fields, _KEPT)
    if len(fields) <= _KEPT or not fields[_KEPT] or kept > count:
        return (), 0
    start = _target(data, fields[_KEPT]) + 4
    numbers = struct.unpack_from(f"<{kept}H", data, start)
    is_sound = all(low < high for low, high in pairwise((-1, *numbers, count)))
    return (numbers, count) if is_sound else ((), 0)


def _count(data: bytes, fields: list[int], number: int) -> int:
    """The length of the vector in a field, 0 where the field is not there."""
    if number >= len(fields) or not fields[number]:
        return 0
    length: int = struct.unpack_from("<I", data, _target(data, fields[number]))[0]
    return length


def _target(data: bytes, offset: int) -> int:
    """Where the offset at a place leads to."""
    target: int = offset + struct.unpack_from("<I", data, offset)[0]
    if target + 4 > len(data):
        raise IndexError(target)
    return target


def _vector(data: bytes, offset: int) -> bytes:
    """The bytes of the vector, or string, that the offset at a place leads to."""
    start = _target(data, offset)
    (size,) = struct.unpack_from("<I", data, start)
    if start + 4 + size > len(data):
        raise IndexError(size)
    return data[start + 4 : start + 4 + size]
