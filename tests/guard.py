"""A pytest plug-in (`-p tests.guard`): compiled programs run between pages that nobody may touch.

Every array and the arena of every call get memory of their own, right before a page without access (`--guard end`, the
default) or right behind one (`--guard start`), and all of it is filled with 0xA5 before; so a read or a write of a
foreign byte is a segmentation fault in the test that does it, and a read of an unwritten byte changes a result.
What lies between the end of an array and the page, because the array starts at a multiple of its elements' size, must
be as it was after the call.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pytest

from compiler.backends.cpu.runtime import entry
from compiler.backends.cpu.runtime.arguments import Array, Leaf, convert
from compiler.backends.cpu.runtime.threads import pool

PAGE = mmap.PAGESIZE
POISON = 0xA5
ALIGNMENT = 16
"""What NumPy's own allocator gives at least, and generated code may rely on."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


@contextmanager
def guarded(size_bytes: int, alignment: int, *, at_end: bool) -> Iterator[int]:
    """The address of poisoned memory between two pages without access; checked at the end of the `with` block."""
    inner = -(-max(1, size_bytes) // PAGE) * PAGE
    base = _libc.mmap(None, inner + 2 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANON, -1, 0)
    start, end = base + PAGE, base + PAGE + inner
    for page in (base, end):
        _libc.mprotect(page, PAGE, 0)
    ctypes.memset(start, POISON, inner)
    address = (end - size_bytes) // alignment * alignment if at_end else start
    try:
        yield address
        for first, last in ((start, address), (address + size_bytes, end)):
            around = (ctypes.c_ubyte * (last - first)).from_address(first)
            assert bytes(around) == bytes([POISON]) * (last - first), "a program wrote outside of its arrays"
    finally:
        _libc.munmap(base, inner + 2 * PAGE)


def _view(leaf: Leaf, address: int) -> Array:
    raw = (ctypes.c_ubyte * leaf.size_bytes).from_address(address)
    return np.frombuffer(raw, leaf.dtype).reshape(leaf.shape)


def _pointers(addresses: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)


def call(program: entry._Program, *inputs: object, at_end: bool = True) -> list[Array]:
    """Run a program as `Entry` does, with every array and the arena between guard pages."""
    arrays = convert(inputs, program.parameters)
    with ExitStack() as stack:
        places = [
            stack.enter_context(guarded(leaf.size_bytes, ALIGNMENT, at_end=at_end))
            for leaf in (*program.parameters, *program.results)
        ]
        given, made = places[: len(arrays)], places[len(arrays) :]
        for array, leaf, address in zip(arrays, program.parameters, given, strict=True):
            if array.size:
                _view(leaf, address)[...] = array
        arena = stack.enter_context(guarded(program.arena_bytes, PAGE, at_end=at_end))
        pool().run(program.address, _pointers(given), _pointers(made), arena, threads=program.threads)
        for number, (array, leaf, address) in enumerate(zip(arrays, program.parameters, given, strict=True)):
            left = _view(leaf, address).tobytes() if array.size else b""
            assert left == array.tobytes(), f"the program changed parameter {number}"
        return [
            _view(leaf, address).copy() if leaf.size_bytes else np.empty(leaf.shape, leaf.dtype)
            for leaf, address in zip(program.results, made, strict=True)
        ]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ask on which side of the arrays the page without access is nearer."""
    parser.addoption("--guard", choices=("end", "start"), default="end", help="where arrays touch a guard page")


def pytest_configure(config: pytest.Config) -> None:
    """Let every program that is compiled from now on be called in this way."""
    entry.layout.layouts_hold = lambda: False
    entry._call_portably = partial(call, at_end=config.getoption("guard") == "end")


def pytest_report_header(config: pytest.Config) -> str:
    """Say so."""
    return f"compiled programs run between guard pages, which arrays touch at their {config.getoption('guard')}"
