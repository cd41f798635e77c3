"""Sort kernels: every line along the sorted dimension on its own, lines shared between threads.

A comparator that orders by a key is a radix sort where the lines are long enough for it, any other a merge sort.
Floats compared so that NaN is unordered have a key as long as there is no NaN, which is known when a line was read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.backends.cpu.kernels.sort_lines import Lines
from compiler.backends.cpu.kernels.sort_merge import Merging
from compiler.backends.cpu.kernels.sort_radix import Radix
from compiler.backends.cpu.kernels.sort_select import Selection
from compiler.codegen import nest
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, integer
from compiler.codegen.signature import arguments
from compiler.codegen.sort_key import SortKey, sort_key
from compiler.codegen.sort_prefix import kept

SortLine = Callable[[Builder, Value, Value], None]
"""Emits the sorting of the line of a number with a thread's workspace."""


def emit(module: Module, kernel: Kernel, threads: int) -> EmittedKernel:
    """Emit a sort kernel for calls with up to that many threads."""
    lines = Lines(kernel)
    sort, line_ns, workspace_bytes = _method(module, lines)
    builder = Builder(begin(module, kernel))
    if lines.count and lines.length:
        part = nest.share(builder, lines.count, THREAD, THREADS)
        workspace = builder.gep("i8", arguments(kernel).workspace, builder.mul(THREAD, integer(workspace_bytes)))
        with builder.loop(part.start, part.stop, name="line") as loop:
            sort(builder, loop.index, workspace)
    builder.ret()
    return EmittedKernel(
        kernel, (builder.function.name,), workspace_bytes * threads, lines.count > 1, line_ns * lines.count
    )


def _method(module: Module, lines: Lines) -> tuple[SortLine, float, int]:
    """How a line is sorted, the expected time for that, and the bytes a thread needs."""
    merging, key = Merging(lines), sort_key(lines.sort.attributes["to_apply"])
    count = kept(lines.kernel.instruction, lines.dimension)
    if key and count is not None and Selection.suits(lines, key, count):
        selection = Selection(lines, key, count)
        line = partial(_with, selection.line, selection.emit(module))
        return line, selection.line_ns, selection.workspace_bytes
    radix = _radix(lines, merging, key)
    if radix is None:
        merge = merging.emit(module) if lines.length > 1 else ""
        return partial(_with, merging.line, merge), merging.line_ns, merging.workspace_bytes
    workspace_bytes = radix.workspace_bytes
    counting_pass, merge = radix.emit(module), ""
    if radix.key.partial:
        merge = merging.emit(module)
        workspace_bytes = max(workspace_bytes, merging.workspace_bytes)
    return partial(_by_key, (radix, counting_pass), (merging, merge)), radix.line_ns, workspace_bytes


def _with(
    emit_line: Callable[[Builder, str, Value, Value], None],
    function: str,
    builder: Builder,
    line: Value,
    workspace: Value,
) -> None:
    emit_line(builder, function, line, workspace)


def _radix(lines: Lines, merging: Merging, key: SortKey | None) -> Radix | None:
    """The radix sort of the lines, where there is a key and it pays."""
    if key is None or lines.length < 2 or lines.length >= 1 << 31:
        return None
    radix = Radix(lines, key)
    return radix if radix.line_ns < merging.line_ns else None


def _by_key(
    radix: tuple[Radix, str], merging: tuple[Merging, str], builder: Builder, line: Value, workspace: Value
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
