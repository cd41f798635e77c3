"""Sorted tables of bytes, as LevelDB keeps them: the index of a checkpoint is one.

A table is blocks, then a block that says where these begin, then 48 bytes that say where that one is.  An entry of a
block states its key by how much of the one before it to keep.  Every block has a checksum, which is checked; blocks
that are compressed (by Snappy) TensorFlow does not write, and they are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph.checksum import crc32c, masked
from compiler.varint import read_varint, varint

_FOOTER = 48
"""Bytes at the end of a table (LevelDB, table_format.md)."""
_MAGIC = 0xDB4775248B80FB57
"""The number that a table ends with (LevelDB, table_format.md)."""
_TRAILER = 5
"""Bytes behind a block: its compression and a checksum (LevelDB, table_format.md)."""
_MOST_KEY_BYTES = 1 << 28  # of all keys together: three bytes of a block can stand for a key as long as the one before


class _Handle(NamedTuple):
    """Where a block is."""

    offset: int
    size: int


def read_table(data: bytes, filename: str) -> dict[bytes, bytes]:
    """The values of a table by their keys.

    Raises:
        InputError: it is damaged; the byte is named.
        UnsupportedError: a block is compressed.
    """
    return _Reader(data, filename).read()


class _Entry(NamedTuple):
    """An entry of a block: its key, its value, and the byte of the file where the value begins."""

    key: bytes
    value: bytes
    start: int


class _Reader:
    """The bytes of a table, and what messages call it."""

    def __init__(self, data: bytes, filename: str) -> None:
        self._data = data
        self._filename = filename
        self._key_bytes = 0

    def read(self) -> dict[bytes, bytes]:
        """All entries; keys ascend, within blocks and from block to block, so that no block counts twice."""
        start = len(self._data) - _FOOTER
        if start < 0:
            raise self._damage(0, f"it has {len(self._data)} bytes, and the end of a table takes {_FOOTER}")
        if struct.unpack("<Q", self._data[-8:])[0] != _MAGIC:
            raise self._damage(len(self._data) - 8, "the last eight bytes are not those of a table")
        at = start
        for _ in range(2):  # offset and size of a block of nothing that is needed
            _, at = self._varint(at, len(self._data))
        index, _ = self._handle(at, len(self._data))
        entries: dict[bytes, bytes] = {}
        last: bytes | None = None
        for _, value, offset in self._block(index):
            handle, _ = self._handle(offset, offset + len(value))
            for key, entry, where in self._block(handle):
                if last is not None and key <= last:
                    raise self._damage(where, "its keys do not ascend")
                entries[key] = entry
                last = key
        return entries

    def _block(self, handle: _Handle) -> Iterator[_Entry]:
        """The entries of a block."""
        end = handle.offset + handle.size
        if end + _TRAILER > len(self._data):
            raise self._damage(
                handle.offset, f"a block ends at byte {end + _TRAILER:,}, and the file at {len(self._data):,}"
            )
        if self._data[end]:
            reason = "one of its blocks is compressed, which TensorFlow's own are not"
            raise UnsupportedError(f"{self._filename}", "this reader of tables", reason)
        (stated,) = struct.unpack_from("<I", self._data, end + 1)
        if masked(crc32c(self._data[handle.offset : end + 1])) != stated:
            raise self._damage(handle.offset, "the checksum of a block is another one")
        if handle.size < 4:
            raise self._damage(handle.offset, "a block is too short")
        (restarts,) = struct.unpack_from("<I", self._data, end - 4)
        limit = end - 4 - 4 * restarts
        if limit < handle.offset:
            raise self._damage(end - 4, f"a block has {restarts:,} places to start at, more than it has bytes for")
        key, at = b"", handle.offset
        while at < limit:
            shared, at = self._varint(at, limit)
            own, at = self._varint(at, limit)
            length, at = self._varint(at, limit)
            if shared > len(key) or at + own + length > limit:
                raise self._damage(at, "an entry goes past the end of its block, or keeps more of a key than there is")
            key = key[:shared] + self._data[at : at + own]
            self._key_bytes += len(key)
            if self._key_bytes > _MOST_KEY_BYTES:
                raise self._damage(at, f"its keys take more than {_MOST_KEY_BYTES:,} bytes")
            at += own + length
            yield _Entry(key, self._data[at - length : at], at - length)

    def _handle(self, at: int, end: int) -> tuple[_Handle, int]:
        offset, at = self._varint(at, end)
        size, at = self._varint(at, end)
        return _Handle(offset, size), at

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        try:
            return read_varint(self._data, at, end)
        except ValueError as error:
            raise self._damage(at, "a number does not end") from error

    def _damage(self, at: int, said: str) -> InputError:
        return InputError(f"{self._filename}: no table: at byte {at:,}, {said}; get the file again")


def table_of(entries: Mapping[bytes, bytes]) -> bytes:
    """A table of values by keys, byte for byte as TensorFlow writes it."""
    data, index, block = b"", _Block(1), _Block(_RESTARTS)
    keys = sorted(entries)
    for number, key in enumerate(keys):
        block.add(key, entries[key])
        following = keys[number + 1] if number + 1 < len(keys) else None
        if following is None or block.size >= _BLOCK_SIZE:
            made = block.bytes()
            index.add(_separator(key, following), varint(len(data)) + varint(len(made) - _TRAILER))
            data += made
            block = _Block(_RESTARTS)
    nothing, directory = _Block(_RESTARTS).bytes(), index.bytes()
    handles = [(len(data), len(nothing)), (len(data) + len(nothing), len(directory))]
    footer = b"".join(varint(offset) + varint(size - _TRAILER) for offset, size in handles)
    return data + nothing + directory + footer.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


_RESTARTS = 16  # entries from one key that is stated whole to the next
_BLOCK_SIZE = 1 << 18
"""Bytes from which on a block is closed (TensorFlow's `table::Options`)."""


class _Block:
    """Entries that are written one after the other, with a whole key every so often."""

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._body = bytearray()
        self._restarts = [0]
        self._count = 0
        self._last = b""

    @property
    def size(self) -> int:
        """How many bytes it takes, but for its trailer."""
        return len(self._body) + 4 * len(self._restarts) + 4

    def add(self, key: bytes, value: bytes) -> None:
        """One more; keys ascend."""
        shared = 0
        if self._count == self._interval:
            self._restarts.append(len(self._body))
            self._count = 0
        elif self._count:
            shared = _in_common(self._last, key)
        self._body += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        self._last = key
        self._count += 1

    def bytes(self) -> bytes:
        """The block with its trailer, which says that nothing is compressed."""
        made = bytes(self._body) + struct.pack(f"<{len(self._restarts) + 1}I", *self._restarts, len(self._restarts))
        return made + b"\0" + struct.pack("<I", masked(crc32c(made + b"\0")))


def _in_common(left: bytes, right: bytes) -> int:
    """How many bytes at their beginnings are the same."""
    length = min(len(left), len(right))
    return next((number for number in range(length) if left[number] != right[number]), length)


def _separator(key: bytes, following: bytes | None) -> bytes:
    """A short key from one to before the next: of the last key one that is no less than it."""
    if following is None:
        at = next((number for number, byte in enumerate(key) if byte < 255), len(key))
        return key[:at] + bytes([key[at] + 1]) if at < len(key) else key
    at = _in_common(key, following)
    if at < min(len(key), len(following)) and key[at] < 255 and key[at] + 1 < following[at]:
        return key[:at] + bytes([key[at] + 1])
    return key
