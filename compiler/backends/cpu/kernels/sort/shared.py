"""Sorting by a network: lines that threads share out, and a few long lines of each of which every thread does a chunk.

Of long lines pieces are sorted first, one by one; then each merge takes two phases, between which threads meet: the
stages that reach beyond a piece, of which every thread does some iterations, and what is left to do inside pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.sort.network import Network
from compiler.backends.cpu.kernels.sort.record import Record
from compiler.backends.cpu.kernels.strategy import Functions
from compiler.backends.cpu.kernels.vectors.lanes import Counters, Lanes, Loops, Step
from compiler.codegen import access, nest
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import I1, I8, Builder, Module, Value, integer, vector_type
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import LINE_BYTES

SortLine = Callable[[Builder, Value, Value], None]
"""Emits the sorting of the line of a number with a thread's workspace."""

_RECORD_NS = 0.5
"""Making a record and writing an element back."""
_SHARED_NS = 15_000.0
"""Lines that take longer are worth meeting for."""
_MOST_HALVINGS = 4
"""How often a line is halved among threads: 16 pieces, two for each of eight threads."""
_MEETING_NS = 1_000.0
"""Nanoseconds for threads to meet that share no cache (`codegen.cost.PARALLEL_NS`)."""
_MOVED_NS = 4.0
"""A vector that another core has worked on last."""
_CALLERS = ("pieces", "flip", "clean")
"""Phases that do nothing but call what takes the time."""


class Lined:
    """A network for each line, by one thread."""

    def __init__(self, record: Record, network: Network) -> None:
        self.record, self.network = record, network

    @property
    def line_ns(self) -> float:
        """The expected time for a line."""
        return self.network.ns + _RECORD_NS * self.record.lines.length

    @property
    def workspace_bytes(self) -> int:
        """The records, for one thread."""
        return self.network.bytes

    def emit(self) -> SortLine:
        """Defines a function that sorts a line; returns what calls it."""

        def sort(builder: Builder, line: Value, workspace: Value) -> None:
            flags = _load(builder, self.record, line, nest.all_of(self.record.lines.length), workspace)
            self._sort(builder, line, workspace, flags)

        return sort

    def _sort(self, builder: Builder, line: Value, records: Value, flags: Sequence[Value]) -> None:
        lines, network, zero = self.record.lines, self.network, integer(0)
        whole = nest.all_of(lines.length)
        network.pad(builder, records, lines.length, zero)
        network.sort(builder, records, zero, network.whole, zero)
        _store(builder, self.record, line, whole, records)
        if self.record.alike:
            with builder.when(flags[0], "alike"):
                self.record.mend(builder, line, records)


