"""A compiled module that can be called, looked into and profiled."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Sequence

import numpy as np

from compiler.backends.cpu import memory, program, threads
from compiler.backends.cpu.arguments import Array, Leaf, convert
from compiler.backends.cpu.entry import Entry
from compiler.backends.executable import Artifacts, KernelTime, Phases
from compiler.codegen import llvm
from compiler.ir.module import Module
from compiler.ir.shape import Shape, leaves, without_layout
from compiler.ir.types import TOKEN
from compiler.options import CompileOptions

_HOLD_LOCK_NS = 20_000.0
"""Programs shorter than this keep the interpreter lock: giving it up and taking it back costs more."""


class CpuExecutable:
    """A module compiled for this machine's CPU: call it with the entry parameters, get the leaves of the root."""

    def __init__(self, module: Module, options: CompileOptions, phases: Phases) -> None:
        self.module = module
        self._target = llvm.Target.host()
        wanted = options.threads or threads.available()
        with phases.phase("emit"):
            self._program = program.build(module, self._target, wanted)
            text = str(self._program.ir)
        with phases.phase("llvm-parse"):
            native = llvm.parse(text, self._target, options.opt)
        with phases.phase("llvm-optimise"):
            llvm.optimise(native, self._target, options.opt)
        exports = (self._program.name, self._program.profile_name, program.TIMELINE)
        with phases.phase("llvm-codegen"):
            code = llvm.object_code(native, self._target, options.opt)
        with phases.phase("link"):
            self._library = llvm.Library(code, exports, self._target, options.opt)
        entry = module.entry
        self._parameters = _leaves([p.shape for p in entry.parameters])
        self._results = _leaves([entry.root.shape])
        self.phases = phases.done
        self.artifacts = Artifacts(
            {
                "cpu_after_optimizations.txt": phases.optimised_text,
                "buffer-assignment.txt": self._program.assignment.to_text,
                "ir-no-opt.ll": lambda: text,
                "ir-with-opt.ll": lambda: str(native),
                "s": lambda: llvm.assembly(native, self._target, options.opt),
                "o": lambda: code,
            }
        )
        self._entry = Entry(
            self._library.address(self._program.name),
            self._parameters,
            self._results,
            self._program.assignment.arena_bytes,
            threads=self._program.threads,
            keep=self._library,
            release_gil=self._program.work > _HOLD_LOCK_NS or _has_loop(module),
        )
        self.call = self._entry.call

    def __call__(self, *inputs: object) -> list[Array]:
        """Run the module."""
        return self.call(*inputs)

    @property
    def threads(self) -> int:
        """How many threads a call runs on."""
        return self._program.threads

    @property
    def memory_bytes(self) -> tuple[int, int]:
        """The arena's size and its lower bound."""
        assignment = self._program.assignment
        return assignment.arena_bytes, assignment.lower_bound_bytes

    def profile(self, *inputs: object) -> list[KernelTime]:
        """Run once and say when each kernel's functions started and how long they took, per thread.

        Cycle counts are turned into nanoseconds by the clock around the whole call; in a loop the last turn counts.
        """
        arrays = convert(inputs, self._parameters)
        results = [memory.empty(leaf.shape, leaf.dtype) for leaf in self._results]
        names = self._program.functions
        rows = self.threads, max(1, len(names)), 2
        timeline = (ctypes.c_int64 * math.prod(rows)).from_address(self._library.address(program.TIMELINE))
        marks = np.ctypeslib.as_array(timeline).reshape(rows)
        marks[...] = 0
        with memory.lease(self._program.assignment.arena_bytes) as arena:
            address = self._library.address(self._program.profile_name)
            start = time.perf_counter_ns()
            run = threads.pool().run
            run(address, _pointers(arrays), _pointers(results), arena, threads=self.threads)
            elapsed = time.perf_counter_ns() - start
        return _kernel_times(marks.copy(), names, start, elapsed)


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


def _leaves(shapes: Sequence[Shape]) -> list[Leaf]:
    arrays = (array for shape in shapes for array in leaves(shape) if array.element_type is not TOKEN)
    return [Leaf(a.element_type.dtype, a.dims, str(without_layout(a))) for a in arrays]


def _pointers(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))


def _has_loop(module: Module) -> bool:
    return any(instruction.opcode == "while" for instruction in module.instructions())
