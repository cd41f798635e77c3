"""The thread pool: one per process, of native workers that run one compiled program together.

A program is run SPMD: every thread calls the same function with the same pointers, its own number and how many there
are.  Fork and join cost a fraction of a microsecond because nothing of Python takes part: workers are Python threads
that entered `@worker` (`threads.ll`) once, with the interpreter lock released, and stay there.

The pool never makes a caller wait for another: who finds it busy runs its program alone, which by contract gives the
same bits.  After `os.fork` the child has no workers and starts its own when first asked.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.backends.cpu.runtime import native
from compiler.codegen import llvm, llvm_ir
from compiler.diagnostics import InputError, UnsupportedError

# An array of data pointers, or its address.
Pointers: TypeAlias = int | ctypes.Array[ctypes.c_void_p]
MOST_THREADS = 1024
_SPIN_NS, _OVERSUBSCRIBED_SPINS = 30_000, 64

# By architecture: how to tell the core that it spins, and the number of the futex system call.
_ARCHITECTURES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()", 202),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)", 98),
}


def pointers(addresses: Iterable[int]) -> ctypes.Array[ctypes.c_void_p]:
    """The array of data pointers that a program is given; of none it still has an address."""
    listed = list(addresses)
    return (ctypes.c_void_p * max(1, len(listed)))(*listed)


def available() -> int:
    """How many threads this process may run at once: the size of its affinity mask."""
    return len(os.sched_getaffinity(0))


def emit_barrier(module: llvm_ir.Module) -> str:
    """Define `void @barrier(ptr %sync, i64 %threads)` in a module, once; returns its spelling for `call`.

    The code is the runtime's, found through the first word of `sync`, so a program needs no symbol from outside and
    the same IR serves every architecture; with one thread `sync` is not looked at.  Pointers that threads share must
    not be `noalias` in a function that calls it: LLVM would keep their contents in registers across the call.
    """
    if not module.has_function("barrier"):
        function = module.function("barrier", "void", [("ptr", "sync"), ("i64", "threads")], linkage="internal")
        sync, threads = function.arguments
        build = llvm_ir.Builder(function)
        with build.when(build.compare("ne", threads, llvm_ir.integer(1)), "wait"):
            code = build.load("ptr", sync)
            build.call(code.name, "void", [sync, threads])
        build.ret()
    return "@barrier"


@dataclass(slots=True)
class Pool:
    """The workers of this process; `pool()` is the only one there should be."""

    run_address: int
    workers_address: int
    _library: llvm.Library
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)
    _spins: int = 0

    @property
    def workers(self) -> int:
        """How many workers are there, besides the threads that call."""
        return len(self._threads)

    def ensure(self, threads: int) -> None:
        """Start what is missing for programs on that many threads."""
        if not 1 <= threads <= MOST_THREADS:
            raise InputError(f"threads={threads}: a program runs on 1 to {MOST_THREADS} threads")
        started = ctypes.c_int64.from_address(self.workers_address)
        with self._lock:
            if started.value >= threads - 1:
                return
            enter = self._library.function("worker", None, ctypes.c_int64)
            while len(self._threads) < threads - 1:
                number = len(self._threads) + 1
                thread = threading.Thread(target=enter, args=(number,), name=f"xlabench-{number}", daemon=True)
                thread.start()
                self._threads.append(thread)
            if not self._spins:
                self._calibrate()
            started.value = len(self._threads)

    def run(self, program: int, parameters: Pointers, results: Pointers, arena: int, *, threads: int) -> None:
        """Run the program at an address on that many threads, or alone while the pool serves somebody else."""
        if threads > 1:
            self.ensure(threads)
        _RUN_TYPE(self.run_address)(program, parameters, results, arena, threads)

    def _calibrate(self) -> None:
        ctypes.c_int64.from_address(self._library.address("cores")).value = available()
        self._spins = _spins_within(self._library, _SPIN_NS)
        ctypes.c_int32.from_address(self._library.address("patience")).value = self._spins

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._threads = []
        self._library.function("reset", None)()

    def _stop(self) -> None:
        # The code of a spinning worker must not go away beneath it.
        with self._lock:
            stopped = self._library.function("stop", ctypes.c_int32, ctypes.c_int64)(self.workers)
            ctypes.c_int64.from_address(self.workers_address).value = MOST_THREADS
            for thread in self._threads if stopped else ():
                thread.join(timeout=1.0)


_RUN_TYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)


@native.once
def pool() -> Pool:
    """The pool of this process; its workers start when a program first needs them."""
    exports = ("run", "worker", "workers", "cores", "patience", "stop", "reset", "relax")
    library = native.link(code(llvm.Target.host()), exports)
    made = Pool(library.address("run"), library.address("workers"), library)
    os.register_at_fork(after_in_child=made._forget)  # noqa: SLF001
    atexit.register(made._stop)  # noqa: SLF001
    return made


def code(target: llvm.Target) -> str:
    """The pool's code for a machine."""
    architecture = target.triple.partition("-")[0]
    if architecture not in _ARCHITECTURES:
        raise UnsupportedError(f"architecture {architecture}", "the CPU back end's thread pool")
    declaration, pause, futex = _ARCHITECTURES[architecture]
    return native.text(
        "threads",
        declare_pause=declaration,
        pause=pause,
        futex=futex,
        most=MOST_THREADS,
        oversubscribed=_OVERSUBSCRIBED_SPINS,
        slot_bytes=128 * MOST_THREADS,
    )


def _spins_within(library: llvm.Library, duration_ns: int) -> int:
    relax = library.function("relax", None, ctypes.c_int64)
    turns, shortest = 200, duration_ns
    for _ in range(4):
        start = time.perf_counter_ns()
        relax(turns)
        shortest = min(shortest, time.perf_counter_ns() - start)
    return max(1, duration_ns * turns // max(1, shortest))
