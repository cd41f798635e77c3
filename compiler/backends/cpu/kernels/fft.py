"""Fourier transform kernels: one pass per dimension, each line in the thread's own workspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.backends.cpu.kernels.fft_stages import Stages
from compiler.codegen import fourier, nest
from compiler.codegen.fourier import Pass
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments

_STEP_NS = 0.5


def emit(module: Module, kernel: Kernel, threads: int) -> EmittedKernel:
    """Emit an FFT kernel for calls with up to that many threads."""
    lines_bytes = fourier.line_bytes(kernel) * threads
    names, work = [], 0.0
    for number, part in enumerate(fourier.passes(kernel)):
        names.append(_emit_pass(module, kernel, part, f".{number}", lines_bytes))
        work += _STEP_NS * part.lines * part.length * _steps(part.length)
    if not names:
        builder = Builder(begin(module, kernel))
        builder.ret()
        names.append(builder.function.name)
    workspace_bytes = lines_bytes + fourier.between_bytes(kernel)
    return EmittedKernel(kernel, tuple(names), workspace_bytes, work > 4000.0, work)


def _steps(length: int) -> int:
    return max(1, length.bit_length() - 1) if fourier.is_power_of_two(length) else length


def _emit_pass(module: Module, kernel: Kernel, part: Pass, suffix: str, lines_bytes: int) -> str:
    builder = Builder(begin(module, kernel, suffix))
    workspace = arguments(kernel).workspace
    between = builder.gep("i8", workspace, integer(lines_bytes))
    transform = Stages(kernel, part, between, _each, lambda _: None)
    here = builder.gep("i8", workspace, builder.mul(THREAD, integer(fourier.line_bytes(kernel))))
    there = builder.gep("i8", here, integer(16 * part.length))
    shared = nest.share(builder, part.lines, THREAD, THREADS)
    with builder.loop(shared.start, shared.stop, name="line") as loop:
        transform.line(builder, loop.index, here, there)
    builder.ret()
    return builder.function.name


@contextmanager
def _each(builder: Builder, count: int) -> Iterator[Value]:
    with builder.loop(integer(0), integer(count), nonempty=True) as loop:
        yield loop.index
