"""The call from Python: a compiled program as a built-in function that takes arrays and returns a list of arrays.

A call of a small program costs what its way through Python costs, so there is as little Python as possible: the
callable is a built-in whose C function is generated here, once per process, and driven by a table per program
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
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.backends.cpu import layout, memory
from compiler.backends.cpu.arguments import Array, Leaf, convert
from compiler.backends.cpu.blocks import blocks
from compiler.backends.cpu.threads import pool
from compiler.codegen import llvm

# Compiling takes a third of the time of level 1, and a call as long.
_OPT = 0

# Whoever comes first makes the one of this process; the others wait for it.
_MAKING = threading.Lock()
_METH_FASTCALL = 0x80

_IR = """
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define internal i64 @word(ptr %table, i64 %index) alwaysinline nounwind {
  %place = getelementptr i64, ptr %table, i64 %index
  %word = load i64, ptr %place
  ret i64 %word
}

; Whether an object is an array as the row of the table says: dtype, rank, dimensions.
define internal i1 @fits(ptr %object, ptr %row) nounwind {
entry:
  %at_type = getelementptr i8, ptr %object, i64 TYPE
  %type = load i64, ptr %at_type
  %is_array = icmp eq i64 %type, NDARRAY
  br i1 %is_array, label %fields, label %no
fields:
  %at_descr = getelementptr i8, ptr %object, i64 DESCR
  %descr = load i64, ptr %at_descr
  %want_descr = call i64 @word(ptr %row, i64 0)
  %same_descr = icmp eq i64 %descr, %want_descr
  %at_rank = getelementptr i8, ptr %object, i64 RANK
  %rank32 = load i32, ptr %at_rank
  %rank = sext i32 %rank32 to i64
  %want_rank = call i64 @word(ptr %row, i64 2)
  %same_rank = icmp eq i64 %rank, %want_rank
  %at_flags = getelementptr i8, ptr %object, i64 FLAGS
  %flags = load i32, ptr %at_flags
  %needed = and i32 %flags, CONTIGUOUS_ALIGNED
  %usable = icmp eq i32 %needed, CONTIGUOUS_ALIGNED
  %same = and i1 %same_descr, %same_rank
  %good = and i1 %same, %usable
  br i1 %good, label %shape, label %no
shape:
  %at_dims = getelementptr i8, ptr %object, i64 DIMS
  %dims = load ptr, ptr %at_dims
  %want_dims = getelementptr i64, ptr %row, i64 3
  br label %dimension
dimension:
  %axis = phi i64 [ 0, %shape ], [ %following, %compare ]
  %all = icmp eq i64 %axis, %rank
  br i1 %all, label %yes, label %compare
compare:
  %extent = call i64 @word(ptr %dims, i64 %axis)
  %want_extent = call i64 @word(ptr %want_dims, i64 %axis)
  %following = add i64 %axis, 1
  %equal = icmp eq i64 %extent, %want_extent
  br i1 %equal, label %dimension, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal ptr @data_of(ptr %array) alwaysinline nounwind {
  %place = getelementptr i8, ptr %array, i64 DATA
  %data = load ptr, ptr %place
  ret ptr %data
}

define internal ptr @row_after(ptr %row) alwaysinline nounwind {
  %rank = call i64 @word(ptr %row, i64 2)
  %words = add i64 %rank, 3
  %next = getelementptr i64, ptr %row, i64 %words
  ret ptr %next
}

define internal void @execute(ptr %table, ptr %parameters, ptr %results, ptr %arena) nounwind {
  %address = call i64 @word(ptr %table, i64 1)
  %program = inttoptr i64 %address to ptr
  %threads = call i64 @word(ptr %table, i64 5)
  %single = icmp eq i64 %threads, 1
  br i1 %single, label %alone, label %together
alone:
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr null, i64 0, i64 1)
  ret void
together:
  call void RUN(ptr %program, ptr %parameters, ptr %results, ptr %arena, i64 %threads)
  ret void
}

