"""Offsets of the fields of CPython's and NumPy's objects, for native code that reads them without asking.

The offsets are those of 64-bit builds with the interpreter lock since NumPy 1.7; `layouts_hold` compares them with what
the objects say of themselves, on this interpreter, before anything relies on them.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# The type of any object, then the fields of an array, then the contents of a `bytes`.
TYPE, DATA, RANK, DIMS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
BYTES_DATA = bytes.__basicsize__ - 1

CONTIGUOUS_ALIGNED = 0x101
"""NumPy's flags `NPY_ARRAY_C_CONTIGUOUS` and `NPY_ARRAY_ALIGNED` (its C API)."""
BEHAVED = CONTIGUOUS_ALIGNED | 0x400
"""Contiguous, aligned and writeable: the flags of an array that owns its block."""


@functools.cache
def layouts_hold() -> bool:
    """Whether this interpreter and this NumPy keep the fields of their objects where native code looks for them."""
    if np.ndarray.__basicsize__ < FLAGS + 4:
        return False
    samples: list[Array] = [np.zeros((2, 3, 5), np.float32), np.zeros(7, np.int8)[::2], np.zeros((), np.complex128)]
    table = b"a table of words"
    return (
        all(_reads_back(sample) for sample in samples) and ctypes.string_at(id(table) + BYTES_DATA, len(table)) == table
    )


def _reads_back(array: Array) -> bool:
    base, word = id(array), ctypes.c_int64
    flags = ctypes.c_int32.from_address(base + FLAGS).value
    dims = word.from_address(base + DIMS).value
    return (
        word.from_address(base + TYPE).value == id(np.ndarray)
        and word.from_address(base + DATA).value == array.ctypes.data
        and ctypes.c_int32.from_address(base + RANK).value == array.ndim
        and word.from_address(base + DESCR).value == id(array.dtype)
        and (flags & CONTIGUOUS_ALIGNED == CONTIGUOUS_ALIGNED) == array.flags.c_contiguous
        and (not dims or tuple((word * array.ndim).from_address(dims)) == array.shape)
    )
