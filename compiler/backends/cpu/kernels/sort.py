"""Sort kernels: every line along the sorted dimension on its own, lines shared between threads.

A comparator that orders by a key is a radix sort where the lines are long enough for it, any other a merge sort.
Floats compared so that NaN is unordered have a key as long as there is no NaN, which is known when a line was read.
"""

from __future__ import annotations

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.backends.cpu.kernels.sort_lines import Lines
from compiler.backends.cpu.kernels.sort_merge import Merging
from compiler.backends.cpu.kernels.sort_radix import Radix
from compiler.codegen import nest
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, integer
from compiler.codegen.signature import arguments
from compiler.codegen.sort_key import sort_key


def emit(module: Module, kernel: Kernel, threads: int) -> EmittedKernel:
    """Emit a sort kernel for calls with up to that many threads."""
    lines = Lines(kernel)
    merging = Merging(lines)
    radix = _radix(lines, merging)
    line_ns = radix.line_ns if radix else merging.line_ns
    workspace_bytes = merging.workspace_bytes if radix is None or radix.key.partial else 0
    if radix:
        workspace_bytes = max(workspace_bytes, radix.workspace_bytes)
    merge = merging.emit(module) if lines.length > 1 and (radix is None or radix.key.partial) else ""
    counting_pass = radix.emit(module) if radix else ""
    builder = Builder(begin(module, kernel))
    if lines.count and lines.length:
        part = nest.share(builder, lines.count, THREAD, THREADS)
        workspace = builder.gep("i8", arguments(kernel).workspace, builder.mul(THREAD, integer(workspace_bytes)))
        with builder.loop(part.start, part.stop, name="line") as loop:
            if radix is None:
                merging.line(builder, merge, loop.index, workspace)
            else:
                _line(builder, (radix, counting_pass), (merging, merge), loop.index, workspace)
    builder.ret()
    return EmittedKernel(
        kernel, (builder.function.name,), workspace_bytes * threads, lines.count > 1, line_ns * lines.count
    )


def _radix(lines: Lines, merging: Merging) -> Radix | None:
    """The radix sort of the lines, where there is a key and it pays."""
    key = sort_key(lines.sort.attributes["to_apply"])
    if key is None or lines.length < 2 or lines.length >= 1 << 31:
        return None
    radix = Radix(lines, key)
    return radix if radix.line_ns < merging.line_ns else None


def _line(
    builder: Builder, radix: tuple[Radix, str], merging: tuple[Merging, str], line: Value, workspace: Value
) -> None:
    """Sort a line by its key, or where that is not in order, by merging."""
    by_key, counting_pass = radix
    ordered = by_key.load(builder, line, workspace)
    if not by_key.key.partial:
        by_key.line(builder, counting_pass, line, workspace)
        return
    with builder.when(ordered, "ordered"):
        by_key.line(builder, counting_pass, line, workspace)
    with builder.when(builder.binary("xor", ordered, Value(I1, "true")), "unordered"):
        merging[0].line(builder, merging[1], line, workspace)
