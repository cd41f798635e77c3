"""Fourier transform kernels: one pass per dimension, each line in the thread's own workspace."""

from __future__ import annotations

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.fft.line_pass import LinePass, pass_of
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.codegen import fourier, nest
from compiler.codegen.llvm_ir import Builder, Module, integer
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import whole_lines

_STEP_NS = 0.05
"""Nanoseconds for an element in one of the stages of radix two that a line would take."""


def _decide(given: Given) -> Plan:
    """The plan of a pass for each dimension."""
    kernel = given.kernel
    transforms = [pass_of(kernel, fft_pass, arguments(kernel).workspace) for fft_pass in fourier.passes(kernel)]
    between_bytes = whole_lines(fourier.between_bytes(kernel))
    line_bytes = max((transform.lines.bytes for transform in transforms), default=0)

    def emit(module: Module) -> Functions:
        if not transforms:
            builder = Builder(begin(module, kernel))
            builder.ret()
            return (builder.function.name,)
        room = between_bytes, line_bytes
        return tuple(_emit_pass(module, transform, f".{n}", room) for n, transform in enumerate(transforms))

    work = sum((transform.fft_pass.lines * _line_ns(transform) for transform in transforms), 0.0)
    lengths = [transform.lines.length for transform in transforms]
    together = [transform.lines.together for transform in transforms]
    sizes = {"lengths": lengths, "lines_together": together}
    return given.plan(emit, work, shared_bytes=between_bytes, thread_bytes=line_bytes, details=sizes)


FFT = Kind((Strategy("passes", _decide),), Given)
"""Fourier transform kernels."""


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
