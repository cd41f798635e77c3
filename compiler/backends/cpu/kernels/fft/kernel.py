"""Fourier transform kernels: one pass per dimension, each line in the thread's own workspace."""

from __future__ import annotations

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.backends.cpu.kernels.fft.line_pass import LinePass, pass_of
from compiler.codegen import cost, fourier, nest
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, integer
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import whole_lines

_STEP_NS = 0.05


def emit(module: Module, kernel: Kernel, threads: int) -> EmittedKernel:
    """Emit an FFT kernel for calls with up to that many threads."""
    parts = fourier.passes(kernel)
    transforms = [pass_of(kernel, part, arguments(kernel).workspace) for part in parts]
    between_bytes = whole_lines(fourier.between_bytes(kernel))
    line_bytes = max((transform.lines.bytes for transform in transforms), default=0)
    names, work = [], 0.0
    for number, transform in enumerate(transforms):
        names.append(_emit_pass(module, transform, f".{number}", (between_bytes, line_bytes)))
        work += transform.part.lines * _line_ns(transform)
    if not names:
        builder = Builder(begin(module, kernel))
        builder.ret()
        names.append(builder.function.name)
    parallel = cost.pays(work)
    workspace_bytes = between_bytes + line_bytes * (threads if parallel else 1)
    return EmittedKernel(kernel, tuple(names), workspace_bytes, parallel, work)


def _line_ns(transform: LinePass) -> float:
    """The expected time for a line; a convolution takes two transforms."""
    lines, stages = transform.lines, transform.lines.stages
    times = 1 if stages.length == lines.length else 2
    return times * _STEP_NS * stages.length * stages.length.bit_length()


def _emit_pass(module: Module, transform: LinePass, suffix: str, room: tuple[int, int]) -> str:
    """Emit a pass with so many bytes between passes, and room of so many for each thread's lines."""
    between_bytes, line_bytes = room
    builder = Builder(begin(module, transform.kernel, suffix))
    offset = builder.add(builder.mul(THREAD, integer(line_bytes)), integer(between_bytes))
    here = builder.gep("i8", arguments(transform.kernel).workspace, offset)
    there = builder.gep("i8", here, integer(line_bytes // 2))
    shared = nest.share(builder, transform.units, THREAD, THREADS)
    with builder.loop(shared.start, shared.stop, name="line") as loop:
        transform.unit(builder, loop.index, here, there)
    builder.ret()
    return builder.function.name
