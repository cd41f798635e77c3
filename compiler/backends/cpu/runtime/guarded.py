"""Calls in which a byte that is none of the program's shows: all its memory lies between pages that nobody may touch.

Every array and the arena of a call get memory of their own, right before a page without access (or right behind one),
filled with 0xA5 before.  So a read or a write of a foreign byte ends the process in the call that does it, and a read
of a byte that nobody wrote gives the same wrong result every time.  What lies between the end of an array and the page,
because the array starts at a multiple of its elements' size, must be as it was after the call.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext

import numpy as np

from compiler.backends.cpu.runtime import bounds
from compiler.backends.cpu.runtime.arguments import Array, Leaf, convert
from compiler.backends.cpu.runtime.entry import Program
from compiler.backends.cpu.runtime.threads import pointers, pool

_PAGE = mmap.PAGESIZE
_POISON = 0xA5
"""The byte with which fresh memory is filled: no small number, no NaN of all ones."""
_ALIGNMENT = 16  # what NumPy's own allocator gives at least, and generated code may rely on

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_NOT_MAPPED = ctypes.c_void_p(-1).value


class ForeignMemory(Exception):
    """A compiled program changed memory that is not its own."""


def call(program: Program, *inputs: object, at_end: bool = True, watched: bool = False) -> list[Array]:
    """Run a program as its entry does, with every array and the arena before such a page, or behind one.

    Args:
        program: the compiled program.
        inputs: arrays of its parameters' types and shapes.
        at_end: whether the page without access lies behind each array, not before it.
        watched: whether the program checks its accesses; what it found is asked afterwards.

    Raises:
        ForeignMemory: the program changed an input.
    """
    arrays = convert(inputs, program.parameters)
    with ExitStack() as stack:
        arrays_ = [
            stack.enter_context(_guarded(leaf.size_bytes, _ALIGNMENT, str(leaf), at_end=at_end))
            for leaf in (*program.parameters, *program.results)
        ]
        given, made = arrays_[: len(arrays)], arrays_[len(arrays) :]
        for array, leaf, address in zip(arrays, program.parameters, given, strict=True):
            if array.size:
                _view(leaf, address)[...] = array
        arena = stack.enter_context(_guarded(program.arena_bytes, _PAGE, "the arena", at_end=at_end))
        with pool().eager(), bounds.watched() if watched else nullcontext():
            program.run(pointers(given), pointers(made), arena)
        for number, (array, leaf, address) in enumerate(zip(arrays, program.parameters, given, strict=True)):
            if array.size and _view(leaf, address).tobytes() != array.tobytes():
                raise ForeignMemory(f"the program changed parameter {number}, {leaf}")
        return [
            _view(leaf, address).copy() if leaf.size_bytes else np.empty(leaf.shape, leaf.dtype)
            for leaf, address in zip(program.results, made, strict=True)
        ]


@contextmanager
def _guarded(size_bytes: int, alignment: int, name: str, *, at_end: bool) -> Iterator[int]:
    """The address of poisoned memory between two pages without access; what is around it is looked at afterwards."""
    inner = -(-max(1, size_bytes) // _PAGE) * _PAGE
    base = _libc.mmap(
        None, inner + 2 * _PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANON, -1, 0
    )
    if base == _NOT_MAPPED:
        raise MemoryError(f"{size_bytes} bytes between guard pages for {name} are not to be had")
    start, end = base + _PAGE, base + _PAGE + inner
    for page in (base, end):
        _libc.mprotect(page, _PAGE, 0)
    ctypes.memset(start, _POISON, inner)
    address = (end - size_bytes) // alignment * alignment if at_end else start
    try:
        yield address
        for first, last in ((start, address), (address + size_bytes, end)):
            if bytes((ctypes.c_ubyte * (last - first)).from_address(first)).strip(bytes([_POISON])):
                raise ForeignMemory(f"the program wrote outside of {name}, within {_PAGE} bytes of its {size_bytes}")
    finally:
        _libc.munmap(base, inner + 2 * _PAGE)


def _view(leaf: Leaf, address: int) -> Array:
    raw = np.ctypeslib.as_array((ctypes.c_ubyte * leaf.size_bytes).from_address(address))
    return raw.view(leaf.dtype).reshape(leaf.shape)