class Shared:
    """A network for lines of which every thread does a chunk."""

    def __init__(self, module: Module, kernel: Kernel, lined: Lined, threads: int) -> None:
        self.module, self.kernel, self.threads = module, kernel, threads
        self.record, self.network = lined.record, lined.network
        self.lines = lined.record.lines
        self.work = lined.line_ns * self.lines.count
        self.piece = min((self.network.whole >> n for n in range(1, _MOST_HALVINGS + 1)), key=self._piece_ns)
        self.flags_bytes = LINE_BYTES * threads
        self.phases: list[str] = []

    @staticmethod
    def pays(lined: Lined, threads: int) -> bool:
        """Whether there are too few lines to share them out, and long ones."""
        return threads > 1 and lined.record.lines.count < 2 * threads and lined.line_ns > _SHARED_NS

    def emit(self) -> Functions:
        """Emit the phases."""
        self._load()
        with self._phase("pieces") as builder:
            self._pieces(builder)
        run = self.piece
        while run < self.network.vectors:
            with self._phase(f"flip{run}") as builder:
                self._flip(builder, run)
            with self._phase(f"clean{run}") as builder:
                self._clean(builder, run)
            run *= 2
        with self._phase("results") as builder:
            self._store(builder)
        self._finish()
        return tuple(self.phases)

    @property
    def workspace_bytes(self) -> int:
        """Flags and the records of all lines."""
        return self.flags_bytes + self.lines.count * self.network.bytes

    def _piece_ns(self, size: int) -> float:
        """The expected time for everything, with pieces of that many vectors."""
        pieces = -(-self.network.vectors // size) * self.lines.count
        merges = (self.network.whole // size).bit_length() - 1
        alone = self.network.ns * size / self.network.vectors * -(-pieces // self.threads)
        return alone + merges * (2 * _MEETING_NS + self.lines.count * self.network.vectors / self.threads * _MOVED_NS)

    # -- phases -------------------------------------------------------------------------------------------------
    def _builder(self, suffix: str) -> Builder:
        builder = LaneBuilder(begin(self.module, self.kernel, suffix and f".{suffix}"))
        builder.function.cold = suffix.rstrip("0123456789") in _CALLERS
        self.phases.append(builder.function.name)
        return builder

    @contextmanager
    def _phase(self, suffix: str) -> Iterator[Builder]:
        builder = self._builder(suffix)
        yield builder
        builder.ret()

    def _any(self, builder: Builder) -> Value:
        """Whether any thread has found elements that may be alike."""
        none = [Value(I1, "false")]
        with builder.loop(integer(0), THREADS, carried=none, name="flag", nonempty=True, scalar=True) as loop:
            flag = builder.load(I8, self._flag(builder, loop.index))
            loop.carry(builder.binary("or", loop.carried[0], builder.compare("ne", flag, integer(0, I8))))
        return loop.results[0]

    def _flag(self, builder: Builder, thread: Value) -> Value:
        return builder.gep(I8, arguments(self.kernel).workspace, builder.mul(thread, integer(LINE_BYTES)))

    def _records(self, builder: Builder, line: Value) -> Value:
        offset = builder.add(builder.mul(line, integer(self.network.bytes)), integer(self.flags_bytes))
        return builder.gep(I8, arguments(self.kernel).workspace, offset)

    @contextmanager
    def _each(self, builder: Builder) -> Iterator[tuple[Value, Value]]:
        """All lines, each with its records."""
        with builder.loop(integer(0), integer(self.lines.count), name="line", nonempty=True) as line:
            yield line.index, self._records(builder, line.index)

    def _load(self) -> None:
        builder = self._builder("records")
        chunk = nest.share(builder, self.lines.length, THREAD, THREADS, align=LINE_BYTES)
        builder.store(integer(0, I8), self._flag(builder, THREAD))
        with self._each(builder) as (line, records):
            flags = _load(builder, self.record, line, chunk, records)
            for flag in flags:
                with builder.when(flag, "flag"):
                    builder.store(integer(1, I8), self._flag(builder, THREAD))
            self.network.pad(builder, records, self.lines.length, THREAD)
        builder.ret()

    def _pieces(self, builder: Builder) -> None:
        count = -(-self.network.vectors // self.piece)
        chunk = nest.share(builder, count * self.lines.count, THREAD, THREADS)
        with builder.loop(chunk.start, chunk.stop, name="piece", scalar=True) as loop:
            line, piece = builder.udivrem(loop.index, integer(count))
            first = builder.mul(piece, integer(self.piece))
            self.network.sort(builder, self._records(builder, line), first, self.piece, THREAD)

    def _flip(self, builder: Builder, run: int) -> None:
        network = self.network
        with self._each(builder) as (_, records):
            last = integer(network.vectors)
            with builder.loop(integer(0), last, step=2 * run, name="block", nonempty=True, scalar=True) as block:
                start = network.flip_start(builder, block.index, run)
                trip_count = builder.smax(builder.sub(network.flip_iterations(run), start), integer(0))
                ends = [
                    builder.binary("udiv", builder.mul(trip_count, number), THREADS)
                    for number in (THREAD, builder.add(THREAD, integer(1)))
                ]
                mine = builder.add(start, ends[0]), builder.add(start, ends[1])
                network.flip(builder, records, block.index, run, THREAD, mine)

    def _clean(self, builder: Builder, run: int) -> None:
        stride = self.network.flipped(run)
        size = max(self.piece, 2 * stride)
        count = -(-self.network.vectors // size)
        chunk = nest.share(builder, count * self.lines.count, THREAD, THREADS)
        with builder.loop(chunk.start, chunk.stop, name="piece", scalar=True) as loop:
            line, piece = builder.udivrem(loop.index, integer(count))
            first = builder.mul(piece, integer(size))
            self.network.clean(builder, self._records(builder, line), first, size, stride, THREAD)

    def _store(self, builder: Builder) -> None:
        chunk = nest.share(builder, self.lines.length, THREAD, THREADS, align=LINE_BYTES)
        with self._each(builder) as (line, records):
            _store(builder, self.record, line, chunk, records)

    def _finish(self) -> None:
        """What one thread does alone: lines that are to be mended."""
        if not self.record.alike:
            return
        builder = self._builder("")
        finish, ready = builder.new_label("finish"), builder.new_label("ready")
        builder.branch_if(builder.compare("eq", THREAD, integer(0)), finish, ready)
        builder.begin(finish)
        with builder.when(self._any(builder), "alike"), self._each(builder) as (line, records):
            self.record.mend(builder, line, records)
        builder.branch(ready)
        builder.begin(ready)
        builder.ret()


def _load(builder: Builder, record: Record, line: Value, chunk: nest.Range, records: Value) -> list[Value]:
    """Make the records of a chunk; returns whether any may be alike, where that is asked."""
    emission = Emission(builder)

    def step(counters: Counters, carried: list[Value]) -> list[Value]:
        made, flags = record.load(emission, line, counters[0])
        access.write(emission, records, record.stored_as, counters[0], made)
        if emission.lane and emission.lane.mask:
            flags = [builder.binary("and", flag, emission.lane.mask) for flag in flags]
        return [builder.binary("or", any_, flag) for any_, flag in zip(carried, flags, strict=True)]

    none = [Value(I1, "false")] * record.alike
    return _walk(emission, record.lanes, Loops([chunk], [record.lines.length]), none, step)


def _store(builder: Builder, record: Record, line: Value, chunk: nest.Range, records: Value) -> None:
    """Write the results of a chunk."""
    emission = Emission(builder)

    def step(counters: Counters, carried: list[Value]) -> list[Value]:
        made = access.read(emission, records, record.stored_as, counters[0])
        record.store(emission, line, counters[0], made)
        return carried

    _walk(emission, record.result_lanes, Loops([chunk], [record.lines.length]), [], step)


def _walk(emission: Emission, lanes: Lanes | None, loops: Loops, flags: list[Value], step: Step) -> list[Value]:
    """Do something for neighbours at a time, or for one element after the other; returns the flags that any set."""
    builder, (chunk,) = emission.builder, loops.ranges
    if lanes is None:
        (length,) = loops.counts
        with builder.loop(chunk.start, chunk.stop, carried=flags, name="element") as loop:
            emission.enter()
            loop.carry(*step([emission.opaque(loop.index, length)], loop.carried))
            emission.leave()
        return loop.results
    none = [integer(0, vector_type(I1, lanes.width)) for _ in flags]
    (found,) = lanes.carry(emission, loops, [none], step)
    return [builder.overloaded("vector.reduce.or", [flag], result=I1) for flag in found]