; Leases the arena and runs; false with an exception set where there is no memory for it.
define internal i1 @perform(ptr %table, ptr %parameters, ptr %results) {
entry:
  %bytes = call i64 @word(ptr %table, i64 4)
  %frugal = icmp eq i64 %bytes, 0
  br i1 %frugal, label %ready, label %lease
lease:
  %leased = call i64 ACQUIRE(i64 %bytes)
  %failed = icmp eq i64 %leased, 0
  br i1 %failed, label %out_of_memory, label %ready
out_of_memory:
  %null = call ptr @PyErr_NoMemory()
  ret i1 false
ready:
  %token = phi i64 [ 0, %entry ], [ %leased, %lease ]
  %address = and i64 %token, -4096
  %arena = inttoptr i64 %address to ptr
  %releases = call i64 @word(ptr %table, i64 6)
  %holds = icmp eq i64 %releases, 0
  br i1 %holds, label %holding, label %releasing
holding:
  call void @execute(ptr %table, ptr %parameters, ptr %results, ptr %arena)
  br label %ran
releasing:
  %state = call ptr @PyEval_SaveThread()
  call void @execute(ptr %table, ptr %parameters, ptr %results, ptr %arena)
  call void @PyEval_RestoreThread(ptr %state)
  br label %ran
ran:
  br i1 %frugal, label %done, label %return
return:
  call void RELEASE(i64 %token)
  br label %done
done:
  ret i1 true
}

define ptr @call(ptr %self, ptr %arguments, i64 %count) {
entry:
  %table = getelementptr i8, ptr %self, i64 BYTES_DATA
  %parameters = call i64 @word(ptr %table, i64 2)
  %results = call i64 @word(ptr %table, i64 3)
  %threads = call i64 @word(ptr %table, i64 5)
  %workers = load atomic i64, ptr WORKERS monotonic, align 8
  %short = sub i64 %threads, 1
  %enough = icmp ule i64 %short, %workers
  %complete = icmp eq i64 %count, %parameters
  %may = and i1 %enough, %complete
  %rows = getelementptr i64, ptr %table, i64 7
  %pointers = add i64 %parameters, %results
  %ins = alloca ptr, i64 %pointers
  %outs = getelementptr ptr, ptr %ins, i64 %parameters
  br i1 %may, label %parameter, label %remainder
parameter:
  %i = phi i64 [ 0, %entry ], [ %next_i, %take ]
  %row = phi ptr [ %rows, %entry ], [ %next_row, %take ]
  %checked = icmp eq i64 %i, %parameters
  br i1 %checked, label %make, label %check
check:
  %at = getelementptr ptr, ptr %arguments, i64 %i
  %object = load ptr, ptr %at
  %fits = call i1 @fits(ptr %object, ptr %row)
  br i1 %fits, label %take, label %remainder
take:
  %data = call ptr @data_of(ptr %object)
  %in = getelementptr ptr, ptr %ins, i64 %i
  store ptr %data, ptr %in
  %next_i = add i64 %i, 1
  %next_row = call ptr @row_after(ptr %row)
  br label %parameter
remainder:
  %slow = load ptr, ptr %table
  %answer = call ptr @PyObject_Vectorcall(ptr %slow, ptr %arguments, i64 %count, ptr null)
  ret ptr %answer
make:
  %list = call ptr @PyList_New(i64 %results)
  %no_list = icmp eq ptr %list, null
  br i1 %no_list, label %fail, label %result
result:
  %j = phi i64 [ 0, %make ], [ %next_j, %give ]
  %result_row = phi ptr [ %row, %make ], [ %next_result_row, %give ]
  %made = icmp eq i64 %j, %results
  br i1 %made, label %run, label %create
create:
  %descr = load ptr, ptr %result_row
  %bytes = call i64 @word(ptr %result_row, i64 1)
  %rank = call i64 @word(ptr %result_row, i64 2)
  %rank32 = trunc i64 %rank to i32
  %dims = getelementptr i64, ptr %result_row, i64 3
  %array = call ptr NEW_ARRAY(ptr %descr, i32 %rank32, ptr %dims, i64 %bytes)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %drop, label %give
give:
  %set = call i32 @PyList_SetItem(ptr %list, i64 %j, ptr %array)
  %target = call ptr @data_of(ptr %array)
  %out = getelementptr ptr, ptr %outs, i64 %j
  store ptr %target, ptr %out
  %next_j = add i64 %j, 1
  %next_result_row = call ptr @row_after(ptr %result_row)
  br label %result
run:
  %done = call i1 @perform(ptr %table, ptr %ins, ptr %outs)
  br i1 %done, label %return, label %drop
return:
  ret ptr %list
drop:
  call void @Py_DecRef(ptr %list)
  br label %fail
fail:
  ret ptr null
}
"""


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
    long as either lives: whatever owns the code at `program_address`.  A program that takes less than some 20 us is
    better run with the interpreter lock held (`release_gil=False`, one thread only).
    """

    program_address: int
    parameters: Sequence[Leaf]
    results: Sequence[Leaf]
    arena_bytes: int
    threads: int = field(kw_only=True)
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
        native = _native()
        remainder.table = self._table(id(remainder))
        owned = (self.keep, remainder, self.parameters, self.results)
        self.call = _new_builtin(ctypes.addressof(native.definition), remainder.table, owned, None)

    def __call__(self, *inputs: object) -> list[Array]:
        """Run the program."""
        return self.call(*inputs)

    def snapshot(self) -> _Program:
        """The program without its callable, so that the callable can own it."""
        return _Program(self.program_address, self.parameters, self.results, self.arena_bytes, self.threads, self.keep)

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
        ]
        for leaf in (*self.parameters, *self.results):
            words += [id(leaf.dtype), leaf.size_bytes, len(leaf.shape), *leaf.shape]
        return struct.pack(f"{len(words)}q", *words)


