"""Sort kernels: every line along the sorted dimension on its own, lines or chunks of them shared between threads.

Where a comparator orders by a key and that makes a record of 64 bits at most, a network sorts; beyond, lines that are
long enough for it are sorted by radix.  Any other comparator takes a merge sort.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from compiler.backends import strategy
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.sort.lines import Lines
from compiler.backends.cpu.kernels.sort.merge import Merging
from compiler.backends.cpu.kernels.sort.network import Network
from compiler.backends.cpu.kernels.sort.radix import Radix
from compiler.backends.cpu.kernels.sort.record import Record, record_of
from compiler.backends.cpu.kernels.sort.select import Selection
from compiler.backends.cpu.kernels.sort.shared import Lined, Shared, SortLine
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import nest
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments
from compiler.codegen.sort_key import SortKey, sort_key


class SortGiven(Given):
    """A sort kernel: its lines, and by what key they are sorted, if by one; what a line would take."""

    @cached_property
    def lines(self) -> Lines:
        """The lines along the sorted dimension."""
        return Lines(self.kernel)

    @cached_property
    def key(self) -> SortKey | None:
        """The key that elements are compared by, None where the comparator says something else."""
        return sort_key(self.lines.sort.attributes["to_apply"])

    @cached_property
    def selection(self) -> Selection | None:
        """The selection of the first few, where no more is read."""
        count = self.lines.results.read
        suits = self.key and Selection.suits(self.lines, self.key, count)
        return Selection(self.lines, self.key, count) if self.key and suits else None

    @cached_property
    def radix(self) -> Radix | None:
        """The radix sort of the lines, where there is a key and it pays."""
        if self.key is None or self.lines.length < 2 or self.lines.length >= 1 << 31:
            return None
        radix = Radix(self.lines, self.key)
        return radix if radix.line_ns < Merging(self.lines).line_ns else None

    @cached_property
    def record(self) -> Record | None:
        """The records that a network would sort, None where elements make none."""
        if self.key is None or not self.lines.count or self.lines.length < 2 or self.selection:
            return None
        return record_of(self.lines, self.key, self.machine.has)

    def network(self, record: Record, module: Module) -> Lined:
        """The network for each line, which writes into a module."""
        return Lined(record, Network(module, record.type, self.lines.length, self.threads))

    @cached_property
    def lined(self) -> Lined | None:
        """The network, to be looked at, where there are records for it and it pays."""
        if self.record is None:
            return None
        lined = self.network(self.record, self.scratch)
        return lined if lined.line_ns < (self.radix or Merging(self.lines)).line_ns else None

    @property
    def no_network(self) -> str:
        """Why there is none."""
        if self.record is None:
            return "elements make no records by a key, or few of them are read"
        return "a radix or merge sort takes less"

    def by_line(self, line_ns: float, thread_bytes: int, sort: Callable[[Module], SortLine], **details: Detail) -> Plan:
        """The plan of lines that threads share out.

        Args:
            line_ns: the expected time for a line.
            thread_bytes: workspace for each thread.
            sort: gives what sorts a line, after writing functions for it into a module.
            details: what else there is to say.
        """
        lines = self.lines

        def emit(module: Module) -> Functions:
            sort_line = sort(module)
            builder = LaneBuilder(begin(module, self.kernel))
            if lines.count and lines.length:
                chunk = nest.share(builder, lines.count, THREAD, THREADS)
                own = builder.mul(THREAD, integer(thread_bytes))
                workspace = builder.gep("i8", arguments(self.kernel).workspace, own)
                with builder.loop(chunk.start, chunk.stop, name="line") as loop:
                    sort_line(builder, loop.index, workspace)
            builder.ret()
            return (builder.function.name,)

        parallel = lines.count > 1
        return strategy.Plan(
            emit=emit,
            cost_ns=line_ns * lines.count,
            workspace_bytes=thread_bytes * (self.threads if parallel else 1),
            parallel=parallel,
            details={"lines": lines.count, "line_length": lines.length, **details},
        )


def _shared(given: SortGiven) -> Plan | Declined:
    """The plan of a network of whose stages every thread does a chunk."""
    lined, record = given.lined, given.record
    if lined is None or record is None:
        return Declined(given.no_network)
    if not Shared.pays(lined, given.threads):
        return Declined("lines are short, or enough of them for every thread to have its own")

    def emit(module: Module) -> Functions:
        return Shared(module, given.kernel, given.network(record, module), given.threads).emit()

    seen = Shared(given.scratch, given.kernel, lined, given.threads)
    details = {"lines": given.lines.count, "line_length": given.lines.length, "piece": seen.piece}
    return strategy.Plan(emit=emit, cost_ns=seen.work, workspace_bytes=seen.workspace_bytes, details=details)


def _select(given: SortGiven) -> Plan | Declined:
    """The plan of a selection of the first few."""
    selection = given.selection
    if selection is None:
        return Declined("no key, or more than a few elements of each line are read")
    return given.by_line(
        *(selection.line_ns, selection.workspace_bytes), lambda _: selection.line, selected=selection.count
    )


def _network(given: SortGiven) -> Plan | Declined:
    """The plan of a network for each line."""
    lined, record = given.lined, given.record
    if lined is None or record is None:
        return Declined(given.no_network)
    return given.by_line(
        *(lined.line_ns, lined.workspace_bytes),
        lambda module: given.network(record, module).emit(),
        record=record.type,
    )


def _radix(given: SortGiven) -> Plan | Declined:
    """The plan of a radix sort of each line."""
    radix = given.radix
    if radix is None:
        return Declined("no key, or lines are too short for so many buckets")

    def sort(module: Module) -> SortLine:
        return partial(_with, radix.line, radix.emit(module))

    return given.by_line(radix.line_ns, radix.workspace_bytes, sort, digit_bits=radix.digit, passes=radix.passes)


def _merge(given: SortGiven) -> Plan:
    """The plan of a merge sort of each line."""
    merging = Merging(given.lines)

    def sort(module: Module) -> SortLine:
        return partial(_with, merging.line, merging.emit(module) if given.lines.length > 1 else "")

    return given.by_line(merging.line_ns, merging.workspace_bytes, sort)


def _with(
    emit_line: Callable[[Builder, str, Value, Value], None],
    function: str,
    builder: Builder,
    line: Value,
    workspace: Value,
) -> None:
    emit_line(builder, function, line, workspace)


SORT = Kind(
    (
        Strategy("network shared by threads", _shared),
        Strategy("selection", _select),
        Strategy("network for each line", _network),
        Strategy("radix sort", _radix),
        Strategy("merge sort", _merge),
    ),
    SortGiven,
)
"""Sort kernels."""
