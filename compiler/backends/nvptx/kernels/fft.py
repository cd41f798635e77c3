"""Fourier transform kernels: one launch per dimension, a block for each line.

A line lies in shared memory where it fits, else in the workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.codegen import fourier
from compiler.codegen.fourier import Pass, Transform
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments

_SHARED_BYTES = 32 * 1024


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit an FFT kernel."""
    parts = fourier.passes(kernel)
    per_line = fourier.line_bytes(kernel)
    in_shared = per_line <= _SHARED_BYTES
    lines_bytes = 0 if in_shared else per_line * max((part.lines for part in parts), default=0)
    launches = tuple(_launch(module, kernel, part, f"_{number}", lines_bytes) for number, part in enumerate(parts))
    return EmittedKernel(kernel, launches, lines_bytes + fourier.between_bytes(kernel))


def _launch(module: Module, kernel: Kernel, part: Pass, suffix: str, lines_bytes: int) -> Launch:
    threads = min(grid.BLOCK, -(-part.length // grid.WARP) * grid.WARP)
    builder = grid.begin(module, kernel, threads, suffix, talks=True)
    workspace, line = arguments(kernel).workspace, grid.block(builder)
    if lines_bytes:
        here = builder.gep("i8", workspace, builder.mul(line, integer(fourier.line_bytes(kernel))))
    else:
        here = grid.shared_array(module, f"line.{kernel.name}{suffix}", "double", 4 * part.length)
    there = builder.gep("i8", here, integer(16 * part.length))

    @contextmanager
    def each(builder: Builder, count: int) -> Iterator[Value]:
        with grid.strided(builder, integer(0), integer(count), threads) as number:
            yield number

    between = builder.gep("i8", workspace, integer(lines_bytes))
    Transform(kernel, part, between, each, grid.barrier).line(builder, line, here, there)
    builder.ret()
    return Launch(builder.function.name, part.lines, threads)
