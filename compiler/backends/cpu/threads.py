"""The thread pool: native workers that run one compiled program together, and the barrier between its steps.

A program is run SPMD: every thread calls the same function with the same pointers, its own number and how many there
are.  Fork and join cost a fraction of a microsecond because nothing of Python takes part: workers are Python threads
that entered `@worker` once, with the interpreter lock released, and stay there.  A wait spins for about 30 us, in which
most steps end (a hand-over by spinning takes 0.2 us, a futex wake-up 40 to 110), gives the processor away a few times,
then sleeps on a futex, so that an idle pool costs nothing and an oversubscribed machine makes progress.

One wait serves all three meetings (job posted, barrier passed, job done): a word to watch, and beside it the number of
sleepers, so that whoever changes the word makes a system call only where somebody sleeps.  Both are sequentially
consistent: either the waker sees the sleeper, or the sleeper's futex call sees the changed word.

The pool never makes a caller wait for another: who finds it busy runs its program alone, which by contract gives the
same bits.  After `os.fork` the child has no workers and starts its own when first asked.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import threading
import time
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.codegen import llvm, llvm_ir
from compiler.diagnostics import InputError, UnsupportedError

MOST_THREADS = 1024

# An array of data pointers, or its address.
Pointers: TypeAlias = int | ctypes.Array[ctypes.c_void_p]
_SPIN_NS = 30_000
_OVERSUBSCRIBED_SPINS = 64
# The code mostly waits, so a quick compile (2.5 ms for 11 at level 1) is worth more than a few nanoseconds.
_OPT = 0

# Whoever comes first makes the one of this process; the others wait for it.
_MAKING = threading.Lock()

# By architecture: how to tell the core that it spins, and the number of the futex system call.
_ARCHITECTURES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()", 202),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)", 98),
}

# Words that different threads write lie at least a cache line apart.
_IR = """
%line = type { i32, [60 x i8] }
%slot = type { %line, %line }                 ; a worker's mailbox: jobs posted, sleepers
%sync = type { ptr, [56 x i8], %line, %line, %line }  ; barrier: its code, arrived, generation, sleepers
%job = type { ptr, ptr, ptr, ptr, i64 }       ; program, parameters, results, arena, threads

@slots = internal global [MOST x %slot] zeroinitializer, align 64
@sync = internal global %sync { ptr @barrier, [56 x i8] zeroinitializer, %line zeroinitializer,
                                %line zeroinitializer, %line zeroinitializer }, align 64
@job = internal global %job zeroinitializer, align 64
@pending = internal global %line zeroinitializer, align 64
@joiners = internal global %line zeroinitializer, align 64
@busy = internal global %line zeroinitializer, align 64
@workers = global i64 0, align 64
@spins = global i32 0

declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
DECLARE_PAUSE

define internal void @await(ptr %word, i32 %old, ptr %sleepers) nounwind {
entry:
  %limit = load i32, ptr @spins
  %patience = add i32 %limit, 32
  br label %look
look:
  %turn = phi i32 [ 0, %entry ], [ %next, %relax ], [ %next, %yield ], [ %turn, %sleep ]
  %now = load atomic i32, ptr %word acquire, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %done, label %idle
idle:
  %next = add i32 %turn, 1
  %spin = icmp ult i32 %turn, %limit
  br i1 %spin, label %relax, label %tired
relax:
  PAUSE
  br label %look
tired:
  %polite = icmp ult i32 %turn, %patience
  br i1 %polite, label %yield, label %sleep
yield:
  %ignored = call i32 @sched_yield()
  br label %look
sleep:
  %in = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %woken = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 128, i32 %old, ptr null)
  %out = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %look
done:
  ret void
}

define internal void @notify(ptr %word, ptr %sleepers) nounwind {
  %count = load atomic i32, ptr %sleepers seq_cst, align 4
  %none = icmp eq i32 %count, 0
  br i1 %none, label %done, label %wake
wake:
  %woken = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 129, i32 2147483647)
  br label %done
done:
  ret void
}

