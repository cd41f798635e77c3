"""A compiled module that can be called, looked into and profiled."""

from __future__ import annotations

import ctypes
import functools
import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

from compiler.backends.cpu import bounds, machines, plan, program
from compiler.backends.cpu.image import Image, create, leaf, sources
from compiler.backends.cpu.kernels.foreign import Callback, errors_of
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.runtime import bounds as checks
from compiler.backends.cpu.runtime import guarded, memory, threads
from compiler.backends.cpu.runtime.arguments import Array, convert
from compiler.backends.cpu.runtime.cores import available
from compiler.backends.cpu.runtime.entry import Entry
from compiler.backends.decisions import Decisions
from compiler.backends.executable import Artifacts, ExecutableInfo, KernelTime, LaunchModel, Phases, Serializer
from compiler.cache import Cache
from compiler.codegen import compile_units, cost, llvm
from compiler.ir.module import Module
from compiler.ir.rewrite import Refusal
from compiler.options import CompileOptions
from compiler.plan import check_bytes, has_bytes
from compiler.text.printer import to_text


def compile_module(module: Module, options: CompileOptions, phases: Phases) -> CpuExecutable:
    """Compile a module that the pipeline `compile` has prepared.

    Args:
        module: what the pipeline `compile` made.
        options: of the compilation.
        phases: is told how long emission and LLVM take.
    """
    target, wanted = _target(options), _threads(options)
    with phases.phase("emit"):
        built = _built(module, options, wanted)
    with phases.phase("llvm"):
        cache = Cache.open(options.cache, options.cache_bytes) if options.cache else None
        threads = 1 if options.llvm_limit is not None else wanted
        image = create(built, target, options.opt, threads=threads, cache=cache)
    callbacks = [kernel.callback for kernel in built.emitted.values() if kernel.callback is not None]
    return CpuExecutable(image, lambda: built, options, phases, callbacks)


def _built(module: Module, options: CompileOptions, threads: int) -> program.Program:
    with cost.sharing_all(is_asked=options.share_all):
        built = program.build(module, _machine(options), threads)
    if options.check_bounds:
        bounds.check(built)
    return built


def _target(options: CompileOptions) -> llvm.Target:
    """This machine, without what it is to do without."""
    return machines.without(llvm.Target.host(), options.without)


def _machine(options: CompileOptions) -> Machine:
    return Machine.of(_target(options))


def _threads(options: CompileOptions) -> int:
    return min(options.threads or available(), cost.MOST_THREADS)


def _depends_on(options: CompileOptions) -> str:
    target = _target(options)
    return f"{target} {_threads(options)} {llvm.package_version()}"


def _restore(data: bytes, prepare: Callable[[], Module], options: CompileOptions, phases: Phases) -> CpuExecutable:
    @functools.cache
    def lowering() -> program.Program:
        return _built(prepare(), options, _threads(options))

    return CpuExecutable(Image.from_bytes(data), lowering, options, phases)


def decide_module(
    module: Module, options: CompileOptions, refusals: Sequence[Refusal] | None, target: llvm.Target | None
) -> Decisions:
    """The decisions about a module that the pipeline `compile` has prepared, for this machine or a target.

    Args:
        module: what the pipeline `compile` made.
        options: of the compilation.
        refusals: what fusion left apart, and why; None where no reasons are asked for.
        target: the machine, None for this one.
    """
    machine = _machine(options) if target is None else Machine.of(machines.without(target, options.without))
    threads = _threads(options)
    words = f"{machine}, up to {threads} threads" if threads > 1 else f"{machine}, one thread"
    return plan.decisions(plan.plan(module, machine, threads), module, words, refusals)


SERIALIZER = Serializer(_depends_on, lambda executable: executable.image.to_bytes(), _restore)
"""A program is kept as its image."""

Lowering = Callable[[], program.Program]
"""The program as LLVM IR, made when first asked for: what was loaded from a cache has never been lowered here."""


