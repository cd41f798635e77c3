"""The allocator behind recycled memory, in native code: free lists of blocks, and NumPy arrays in them.

Sizes are rounded up to four classes per power of two.  A block of 2 MiB or more is a mapping of its own, aligned for
huge pages and unmapped when the free blocks exceed the limit, those of other sizes first.  Smaller ones are cut from
larger mappings and stay; over the limit they grow cold, that is, their pages are given back.  A block is named by a
token: its address, with the class in the low 12 bits, which are zero in an address.

An array in a block has a capsule as its base, whose destructor returns the block: nothing of Python runs there, so it
may happen anywhere, in the garbage collector too.  The lock is held for a few instructions, never while Python runs.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from dataclasses import dataclass

from compiler.backends.cpu.runtime import layout, native
from compiler.codegen import llvm

RECYCLED_FROM_BYTES = 1 << 16
"""Bytes of a block that is kept for another call: 16 pages; smaller ones NumPy's own allocator recycles."""
_DEFAULT_LIMIT_BYTES = 1 << 30
"""Bytes that are kept for later results at most."""

# Places in the table of NumPy's C API, part of its stable binary interface.
_ARRAY_TYPE, _NEW_FROM_DESCR, _SET_BASE_OBJECT = 2, 94, 282


@dataclass(frozen=True, slots=True)
class Blocks:
    """The native allocator: addresses of its functions, for generated code."""

    _library: llvm.Library
    new_array: int
    acquire: int
    release: int
    statistics: int
    poison: int


@native.once
def blocks() -> Blocks:
    """The allocator of this process, compiled when first asked for."""
    capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    table = ctypes.cast(
        capsule_pointer(vars(importlib.import_module("numpy._core._multiarray_umath"))["_ARRAY_API"], None),
        ctypes.POINTER(ctypes.c_int64),
    )
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    code = native.text(
        "blocks",
        new_from_descr=native.pointer(table[_NEW_FROM_DESCR]),
        set_base_object=native.pointer(table[_SET_BASE_OBJECT]),
        array_type=native.pointer(table[_ARRAY_TYPE]),
        data=layout.DATA,
        behaved=layout.BEHAVED,
        recycled_from=RECYCLED_FROM_BYTES,
        limit=min(_DEFAULT_LIMIT_BYTES, memory_bytes // 4),
    )
    exports = ("new_array", "acquire", "release", "statistics", "poison", "drop_lock")
    library = native.link(code, exports)
    os.register_at_fork(after_in_child=library.function("drop_lock", None))
    return Blocks(library, **{name: library.address(name) for name in exports[:-1]})
