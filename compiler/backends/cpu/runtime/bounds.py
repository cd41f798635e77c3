"""The functions that a program compiled for checked bounds calls before each access, and what they have noted.

They are the same for all programs, so there is one record in a process: `watched` lets one call run at a time.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.backends.cpu.runtime import native
from compiler.codegen import llvm

PREFIX = "bounds."
CHECKS = ("check", "check_length", "check_lanes")
"""The functions, without the prefix under which programs know them."""

_WORDS = 5
"""Words of 64 bits that native code leaves behind of a failed check (`bounds.ll`)."""
_RUNNING = threading.Lock()


class OutOfBounds(Exception):
    """Generated code reads, or writes, outside of the array that it computed the address from."""


@dataclass(frozen=True, slots=True)
class _Native:
    record: int
    functions: Mapping[str, int]
    _library: llvm.Library


@native.once
def _native() -> _Native:
    library = native.link(native.text("bounds"), ["record", *CHECKS])
    functions = {f"{PREFIX}{name}": library.address(name) for name in CHECKS}
    return _Native(library.address("record"), functions, library)


def imports() -> Mapping[str, int]:
    """The addresses of the functions, by the names under which programs call them."""
    return _native().functions


@contextmanager
def watched() -> Iterator[None]:
    """Run a call; the first access of it that was out of bounds, or not aligned as it said, is raised behind it."""
    with _RUNNING:
        record = (ctypes.c_int64 * _WORDS).from_address(_native().record)
        record[0] = 0
        yield
        found, site, offset, size, extent = record
        if found:
            what = ctypes.string_at(site).decode()
            aligned = "" if offset < 0 or offset + size > extent else ", which is not aligned so"
            raise OutOfBounds(f"{what}: {size} bytes at byte {offset} of {extent}{aligned}")
