"""Large arrays between the memory of the caller and page-locked memory, which is all that a device reaches by itself.

A copy by one core is slower than the bus, and fresh memory for results is slower still, since its pages are made when
they are first touched.  So large arrays go in pieces, by several threads, and a piece is on its way to the device while
the next ones are copied.  Small ones are part of the captured graph: one copy, and nobody to wake.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from compiler.backends.nvptx.device import Array, Device

PIECE_BYTES = 2 << 20
"""A piece of an array: long enough for a full-speed transfer, short enough that the first one soon starts (chosen)."""
LARGE_BYTES = 2 * PIECE_BYTES
"""Arrays of so many bytes go in pieces."""
_THREADS = 4
"""A core copies about 10 GB/s; the bus of an H100 takes up to 50."""


def is_large(array: Array) -> bool:
    """Whether an array goes in pieces."""
    return array.nbytes >= LARGE_BYTES


def upload(device: Device, address: int, pinned: Array, array: Array) -> None:
    """Copy an array to the device by way of page-locked memory; before the work that is put on the first stream next.

    Args:
        device: where it goes.
        address: the memory there.
        pinned: page-locked memory of the same form, which nothing uses any more.
        array: contiguous.
    """
    source, target = _bytes_of(array), _bytes_of(pinned)

    def move(piece: slice) -> None:
        target[piece] = source[piece]
        device.upload(address + piece.start, target[piece])

    list(_workers().map(move, _pieces(array.nbytes)))


def copied(pinned: Array) -> Array:
    """An array of the caller's own with what is in page-locked memory."""
    if not is_large(pinned):
        return pinned.copy()
    result = np.empty_like(pinned)
    source, target = _bytes_of(pinned), _bytes_of(result)

    def move(piece: slice) -> None:
        target[piece] = source[piece]

    list(_workers().map(move, _pieces(pinned.nbytes)))
    return result


@functools.cache
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="nvptx-transfer")


def _pieces(size_bytes: int) -> Iterator[slice]:
    for start in range(0, size_bytes, PIECE_BYTES):
        yield slice(start, min(start + PIECE_BYTES, size_bytes))


def _bytes_of(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
