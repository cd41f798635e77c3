"""Checkpoints and tables of bytes, written as their descriptions say and not by what reads them."""

import itertools
import struct

import numpy as np

from compiler.graph.checksum import crc32c, masked

MAGIC = 0xDB4775248B80FB57


def varint(number):
    return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])


def in_common(left, right):
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def block(rows, *, kind=0, shared=None, restarts=None):
    """A block of entries with one place to start at, and what follows it."""
    body, last = b"", b""
    for key, value in rows:
        kept = in_common(last, key) if shared is None else shared
        body += varint(kept) + varint(len(key) - min(kept, len(key))) + varint(len(value)) + key[kept:] + value
        last = key
    body += struct.pack("<II", 0, 1 if restarts is None else restarts)
    trailer = bytes([kind])
    return body + trailer + struct.pack("<I", masked(crc32c(body + trailer)))


def table(rows, entries=16, **block_options):
    """A table of these rows in their order, with so many entries in a block."""
    data, index = b"", []
    pending = iter(rows.items())
    while part := list(itertools.islice(pending, entries)):
        made = block(part, **block_options)
        index.append((part[-1][0], varint(len(data)) + varint(len(made) - 5)))
        data += made
    none, directory = block([]), block(index)
    handles = varint(len(data)) + varint(len(none) - 5) + varint(len(data) + len(none)) + varint(len(directory) - 5)
    return data + none + directory + handles.ljust(40, b"\0") + struct.pack("<Q", MAGIC)


def write_checkpoint(prefix, arrays, messages, **changes):
    """The two files of a checkpoint; `messages` are the classes of its messages, `changes` are made to each entry.

    Among these `shape` are the sizes that it says.
    """
    shape = changes.pop("shape", None)
    header = messages["BundleHeaderProto"](num_shards=1, endianness=changes.pop("endianness", 0))
    rows, data = {b"": header.SerializeToString()}, b""
    for key, (number, array) in sorted(arrays.items()):
        raw = np.ascontiguousarray(array).tobytes()
        entry = messages["BundleEntryProto"](dtype=number, offset=len(data), size=len(raw))
        entry.shape.SetInParent()
        for size in np.shape(array) if shape is None else shape:
            entry.shape.dim.add(size=size)
        for name, value in changes.items():
            setattr(entry, name, value)
        rows[key.encode()] = entry.SerializeToString()
        data += raw
    prefix.parent.mkdir(parents=True, exist_ok=True)
    prefix.with_name(f"{prefix.name}.index").write_bytes(table(rows))
    prefix.with_name(f"{prefix.name}.data-00000-of-00001").write_bytes(data)