define internal void @barrier(ptr %sync, i64 %threads) nounwind {
  %arrived = getelementptr %sync, ptr %sync, i64 0, i32 2
  %generation = getelementptr %sync, ptr %sync, i64 0, i32 3
  %sleepers = getelementptr %sync, ptr %sync, i64 0, i32 4
  %now = load atomic i32, ptr %generation monotonic, align 4
  %before = atomicrmw add ptr %arrived, i32 1 acq_rel
  %total = trunc i64 %threads to i32
  %here = add i32 %before, 1
  %last = icmp eq i32 %here, %total
  br i1 %last, label %open, label %wait
open:
  store atomic i32 0, ptr %arrived monotonic, align 4
  %old = atomicrmw add ptr %generation, i32 1 seq_cst
  call void @notify(ptr %generation, ptr %sleepers)
  ret void
wait:
  call void @await(ptr %generation, i32 %now, ptr %sleepers)
  ret void
}

define internal void @post(i64 %worker) nounwind {
  %slot = getelementptr [MOST x %slot], ptr @slots, i64 0, i64 %worker
  %sleepers = getelementptr %slot, ptr %slot, i64 0, i32 1
  %old = atomicrmw add ptr %slot, i32 1 seq_cst
  call void @notify(ptr %slot, ptr %sleepers)
  ret void
}

define void @worker(i64 %thread) nounwind {
entry:
  %slot = getelementptr [MOST x %slot], ptr @slots, i64 0, i64 %thread
  %sleepers = getelementptr %slot, ptr %slot, i64 0, i32 1
  br label %wait
wait:
  %seen = phi i32 [ 0, %entry ], [ %posted, %go ]
  call void @await(ptr %slot, i32 %seen, ptr %sleepers)
  %posted = load atomic i32, ptr %slot acquire, align 4
  %program = load ptr, ptr @job
  %stop = icmp eq ptr %program, null
  br i1 %stop, label %done, label %go
go:
  %parameters = load ptr, ptr getelementptr (%job, ptr @job, i64 0, i32 1)
  %results = load ptr, ptr getelementptr (%job, ptr @job, i64 0, i32 2)
  %arena = load ptr, ptr getelementptr (%job, ptr @job, i64 0, i32 3)
  %threads = load i64, ptr getelementptr (%job, ptr @job, i64 0, i32 4)
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr @sync, i64 %thread, i64 %threads)
  %left = atomicrmw sub ptr @pending, i32 1 seq_cst
  call void @notify(ptr @pending, ptr @joiners)
  br label %wait
done:
  ret void
}

define void @run(ptr %program, ptr %parameters, ptr %results, ptr %arena, i64 %wanted) nounwind {
entry:
  %workers = load atomic i64, ptr @workers monotonic, align 8
  %most = add i64 %workers, 1
  %fewer = icmp ult i64 %most, %wanted
  %threads = select i1 %fewer, i64 %most, i64 %wanted
  %single = icmp ule i64 %threads, 1
  br i1 %single, label %alone, label %try
try:
  %exchange = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %fork, label %alone
alone:
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr null, i64 0, i64 1)
  ret void
fork:
  store ptr %program, ptr @job
  store ptr %parameters, ptr getelementptr (%job, ptr @job, i64 0, i32 1)
  store ptr %results, ptr getelementptr (%job, ptr @job, i64 0, i32 2)
  store ptr %arena, ptr getelementptr (%job, ptr @job, i64 0, i32 3)
  store i64 %threads, ptr getelementptr (%job, ptr @job, i64 0, i32 4)
  %others = sub i64 %threads, 1
  %others32 = trunc i64 %others to i32
  store atomic i32 %others32, ptr @pending monotonic, align 4
  br label %posting
posting:
  %worker = phi i64 [ 1, %fork ], [ %following, %posting ]
  call void @post(i64 %worker)
  %following = add i64 %worker, 1
  %all = icmp eq i64 %following, %threads
  br i1 %all, label %take_part, label %posting
take_part:
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr @sync, i64 0, i64 %threads)
  br label %join