def _normalised(leaf: tuple[Any, ...]) -> Leaf:
    # Arrays refer to the one dtype object of their scalar type, which is what native code compares with.
    dtype, *rest = leaf
    return Leaf(np.dtype(dtype.type), *rest)


@dataclass(frozen=True, slots=True)
class _Program:
    address: int
    parameters: Sequence[Leaf]
    results: Sequence[Leaf]
    arena_bytes: int
    threads: int
    keep: object


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


def _call_portably(program: _Program, *inputs: object) -> list[Array]:
    arrays = convert(inputs, program.parameters)
    results = [memory.empty(leaf.shape, leaf.dtype) for leaf in program.results]
    with memory.lease(program.arena_bytes) as arena:
        pool().run(program.address, _pointers(arrays), _pointers(results), arena, threads=program.threads)
    return results


def _pointers(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


@dataclass(frozen=True, slots=True)
class _Native:
    invoke: Callable[..., Any]
    definition: _MethodDef
    _library: llvm.Library


def _native() -> _Native:
    with _MAKING:
        return _make()


@functools.cache
def _make() -> _Native:
    target = llvm.Target.host()
    allocator, workers = blocks(), pool()
    addresses = {
        "RUN": workers.run_address,
        "WORKERS": workers.workers_address,
        "NEW_ARRAY": allocator.new_array,
        "ACQUIRE": allocator.acquire,
        "RELEASE": allocator.release,
    }
    constants = {
        "CONTIGUOUS_ALIGNED": layout.CONTIGUOUS_ALIGNED,
        "NDARRAY": id(np.ndarray),
        "BYTES_DATA": layout.BYTES_DATA,
        "TYPE": layout.TYPE,
        "DATA": layout.DATA,
        "RANK": layout.RANK,
        "DIMS": layout.DIMS,
        "DESCR": layout.DESCR,
        "FLAGS": layout.FLAGS,
    }
    text = _IR
    for word, address in addresses.items():
        text = text.replace(f" {word}", f" inttoptr (i64 {address} to ptr)")
    for word, constant in constants.items():
        text = text.replace(f" {word}", f" {constant}")
    library = llvm.Library(llvm.parse(text, target, _OPT), ["call"], target, _OPT)
    address = library.address("call")
    definition = _MethodDef(b"entry", address, _METH_FASTCALL, b"Run a compiled program on arrays.")
    return _Native(_INVOKE_TYPE(address), definition, library)
