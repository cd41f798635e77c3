"""Checkpoints: the values of variables, in files `PREFIX.index` and `PREFIX.data-00000-of-00001`.

The index is a table of entries by key; an entry says type, sizes and place of one tensor.  Values are read when they
are asked for.  Their checksums are not checked: that takes Python a minute for a few hundred megabytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import InputError, UnsupportedError, did_you_mean
from compiler.frontends import read_program
from compiler.graph.attrdef import shape_of
from compiler.graph.messages import Message, from_bytes
from compiler.graph.table import read_table
from compiler.graph.types import DataType
from compiler.varint import read_varint

_LARGEST = 1 << 32
"""Bytes of a variable, and of all: 4 GiB, as a literal may have."""
_CHECKSUM = 4
"""Bytes between the lengths of strings and the strings."""
_BIG_ENDIAN = 1
"""`BundleHeaderProto.BIG` (TensorFlow, tensor_bundle.proto)."""


class Bundle:
    """The tensors of a checkpoint by their keys."""

    def __init__(self, prefix: Path) -> None:
        """Read the index.

        Raises:
            InputError: it cannot be read, or makes no sense.
            UnsupportedError: its numbers are stored with the highest byte first.
        """
        self._prefix = prefix
        self._index = f"{prefix}.index"
        table = read_table(read_program(Path(self._index)), self._index)
        header = from_bytes("BundleHeaderProto", table.pop(b"", b""), f"{self._index}, its header")
        if header.endianness == _BIG_ENDIAN:
            raise UnsupportedError(self._index, "this reader", "its numbers are stored with the highest byte first")
        self._shards: int = header.num_shards
        self._entries: dict[str, Message] = {}
        for key, value in table.items():
            name = key.decode("utf-8", "backslashreplace")
            self._entries[name] = from_bytes("BundleEntryProto", value, f"{self._index}, tensor {name!r}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def type(self, key: str) -> DataType:
        """The type of a tensor."""
        return DataType(self._entry(key).dtype)

    def dims(self, key: str) -> tuple[int, ...]:
        """The sizes of a tensor.

        Raises:
            InputError: they are not all known.
        """
        dims = shape_of(self._entry(key).shape, f"{self._index}, tensor {key!r}").static
        if dims is None:
            raise InputError(f"{self._index}, tensor {key!r}: its sizes are not all known")
        return dims

    def array(self, key: str) -> NDArray[Any]:
        """The value of a tensor.

        Raises:
            InputError: there is none of this key, or its file is missing or too short.
            UnsupportedError: its elements are no numbers, it is stored in slices, or takes more than 4 GiB.
        """
        entry = self._entry(key)
        where = f"{self._index}, tensor {key!r}"
        element_type = self.type(key).element_type
        if element_type is None:
            raise UnsupportedError(f"{where}, of {self.type(key)}", "this compiler", "its elements are no numbers")
        if len(entry.slices):
            raise UnsupportedError(f"{where}, stored in {len(entry.slices)} slices", "this reader of checkpoints")
        dims = self.dims(key)
        wanted = math.prod(dims) * element_type.size_bytes
        if wanted != entry.size:
            raise InputError(f"{where}: {list(dims)} of {self.type(key)} take {wanted:,} bytes, not {entry.size:,}")
        if wanted > _LARGEST:
            raise UnsupportedError(where, "this compiler", "it takes more than 4 GiB")
        data = self._read(entry.shard_id, entry.offset, wanted, where)
        return np.frombuffer(data, element_type.dtype).reshape(dims)

    def texts(self, key: str) -> NDArray[Any]:
        """The value of a tensor of strings, as an array of bytes: lengths, a checksum of them, and what is so long.

        Raises:
            InputError: there is none of this key, its file is missing or too short, or lengths do not fit.
            UnsupportedError: it takes more than 4 GiB.
        """
        _, data = self.stored(key)
        dims = self.dims(key)
        where = f"{self._index}, tensor {key!r}"
        if math.prod(dims) > len(data):
            raise InputError(f"{where}: {list(dims)} of string do not fit into {len(data):,} bytes")
        at, lengths = 0, []
        try:
            for _ in range(math.prod(dims)):
                length, at = read_varint(data, at, len(data))
                lengths.append(length)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from error
        ends = list(accumulate(lengths, initial=at + _CHECKSUM))
        if ends[-1] != len(data):
            raise InputError(f"{where}: its strings end at byte {ends[-1]:,}, not {len(data):,}")
        found = np.empty(len(lengths), object)
        found[:] = [data[start:end] for start, end in pairwise(ends)]
        return found.reshape(dims)

    def location(self, key: str) -> tuple[int, int]:
        """The file of a tensor and where in it the tensor is."""
        entry = self._entry(key)
        return entry.shard_id, entry.offset

    def stored(self, key: str) -> tuple[Message, bytes]:
        """The entry of a tensor and its bytes as they are stored, whatever its elements are.

        Raises:
            InputError: there is none of this key, or its file is missing or too short.
        """
        entry = type(self._entry(key))()
        entry.CopyFrom(self._entry(key))
        where = f"{self._index}, tensor {key!r}"
        if entry.size > _LARGEST:
            raise UnsupportedError(where, "this compiler", "it takes more than 4 GiB")
        return entry, self._read(entry.shard_id, entry.offset, entry.size, where)

    def _entry(self, key: str) -> Message:
        entry = self._entries.get(key)
        if entry is None:
            raise InputError(f"{self._index}: no tensor {key!r}" + did_you_mean(key, self._entries))
        return entry

    def _read(self, shard: int, offset: int, size: int, where: str) -> bytes:
        path = Path(f"{self._prefix}.data-{shard:05d}-of-{self._shards:05d}")
        try:
            with path.open("rb") as file:
                length = file.seek(0, 2)
                if offset < 0 or offset + size > length:
                    raise InputError(f"{where}: it ends at byte {offset + size:,} of {path}, which has {length:,}")
                file.seek(offset)
                return file.read(size)
        except OSError as error:
            raise InputError(f"{where}: {path}: cannot be read: {error.strerror or error}") from error
