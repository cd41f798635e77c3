"""The thread pool: one per process, of native workers that help whoever calls a compiled program.

The thread that calls walks the program alone.  Where the work of a phase can be shared it is cut into chunks, whose
boundaries depend on the program only; the caller takes one after the other, and workers that are running take others.
Nobody waits for a worker that has not begun, so a thread that a busy machine does not run costs nothing.  A hand-over
costs a fraction of a microsecond because nothing of Python takes part: workers are Python threads that entered
`@worker` (`threads.ll`) once, with the interpreter lock released, and stay there.

The pool never makes a caller wait for another: who finds it busy runs its program alone, which by contract gives the
same bits.  So does whoever calls while there are no workers, as where the system starts none.  After `os.fork` the
child has no workers and starts its own when first asked.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.backends.cpu.runtime import native
from compiler.backends.cpu.runtime.cores import available
from compiler.codegen import llvm, llvm_ir
from compiler.diagnostics import InputError, UnsupportedError

# An array of data pointers, or its address.
Pointers: TypeAlias = int | ctypes.Array[ctypes.c_void_p]
MOST_THREADS = 1024
"""Threads of a call: more than any machine that was seen."""

_SPIN_NS = 30_000
"""How long a wait spins before it sleeps."""

_CONSTANTS = {
    "waking_pays": 60_000,
    "window": _SPIN_NS,
    "rest_factor": 4,
    "longest_rest": 100_000_000,
    "wait_share": 8,
    "careful": 16,
    "lasting": 6_000_000,
}
"""Times in ns: work that workers are woken for; how soon after the last program's end the next one counts with it, as
long as workers wait; and the longest rest, which else is so many times what was lost by sharing.  Besides: the fraction
of a phase the caller has waited where threads count as held up, one by so much; how many phases are cut finely then;
and two slices of time, beyond which a phase that may be cut finely makes no team rest."""

_EAGERLY, _BACKWARDS = 1, 2
"""Ways to share chunks out, as `threads.ll` knows them."""
_MOST_BALANCE_NS = 50_000
"""What is held in favour of sharing, at most, from phases in which it paid."""


_ARCHITECTURES: dict[str, dict[str, object]] = {
    "x86_64": {
        "declarations": "declare void @llvm.x86.sse2.pause()\ndeclare i64 @llvm.readcyclecounter()",
        "pause": "call void @llvm.x86.sse2.pause()",
        "read_counter": "call i64 @llvm.readcyclecounter()",
        "futex": 202,
    },
    "aarch64": {
        "declarations": "declare void @llvm.aarch64.hint(i32)\n"
        "declare i64 @llvm.read_volatile_register.i64(metadata)\n"
        '!0 = !{!"CNTVCT_EL0"}',
        "pause": "call void @llvm.aarch64.hint(i32 1)",
        "read_counter": "call i64 @llvm.read_volatile_register.i64(metadata !0)",
        "futex": 98,
    },
}
"""How a kind of machine says what no portable LLVM IR says: that the core spins, what time it is, and which system call
is the futex."""


def pointers(addresses: Iterable[int]) -> ctypes.Array[ctypes.c_void_p]:
    """The array of data pointers that a program is given; of none it still has an address."""
    listed = list(addresses)
    return (ctypes.c_void_p * max(1, len(listed)))(*listed)


def emit_share(module: llvm_ir.Module) -> str:
    """Define `void @share(...)` in a module, once; returns its spelling for `call`.

    Its parameters are the team that the program was given, the phase's function, the program's parameters, results and
    arena, the context of the phase, its number of chunks, the number where threads are held up, at least as large, and
    the time that it is expected to take, in ns on one thread.
    The phase is run: by the team, whose code is found through its first word, so that a program needs no symbol from
    outside and the same IR serves every architecture; or where the team is null, as one chunk by the caller.
    """
    if not module.has_function("share"):
        names = ("team", "phase", "parameters", "results", "arena", "context")
        parameters = [*(("ptr", name) for name in names), *(("i64", name) for name in ("chunks", "most", "work"))]
        function = module.function("share", "void", parameters, linkage="internal", attributes="noinline nounwind")
        function.cold, function.routine = True, "share"
        team, phase, *given, chunks, most, work = function.arguments
        build = llvm_ir.Builder(function)
        is_alone = build.compare("eq", team, llvm_ir.Value("ptr", "null"))
        build.branch_if(is_alone, "alone", "together")
        build.begin("alone")
        build.call(phase.name, "void", [*given, llvm_ir.integer(0), llvm_ir.integer(1)])
        build.ret()
        build.begin("together")
        code = build.load("ptr", team)
        build.call(code.name, "void", [phase, *given, chunks, most, work])
        build.ret()
    return "@share"


@dataclass(slots=True)
class Pool:
    """The workers of this process; `pool()` is the only one there should be."""

    run_address: int
    capacity_address: int
    _library: llvm.Library
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)
    _is_calibrated: bool = False
    _asked: list[int] = field(default_factory=list)

    @property
    def workers(self) -> int:
        """The number of workers, besides the threads that call."""
        return len(self._threads)

    def ensure(self, threads: int) -> None:
        """Start what is missing for programs on that many threads: workers for the cores there are, and no more.

        Raises:
            InputError: no program runs on so many.
        """
        if not 1 <= threads <= MOST_THREADS:
            raise InputError(f"threads={threads}: a program runs on 1 to {MOST_THREADS} threads")
        capacity = ctypes.c_int64.from_address(self.capacity_address)
        with self._lock:
            if capacity.value >= threads - 1:
                return
            if not self._is_calibrated:
                self._calibrate()
            missing = min(threads, available()) - 1 - len(self._threads)
            self._threads += _started(self._library.function("worker", None), missing, "xlabench-worker")
            self._set("workers", len(self._threads))
            capacity.value = threads - 1

    def run(
        self, program: int, parameters: Pointers, results: Pointers, arena: int, *, threads: int, work: int
    ) -> None:
        """Run the program at an address with the help of that many threads, or alone while the pool serves another.

        Args:
            program: the address of its function.
            parameters: the addresses of its arrays.
            results: the addresses of the arrays that it fills.
            arena: the address of its scratch memory.
            threads: how many threads it was compiled for.
            work: how long what can be shared of it takes on one thread, about, in ns.
        """
        if threads > 1:
            self.ensure(threads)
        _RUN_TYPE(self.run_address)(program, parameters, results, arena, threads, work)

    def eager(self) -> AbstractContextManager[None]:
        """Within it callers do the first of as many chunks of a phase as may be, and wait for workers to do the others.

        So what threads do to each other shows, however little they have to do.  It holds for all callers.
        """
        return self._sharing(_EAGERLY)

    def backwards(self) -> AbstractContextManager[None]:
        """Within it callers do as many chunks of a phase as may be alone, the last one first.

        So a chunk that needs what another does in the same phase lacks it every time.  It holds for all callers.
        """
        return self._sharing(_BACKWARDS)

    @contextmanager
    def _sharing(self, how: int) -> Iterator[None]:
        """Within it chunks are done in that way, or as another caller has them done that asks for more."""
        eager = ctypes.c_int32.from_address(self._library.address("eager"))
        with self._lock:
            self._asked.append(how)
            eager.value = max(self._asked)
        try:
            yield
        finally:
            with self._lock:
                self._asked.remove(how)
                eager.value = max(self._asked, default=0)

    def _calibrate(self) -> None:
        looks, ticks = _within(self._library, _SPIN_NS)
        ctypes.c_int32.from_address(self._library.address("patience")).value = looks
        self._set("tick_scale", max(1, ticks * 1024 // _SPIN_NS))
        self._set("most_balance", ticks * _MOST_BALANCE_NS // _SPIN_NS)
        self._is_calibrated = True

    def _set(self, name: str, value: int) -> None:
        ctypes.c_int64.from_address(self._library.address(name)).value = value

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._threads = []
        self._library.function("reset", None)()

    def _stop(self) -> None:
        # The code of a spinning worker must not go away beneath it.
        with self._lock:
            stopped = self._library.function("stop", ctypes.c_int32)()
            ctypes.c_int64.from_address(self.capacity_address).value = MOST_THREADS
            for thread in self._threads if stopped else ():
                thread.join(timeout=1.0)


def _started(run: Callable[[], object], count: int, name: str) -> list[threading.Thread]:
    """As many threads of that name as can be started, but no more than asked for.

    Args:
        run: what each thread does.
        count: threads, at most.
        name: of each thread.
    """
    found: list[threading.Thread] = []
    for _ in range(count):
        thread = threading.Thread(target=run, name=name, daemon=True)
        try:
            thread.start()
        except (RuntimeError, MemoryError):  # the system gives none, or there is no memory to ask for one
            break
        found.append(thread)
    return found


_RUN_TYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)
_EXPORTS = (
    "run", "worker", "workers", "capacity", "patience", "tick_scale", "most_balance", "ticks", "eager", "sleepers",
    "stop", "reset", "relax", "held_up",
)  # fmt: skip


@native.once
def pool() -> Pool:
    """The pool of this process; its workers start when a program first needs them."""
    return new_pool()


def new_pool() -> Pool:
    """A pool without workers yet, which ends with the process."""
    library = native.link(code(llvm.Target.host()), _EXPORTS)
    made = Pool(library.address("run"), library.address("capacity"), library)
    os.register_at_fork(after_in_child=made._forget)  # noqa: SLF001
    atexit.register(made._stop)  # noqa: SLF001
    return made


def code(target: llvm.Target) -> str:
    """The pool's code for a machine.

    Raises:
        UnsupportedError: there is none for the machine's architecture.
    """
    architecture = target.triple.partition("-")[0]
    if architecture not in _ARCHITECTURES:
        raise UnsupportedError(f"architecture {architecture}", "the CPU back end's thread pool")
    return native.text("threads", **_ARCHITECTURES[architecture], **_CONSTANTS)


def _within(library: llvm.Library, duration_ns: int) -> tuple[int, int]:
    """How often a wait looks within a time, and how many ticks that is."""
    relax, counter = library.function("relax", None, ctypes.c_int64), library.function("ticks", ctypes.c_int64)
    looks, best = 200, (duration_ns, duration_ns)
    for _ in range(4):
        start, first = time.perf_counter_ns(), counter()
        relax(looks)
        best = min(best, (time.perf_counter_ns() - start, counter() - first))
    shortest, ticks = (max(1, one) for one in best)
    return max(1, duration_ns * looks // shortest), max(1, duration_ns * ticks // shortest)