class CpuExecutable:
    """A module compiled for this machine's CPU: call it with the entry parameters, get the leaves of the root."""

    def __init__(
        self,
        image: Image,
        lowering: Lowering,
        options: CompileOptions,
        phases: Phases,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.image = image
        self._callbacks = callbacks
        self._lowering = lowering
        self._opt = options.opt
        self._target = _target(options)
        self._imports = checks.imports() if options.check_bounds else {}
        with phases.phase("link"):
            self._library = llvm.Library(
                image.objects, (program.PROGRAM, *image.kernels), self._target, self._opt, imports=self._imports
            )
        self._parameters = [leaf(array) for array in image.parameters]
        self._results = [leaf(array) for array in image.results]
        self.phases, self.facts = phases.done, ExecutableInfo()
        self.artifacts = Artifacts(
            {
                "cpu_after_optimizations.txt": lambda: to_text(self.module),
                "buffer-assignment.txt": lambda: self._lowering().assignment.to_text(),
                "ir-no-opt.ll": lambda: str(self._lowering().ir),
                "ir-with-opt.ll": lambda: self._listing(llvm.optimised_text),
                "s": lambda: self._listing(llvm.assembly_text),
                "o": self._object,
            }
        )
        self._entry = Entry(
            self._library.address(program.PROGRAM),
            self._parameters,
            self._results,
            image.arena_bytes,
            threads=image.threads,
            work=image.shared_work,
            keep=(self._library, callbacks),
            release_gil=image.releases_lock,
        )
        fits = has_bytes(self._call_bytes)
        self.call = _as_asked(self._entry, options, callbacks) if fits else self._refuse

    @property
    def _call_bytes(self) -> int:
        """The memory that a call takes: inputs, results and the arena."""
        return sum(leaf.size_bytes for leaf in (*self._parameters, *self._results)) + self.image.arena_bytes

    def _refuse(self, *_: object) -> list[Array]:
        """A call of what may be compiled here, looked into and written to files, but does not fit in here."""
        check_bytes(self.module, self._call_bytes, by="this machine")
        return []

    def __call__(self, *inputs: object) -> list[Array]:
        """Run the module."""
        return self.call(*inputs)

    @property
    def module(self) -> Module:
        """The module as the back end was given it."""
        return self._lowering().module

    @property
    def launch_models(self) -> tuple[LaunchModel, ...]:
        """None: it launches nothing."""
        return ()

    @property
    def decisions_digest(self) -> str:
        """A digest of all that was decided about it."""
        lowered = self._lowering()
        return plan.decisions(lowered.plan, lowered.module, "", None).digest

    @property
    def threads(self) -> int:
        """The number of threads that a call runs on."""
        return self.image.threads

    @property
    def memory_bytes(self) -> tuple[int, int]:
        """The arena's size and its lower bound."""
        return self.image.arena_bytes, self.image.lower_bound_bytes

    def _listing(self, write: Callable[[llvm.Source, llvm.Target, int], str]) -> str:
        return "\n".join(write(source, self._target, self._opt) for source in sources(self._lowering(), self._opt))

    def _object(self) -> bytes:
        """The whole program as one object file."""
        unit = compile_units.whole(self._lowering().ir)
        source = llvm.Source(unit.text, unit.has_loops)
        return llvm.compile_all([source], self._target, self._opt, threads=1)[0]

    def profile(self, *inputs: object) -> list[KernelTime]:
        """Run once and say when each kernel's functions started and how long they took, per chunk.

        Cycle counts are turned into nanoseconds by the clock around the whole call; in a loop the last iteration
        counts.
        """
        check_bytes(self.module, self._call_bytes, by="this machine")
        arrays = convert(inputs, self._parameters)
        results = [memory.empty(leaf.shape, leaf.dtype) for leaf in self._results]
        library, names = self._profiler, self.image.kernels
        rows = self.threads, max(1, len(names)), 2
        timeline = (ctypes.c_int64 * math.prod(rows)).from_address(library.address(program.TIMELINE))
        marks = np.ctypeslib.as_array(timeline).reshape(rows)
        marks[...] = 0
        given, made = (threads.pointers(array.ctypes.data for array in group) for group in (arrays, results))
        with memory.lease(self.image.arena_bytes) as arena:
            address = library.address(program.PROFILE)
            start = time.perf_counter_ns()
            run = threads.pool().run
            run(address, given, made, arena, threads=self.threads, work=self.image.shared_work)
            elapsed = time.perf_counter_ns() - start
        _raise_of(self._callbacks)
        return _kernel_times(marks.copy(), names, start, elapsed)

    @functools.cached_property
    def _profiler(self) -> llvm.Library:
        """The program once more, with marks, around the kernels that are there already."""
        source = llvm.Source(str(self._lowering().profile_ir()), has_loops=False)
        code = llvm.compile_all([source], self._target, self._opt, threads=1)
        kernels = {name: self._library.address(name) for name in self.image.kernels}
        return llvm.Library(code, (program.PROFILE, program.TIMELINE), self._target, self._opt, imports=kernels)


def _as_asked(entry: Entry, options: CompileOptions, callbacks: Sequence[Callback]) -> Callable[..., list[Array]]:
    """An entry's call, watched, shared and in the order that options ask for; what callbacks raise, it raises."""
    call: Callable[..., list[Array]] = entry.call
    if options.check_memory or options.check_bounds:
        call = functools.partial(guarded.call, entry.snapshot(), watched=options.check_bounds)
    if options.share_all:
        call = functools.partial(_within, lambda: threads.pool().eager(), call)
    if options.backwards:
        call = functools.partial(_within, lambda: threads.pool().backwards(), call)
    return functools.partial(_with_callbacks, call, callbacks) if callbacks else call


def _within(
    manner: Callable[[], AbstractContextManager[None]], call: Callable[..., list[Array]], *inputs: object
) -> list[Array]:
    """A call whose phases are shared out in a manner of the pool of the process that calls."""
    with manner():
        return call(*inputs)


def _with_callbacks(call: Callable[..., list[Array]], callbacks: Sequence[Callback], *inputs: object) -> list[Array]:
    """A call whose program calls Python, and raises what that has raised."""
    results = call(*inputs)
    _raise_of(callbacks)
    return results


def _raise_of(callbacks: Sequence[Callback]) -> None:
    error = errors_of(callbacks)
    if error is not None:
        raise error


def _kernel_times(marks: Array, names: Sequence[str], start: int, elapsed: int) -> list[KernelTime]:
    used = marks[marks > 0]
    if not used.size:
        return []
    first, last = int(used.min()), int(used.max())
    # Without a calibrated counter, the longest span cannot have taken more than the whole call did.
    scale = min(1.0, elapsed / max(1, last - first))
    return [
        KernelTime(name, start + int((begin - first) * scale), int((end - begin) * scale), thread)
        for thread, row in enumerate(marks.tolist())
        for name, (begin, end) in zip(names, row, strict=False)
        if begin and end >= begin
    ]
