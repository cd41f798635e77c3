"""Sort kernels: every line along the sorted dimension on its own, lines or parts of them shared between threads.

Where a comparator orders by a key and that makes a record of 64 bits at most, a network sorts; beyond, lines that are
long enough for it are sorted by radix.  Any other comparator takes a merge sort.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.backends.cpu.kernels.sort.lines import Lines
from compiler.backends.cpu.kernels.sort.merge import Merging
from compiler.backends.cpu.kernels.sort.network import Network
from compiler.backends.cpu.kernels.sort.radix import Radix
from compiler.backends.cpu.kernels.sort.record import record_of
from compiler.backends.cpu.kernels.sort.select import Selection
from compiler.backends.cpu.kernels.sort.shared import Lined, Shared, SortLine
from compiler.codegen import nest
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments
from compiler.codegen.sort_key import SortKey, sort_key


def emit(module: Module, kernel: Kernel, threads: int) -> EmittedKernel:
    """Emit a sort kernel for calls with up to that many threads."""
    lines = Lines(kernel)
    key = sort_key(lines.sort.attributes["to_apply"])
    network = _network(module, lines, key, threads)
    if network and Shared.pays(network, threads):
        return Shared(module, kernel, network, threads).emit()
    sort, line_ns, workspace_bytes = _method(module, lines, key, network)
    builder = Builder(begin(module, kernel))
    if lines.count and lines.length:
        part = nest.share(builder, lines.count, THREAD, THREADS)
        workspace = builder.gep("i8", arguments(kernel).workspace, builder.mul(THREAD, integer(workspace_bytes)))
        with builder.loop(part.start, part.stop, name="line") as loop:
            sort(builder, loop.index, workspace)
    builder.ret()
    parallel = lines.count > 1
    workspace_bytes *= threads if parallel else 1
    return EmittedKernel(kernel, (builder.function.name,), workspace_bytes, parallel, line_ns * lines.count)


def _method(module: Module, lines: Lines, key: SortKey | None, network: Lined | None) -> tuple[SortLine, float, int]:
    """How a line is sorted, the expected time for that, and the bytes a thread needs."""
    selection = _selection(lines, key)
    if selection:
        line = partial(_with, selection.line, selection.emit(module))
        return line, selection.line_ns, selection.workspace_bytes
    if network:
        return network.emit(), network.line_ns, network.workspace_bytes
    radix = _radix(lines, key)
    if radix:
        return partial(_with, radix.line, radix.emit(module)), radix.line_ns, radix.workspace_bytes
    merging = Merging(lines)
    line = partial(_with, merging.line, merging.emit(module) if lines.length > 1 else "")
    return line, merging.line_ns, merging.workspace_bytes


def _selection(lines: Lines, key: SortKey | None) -> Selection | None:
    """The selection of the first few, where no more is read."""
    count = lines.results.read
    return Selection(lines, key, count) if key and Selection.suits(lines, key, count) else None


def _network(module: Module, lines: Lines, key: SortKey | None, threads: int) -> Lined | None:
    """The network for each line, where there are records for it and it pays."""
    if key is None or not lines.count or lines.length < 2 or _selection(lines, key):
        return None
    record = record_of(lines, key)
    if record is None:
        return None
    lined = Lined(record, Network(module, lines.kernel.name, record.type, lines.length, threads))
    radix = _radix(lines, key)
    return lined if lined.line_ns < (radix.line_ns if radix else Merging(lines).line_ns) else None


def _with(
    emit_line: Callable[[Builder, str, Value, Value], None],
    function: str,
    builder: Builder,
    line: Value,
    workspace: Value,
) -> None:
    emit_line(builder, function, line, workspace)


def _radix(lines: Lines, key: SortKey | None) -> Radix | None:
    """The radix sort of the lines, where there is a key and it pays."""
    if key is None or lines.length < 2 or lines.length >= 1 << 31:
        return None
    radix = Radix(lines, key)
    return radix if radix.line_ns < Merging(lines).line_ns else None
