"""Recycled memory for results and arenas: a page is touched for the first time once, not once per call.

First touch costs more than most kernels: 2.4 GB/s with 4 KiB pages against 15 GB/s of the memory itself.  So blocks
(`blocks.ll`) go back to a free list, last in first out, when their array and every view of it are dead, or, for
arenas, when the call is over.  Results below 64 KiB are plain NumPy arrays: malloc recycles those well by itself.

Generated code calls the allocator directly; this is the same for Python, and its dials.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.backends.cpu.runtime.blocks import blocks


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and sizes of the recycled memory now."""

    cached_bytes: int
    mapped_bytes: int
    limit_bytes: int
    blocks_in_use: int


def statistics() -> Statistics:
    """The memory that is kept, mapped and in use, in bytes."""
    return Statistics(*(ctypes.c_int64 * 4).from_address(blocks().statistics))


def set_limit(limit_bytes: int) -> None:
    """Bound how many bytes are kept free for later calls; applies to what is returned from now on."""
    (ctypes.c_int64 * 4).from_address(blocks().statistics)[2] = max(0, limit_bytes)


def set_poison(byte: int | None) -> None:
    """Fill results and arenas with a byte before they are handed out, to show reads of what nobody wrote."""
    ctypes.c_int32.from_address(blocks().poison).value = -1 if byte is None else byte & 255


def empty(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """Return an array with undefined contents, in recycled memory where it is large."""
    dims = (ctypes.c_ssize_t * len(shape))(*shape)
    size_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
    array: np.ndarray[Any, np.dtype[Any]] = _NEW_ARRAY_TYPE(blocks().new_array)(dtype, len(shape), dims, size_bytes)
    return array


@contextmanager
def lease(size_bytes: int) -> Iterator[int]:
    """Lend the address of a page-aligned block of at least that size, 0 for none, until the `with` block ends.

    Raises:
        MemoryError: there is no block of that size.
    """
    if not size_bytes:
        yield 0
        return
    token = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(blocks().acquire)(size_bytes)
    if not token:
        raise MemoryError(f"no arena of {size_bytes} bytes to be had")
    try:
        yield token & -4096
    finally:
        ctypes.PYFUNCTYPE(None, ctypes.c_int64)(blocks().release)(token)


_NEW_ARRAY_TYPE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
