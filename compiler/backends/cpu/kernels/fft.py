"""Fourier transform kernels: one pass per dimension, each line in the thread's own workspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.backends.cpu.kernels.fft_line import LineTransform, stages_of
from compiler.backends.cpu.kernels.fft_stages import Stages
from compiler.codegen import fourier, nest
from compiler.codegen.cost import PARALLEL_NS
from compiler.codegen.fourier import Pass
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments

_STEP_NS = 0.25


def emit(module: Module, kernel: Kernel, threads: int) -> EmittedKernel:
    """Emit an FFT kernel for calls with up to that many threads."""
    parts = fourier.passes(kernel)
    line_bytes = max((_line_bytes(kernel, part) for part in parts), default=0)
    names, work = [], 0.0
    for number, part in enumerate(parts):
        names.append(_emit_pass(module, kernel, part, f".{number}", (line_bytes, threads)))
        work += part.lines * _line_ns(kernel, part)
    if not names:
        builder = Builder(begin(module, kernel))
        builder.ret()
        names.append(builder.function.name)
    workspace_bytes = line_bytes * threads + fourier.between_bytes(kernel)
    return EmittedKernel(kernel, tuple(names), workspace_bytes, work > PARALLEL_NS, work)


def _stages(kernel: Kernel, part: Pass) -> Stages:
    return stages_of(part, inverse=fourier.is_inverse(kernel))


def _line_bytes(kernel: Kernel, part: Pass) -> int:
    """The room for two lines of the stages' length, in whole cache lines."""
    stages = _stages(kernel, part)
    return -(-4 * stages.size_bytes * stages.length // 64) * 64


def _line_ns(kernel: Kernel, part: Pass) -> float:
    """The expected time for a line; a convolution takes two transforms."""
    stages = _stages(kernel, part)
    times = 1 if stages.length == part.length else 2
    return times * _STEP_NS * stages.length * stages.length.bit_length()


def _emit_pass(module: Module, kernel: Kernel, part: Pass, suffix: str, room: tuple[int, int]) -> str:
    """Emit a pass with room of so many bytes for each of so many threads' lines."""
    line_bytes, threads = room
    builder = Builder(begin(module, kernel, suffix))
    workspace = arguments(kernel).workspace
    between = builder.gep("i8", workspace, integer(line_bytes * threads))
    transform = LineTransform(kernel, part, between, _each, lambda _: None)
    here = builder.gep("i8", workspace, builder.mul(THREAD, integer(line_bytes)))
    there = builder.gep("i8", here, integer(line_bytes // 2))
    shared = nest.share(builder, part.lines, THREAD, THREADS)
    with builder.loop(shared.start, shared.stop, name="line") as loop:
        transform.line(builder, loop.index, here, there)
    builder.ret()
    return builder.function.name


@contextmanager
def _each(builder: Builder, count: int) -> Iterator[Value]:
    with builder.loop(integer(0), integer(count), nonempty=True) as loop:
        yield loop.index