join:
  %left = load atomic i32, ptr @pending acquire, align 4
  %joined = icmp eq i32 %left, 0
  br i1 %joined, label %done, label %wait
wait:
  call void @await(ptr @pending, i32 %left, ptr @joiners)
  br label %join
done:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

; Ends the workers and keeps the pool busy for good; leaves a pool alone that is at work.
define i32 @stop(i64 %workers) nounwind {
entry:
  %exchange = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %close, label %leave
close:
  store ptr null, ptr @job
  br label %posting
posting:
  %worker = phi i64 [ 1, %close ], [ %following, %next ]
  %all = icmp ugt i64 %worker, %workers
  br i1 %all, label %done, label %next
next:
  call void @post(i64 %worker)
  %following = add i64 %worker, 1
  br label %posting
done:
  ret i32 1
leave:
  ret i32 0
}

; For the child of a fork, which has one thread and a copy of whatever state the parent was in.
define void @reset() nounwind {
  call void @llvm.memset.p0.i64(ptr @slots, i8 0, i64 SLOT_BYTES, i1 false)
  call void @llvm.memset.p0.i64(ptr getelementptr (%sync, ptr @sync, i64 0, i32 2), i8 0, i64 192, i1 false)
  store i32 0, ptr @pending
  store i32 0, ptr @joiners
  store i32 0, ptr @busy
  store i64 0, ptr @workers
  ret void
}

define void @relax(i64 %turns) nounwind {
entry:
  br label %turn
turn:
  %left = phi i64 [ %turns, %entry ], [ %fewer, %turn ]
  PAUSE
  %fewer = sub i64 %left, 1
  %done = icmp eq i64 %fewer, 0
  br i1 %done, label %end, label %turn
end:
  ret void
}
"""


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
            self._set_patience(threads)
            started.value = len(self._threads)

    def run(self, program: int, parameters: Pointers, results: Pointers, arena: int, *, threads: int) -> None:
        """Run the program at an address on that many threads, or alone while the pool serves somebody else."""
        if threads > 1:
            self.ensure(threads)
        _RUN_TYPE(self.run_address)(program, parameters, results, arena, threads)

    def _set_patience(self, threads: int) -> None:
        self._spins = self._spins or _spins_within(self._library, _SPIN_NS)
        spins = self._spins if threads <= available() else _OVERSUBSCRIBED_SPINS
        ctypes.c_int32.from_address(self._library.address("spins")).value = spins

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


def pool() -> Pool:
    """The pool of this process; its workers start when a program first needs them."""
    with _MAKING:
        return _make()


@functools.cache
def _make() -> Pool:
    target = llvm.Target.host()
    exports = ("run", "worker", "workers", "spins", "stop", "reset", "relax")
    library = llvm.Library(llvm.parse(runtime_ir(target), target, _OPT), exports, target, _OPT)
    made = Pool(library.address("run"), library.address("workers"), library)
    os.register_at_fork(after_in_child=made._forget)  # noqa: SLF001
    atexit.register(made._stop)  # noqa: SLF001
    return made


def runtime_ir(target: llvm.Target) -> str:
    """The pool's code for a machine."""
    architecture = target.triple.partition("-")[0]
    if architecture not in _ARCHITECTURES:
        raise UnsupportedError(f"architecture {architecture}", "the CPU back end's thread pool")
    declaration, pause, futex = _ARCHITECTURES[architecture]
    text = _IR
    for word, meaning in (
        ("DECLARE_PAUSE", declaration),
        ("PAUSE", pause),
        ("FUTEX", str(futex)),
        ("MOST", str(MOST_THREADS)),
        ("SLOT_BYTES", str(128 * MOST_THREADS)),
    ):
        text = text.replace(word, meaning)
    return text


def _spins_within(library: llvm.Library, duration_ns: int) -> int:
    relax = library.function("relax", None, ctypes.c_int64)
    turns, shortest = 200, duration_ns
    for _ in range(4):
        start = time.perf_counter_ns()
        relax(turns)
        shortest = min(shortest, time.perf_counter_ns() - start)
    return max(1, duration_ns * turns // max(1, shortest))
