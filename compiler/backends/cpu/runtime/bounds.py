"""The functions that a program compiled for checked bounds calls before each access, and what they have noted.

Two chunks of a phase may run at once, so neither may write what the other touches, be it of an array or of scratch
memory that was cut up for them.  On threads that shows in few calls of many.  Here the thread that calls does one chunk
after the other, and each element that is touched is put on record with its chunk, so it shows in every call.

They are the same for all programs, so there is one record in a process: `watched` lets one call run at a time.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.backends.cpu.runtime import native
from compiler.backends.cpu.runtime.threads import pool
from compiler.codegen import llvm

PREFIX = "bounds."
CHECKS = ("check", "check_length", "check_lanes")
"""The functions that compare with bounds, without the prefix under which programs know them."""
TOUCHES = ("begin", "end", "touch", "touch_lanes")
"""Those that put on record what each chunk of a phase touches."""

_CELL_BITS = 22
"""So many numbers name an element on record: of so many bytes next to each other none takes another's cell."""
_CELL_BYTES = 16
"""Bytes of what is on record of an element: its address, and who has touched it (`bounds.ll`)."""
_SEVERAL = (1 << 23) - 1
"""What stands in place of a chunk where several have read something."""
_RACE = 2
"""What is noted of a race (`bounds.ll`)."""
_WORDS = 5
"""Words of 64 bits that native code leaves behind of a failed check (`bounds.ll`)."""
_RUNNING = threading.Lock()


class OutOfBounds(Exception):
    """Generated code reads, or writes, outside of the array that it computed the address from."""


class ChunkRace(Exception):
    """Two chunks of a phase, which threads may run at once, touch the same memory, and one of them writes it."""


@dataclass(frozen=True, slots=True)
class _Native:
    record: int
    functions: Mapping[str, int]
    _library: llvm.Library
    _cells: mmap.mmap


@native.once
def _native() -> _Native:
    # Its pages come into being as they are touched, and are a process's own after it was forked.
    cells = mmap.mmap(-1, _CELL_BYTES << _CELL_BITS, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    table = native.pointer(ctypes.addressof(ctypes.c_char.from_buffer(cells)))
    code = native.text("bounds", cells=table, cell_bits=_CELL_BITS, cell_mask=(1 << _CELL_BITS) - 1)
    library = native.link(code, ["record", *CHECKS, *TOUCHES])
    functions = {f"{PREFIX}{name}": library.address(name) for name in (*CHECKS, *TOUCHES)}
    return _Native(library.address("record"), functions, library, cells)


def imports() -> Mapping[str, int]:
    """The addresses of the functions, by the names under which programs call them."""
    return _native().functions


@contextmanager
def watched() -> Iterator[None]:
    """Run a call, chunk by chunk; the first access of it that was wrong is raised behind it.

    Raises:
        OutOfBounds: it was out of bounds, or not aligned as it said.
        ChunkRace: it was of what another chunk of the same phase has touched, and either wrote.
    """
    with _RUNNING, pool().backwards():
        record = (ctypes.c_int64 * _WORDS).from_address(_native().record)
        record[0] = 0
        yield
        found, site, *numbers = record
        if found:
            what = ctypes.string_at(site).decode()
            raise (_race if found == _RACE else _out_of_bounds)(what, *numbers)


def _out_of_bounds(what: str, offset: int, size: int, extent: int) -> OutOfBounds:
    aligned = "" if offset < 0 or offset + size > extent else ", which is not aligned so"
    return OutOfBounds(f"{what}: {size} bytes at byte {offset} of {extent}{aligned}")


def _race(what: str, chunk: int, other: int, how: int) -> ChunkRace:
    before, present = ("read", "written")[how & 1], ("reads", "writes")[how >> 1]
    others = "several chunks" if other == _SEVERAL else f"chunk {other}"
    have = "have" if other == _SEVERAL else "has"
    return ChunkRace(f"{what}: chunk {chunk} {present} what {others} of the same phase {have} {before}")
