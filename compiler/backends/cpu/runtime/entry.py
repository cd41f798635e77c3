"""The call from Python: a compiled program as a built-in function that takes arrays and returns a list of arrays.

A call of a small program costs what its way through Python costs, so there is as little Python as possible: the
callable is a built-in whose C function is `entry.ll`, compiled once per process, and driven by a table per program
(`_table`).  It reads the arguments' array objects (exact type, the dtype by identity, rank, dimensions, contiguity,
alignment, data pointer), makes the results and leases the arena (`blocks`), gives up the interpreter lock where the
program is worth it, and runs the program on this thread or in the pool (`threads`).

What does not fit as it is goes to `_Remainder` in Python, which converts or complains and calls again; so does the
first call of a program for more threads than the pool has.  Where objects are not laid out as `layout` says, every
call goes through `_call_portably`.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.backends.cpu.runtime import layout, memory, native
from compiler.backends.cpu.runtime.arguments import Array, Leaf, convert
from compiler.backends.cpu.runtime.blocks import blocks
from compiler.backends.cpu.runtime.threads import Pointers, pointers, pool
from compiler.codegen import llvm

_METH_FASTCALL = 0x80
"""CPython's flag for functions that take an array of arguments (`methodobject.h`)."""


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_INVOKE_TYPE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)
_new_builtin = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object, ctypes.c_void_p
)(("PyCMethod_New", ctypes.pythonapi))


@dataclass(slots=True)
class Entry:
    """A compiled program that can be called: `entry(*inputs) -> list of results`, fresh arrays every time.

    `call` is the same as a built-in function, without the 0.1 us that calling a Python object costs.  `keep` is held as
    long as either lives: whatever owns the code at `program_address`.  `work` is how long what its threads share takes
    on one, about, in ns.  A program that takes less than some 20 us is
    better run with the interpreter lock held (`release_gil=False`, one thread only).
    """

    program_address: int
    parameters: Sequence[Leaf]
    results: Sequence[Leaf]
    arena_bytes: int
    threads: int = field(kw_only=True)
    work: int = field(kw_only=True, default=0)
    keep: object = field(kw_only=True)
    release_gil: bool = field(kw_only=True, default=True)
    call: Callable[..., list[Array]] = field(init=False)

    def __post_init__(self) -> None:
        self.parameters = tuple(map(_normalised, self.parameters))
        self.results = tuple(map(_normalised, self.results))
        remainder = _Remainder(self.parameters, self.threads)
        if not layout.layouts_hold():
            self.call = functools.partial(_call_portably, self.snapshot())
            return
        compiled = _native()
        remainder.table = self._table(id(remainder))
        owned = (self.keep, remainder, self.parameters, self.results)
        self.call = _new_builtin(ctypes.addressof(compiled.definition), remainder.table, owned, None)

    def __call__(self, *inputs: object) -> list[Array]:
        """Run the program."""
        return self.call(*inputs)

    def snapshot(self) -> Program:
        """The program without its callable, so that the callable can own it."""
        return Program(
            self.program_address, self.parameters, self.results, self.arena_bytes, self.threads, self.work, self.keep
        )

    def _table(self, remainder: int) -> bytes:
        releases = self.release_gil or self.threads > 1
        words = [
            remainder,
            self.program_address,
            len(self.parameters),
            len(self.results),
            self.arena_bytes,
            self.threads,
            int(releases),
            self.work,
        ]
        for leaf in (*self.parameters, *self.results):
            words += [id(leaf.dtype), leaf.size_bytes, len(leaf.shape), *leaf.shape]
        return struct.pack(f"{len(words)}q", *words)


def _normalised(leaf: tuple[Any, ...]) -> Leaf:
    # Arrays refer to the one dtype object of their scalar type, which is what native code compares with.
    dtype, *rest = leaf
    return Leaf(np.dtype(dtype.type), *rest)


@dataclass(frozen=True, slots=True)
class Program:
    """All that a call has to know."""

    address: int
    parameters: Sequence[Leaf]
    results: Sequence[Leaf]
    arena_bytes: int
    threads: int
    work: int
    keep: object

    def run(self, given: Pointers, made: Pointers, arena: int) -> None:
        """Run it on arrays at these addresses.

        Args:
            given: addresses of the parameters.
            made: addresses of the results.
            arena: that of the scratch memory.
        """
        pool().run(self.address, given, made, arena, threads=self.threads, work=self.work)


@dataclass(slots=True)
class _Remainder:
    """What native code leaves to Python: inputs that do not fit as they are, and a pool that is too small."""

    parameters: Sequence[Leaf]
    threads: int
    table: bytes = b""

    def __call__(self, *inputs: object) -> list[Array]:
        """Convert the inputs, fill the pool, and call again."""
        arrays = convert(inputs, self.parameters)
        if self.threads > 1:
            pool().ensure(self.threads)
        vector: Any = ctypes.py_object * len(arrays)
        answer: list[Array] = _native().invoke(self.table, vector(*arrays), len(arrays))
        return answer


def _call_portably(program: Program, *inputs: object) -> list[Array]:
    arrays = convert(inputs, program.parameters)
    results = [memory.empty(leaf.shape, leaf.dtype) for leaf in program.results]
    given, made = (pointers(array.ctypes.data for array in group) for group in (arrays, results))
    with memory.lease(program.arena_bytes) as arena:
        program.run(given, made, arena)
    return results


@dataclass(frozen=True, slots=True)
class _Native:
    invoke: Callable[..., Any]
    definition: _MethodDef
    _library: llvm.Library


@native.once
def _native() -> _Native:
    allocator, workers = blocks(), pool()
    code = native.text(
        "entry",
        run=native.pointer(workers.run_address),
        capacity=native.pointer(workers.capacity_address),
        new_array=native.pointer(allocator.new_array),
        acquire=native.pointer(allocator.acquire),
        release=native.pointer(allocator.release),
        ndarray=id(np.ndarray),
        contiguous_aligned=layout.CONTIGUOUS_ALIGNED,
        bytes_data=layout.BYTES_DATA,
        type=layout.TYPE,
        data=layout.DATA,
        rank=layout.RANK,
        dims=layout.DIMS,
        descr=layout.DESCR,
        flags=layout.FLAGS,
    )
    library = native.link(code, ["call"])
    address = library.address("call")
    definition = _MethodDef(b"entry", address, _METH_FASTCALL, b"Run a compiled program on arrays.")
    return _Native(_INVOKE_TYPE(address), definition, library)
