"""Scans: a reduce-window whose windows hold everything from one end of a dimension up to the position itself.

Each result is the one before it combined with one more element, n steps instead of n squared.  A single chain would
wait for its own latency, so several rows are scanned at a time; a scan along an outer dimension carries whole rows.
Every result is the same sum whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.ir_text import size_of
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.strategy import Functions, Given, Plan
from compiler.codegen import complex_numbers, element, nest
from compiler.codegen.index import Emission, Index, Variable, digits
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I8, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.scanning import Direction
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.windows import combiner_of

CHAINS = 8
"""Rows scanned at a time: enough to hide the latency of an addition."""
_COLUMNS = 512
"""Neighbouring results carried along an outer dimension at a time, at most."""
_LEAST_COLUMNS = 64
"""Columns of a thread at least: four cache lines of f32."""
STEP_NS = 0.16
"""Nanoseconds for an element."""


def decide(given: Given, way: Direction) -> Plan:
    """The plan of a scan."""
    extent = Extent.of(given.kernel, way, given.threads)

    def emit(module: Module) -> Functions:
        found = Scan(module, given.kernel, way, extent)
        found.emit()
        return (found.builder.function.name,)

    work = STEP_NS * given.kernel.outputs[0].size
    details = {"extent": [extent.outer, extent.length, extent.inner]}
    return given.plan(emit, work, shared_bytes=given.threads * extent.scratch_bytes, details=details)


@dataclass(frozen=True, slots=True)
class Extent:
    """An array seen as (outer, length, inner), of whose inner elements so many `columns` are carried at a time.

    Attributes:
        outer: rows along the dimension.
        length: elements of one.
        inner: elements of the dimensions within.
        columns: neighbours that are carried along together.
        scratch_bytes: room for them, for each thread.
    """

    outer: int
    length: int
    inner: int
    columns: int
    scratch_bytes: int

    @staticmethod
    def of(kernel: Kernel, way: Direction, threads: int = 1) -> Extent:
        """The array that a kernel scans, for calls with up to that many threads.

        Args:
            kernel: whose root scans.
            way: along which dimension, and from which end.
            threads: of a call, at most.
        """
        (instruction,) = kernel.roots
        dims = instruction.operands[0].array.dims
        outer, inner = math.prod(dims[: way.dim]), math.prod(dims[way.dim + 1 :])
        # A chunk of the columns for each thread, where there are not blocks enough.
        share = -(-inner // max(1, threads // max(1, outer)))
        columns = min(_COLUMNS, -(-share // _LEAST_COLUMNS) * _LEAST_COLUMNS)
        scratch = 0 if inner == 1 else columns * size_of(element.value_type(combiner_of(instruction).types[0]))
        return Extent(outer, dims[way.dim], inner, columns, scratch)


class ScanPosition(NamedTuple):
    """An element: its numbers in front of the scanned dimension, along it, and behind it where that has several."""

    outer: Value
    position: Value
    inner: Value | None


class Scan:
    """Emits one thread's chunk."""

    def __init__(self, module: Module, kernel: Kernel, way: Direction, extent: Extent, suffix: str = "") -> None:
        (instruction,) = kernel.roots
        self.kernel = kernel
        self.array, self.initial = instruction.operands
        self.dims = self.array.array.dims
        self.way = way
        self.combiner = combiner_of(instruction)
        self.type = element.value_type(self.combiner.types[0])
        self.outer, self.length, self.inner = extent.outer, extent.length, extent.inner
        self.columns, self.scratch_bytes = extent.columns, extent.scratch_bytes
        self.builder = Builder(begin(module, kernel, suffix))

    def emit(self) -> None:
        """Emit all loops of the scan."""
        b = self.builder
        if self.inner > 1:
            self._carry_rows()
        else:
            self.in_chains(self.outer, self._chains)
        b.ret()

    def in_chains(self, count: int, chains: Callable[[Value, int], None]) -> None:
        """A thread's share of so many rows, so many neighbours at a time; `chains` gets the first and their number."""
        b = self.builder
        whole = count // CHAINS
        chunk = nest.share(b, -(-count // CHAINS), THREAD, THREADS)
        with b.loop(chunk.start, chunk.stop, name="rows", metadata=keep_rolled(b.module)) as group:
            first = b.mul(group.index, integer(CHAINS))
            if whole:
                with b.when(b.compare("slt", first, integer(whole * CHAINS)), "chains"):
                    chains(first, CHAINS)
            if count % CHAINS:
                with b.when(b.compare("sge", first, integer(whole * CHAINS)), "rest"):
                    chains(first, count % CHAINS)

    def position(self, step: Value) -> Value:
        """The index along the scanned dimension at a step."""
        return self.builder.sub(integer(self.length - 1), step) if self.way.backwards else step

    def start(self) -> Value:
        """The value that a row starts from."""
        return elemental_of(self.kernel, Emission(self.builder)).value(self.initial, ())

    def _chains(self, first: Value, count: int) -> None:
        """Neighbouring rows, all at once."""
        rows = [(self.builder.add(first, integer(n)), integer(0)) for n in range(count)]
        self.run(rows, self.length, [self.start()] * count)

    def run(self, rows: Sequence[tuple[Value, Value]], length: int, start: Sequence[Value]) -> list[Value]:
        """Scan so many steps of several rows at once; returns the totals.

        Args:
            rows: the number of a row and of its first step, of each.
            length: steps.
            start: a total for each row.
        """
        b, types = self.builder, [value.type for value in start]
        with b.loop(
            integer(0),
            integer(length),
            carried=complex_numbers.taken_apart(b, start),
            name="step",
            nonempty=True,
            metadata=keep_rolled(b.module, scalar=True),
        ) as loop:
            totals = []
            for (row, first), total in zip(rows, complex_numbers.put_together(b, loop.carried, types), strict=True):
                position = self.position(b.add(first, loop.index))
                totals.append(self._combine(ScanPosition(row, position, None), total))
            loop.carry(*complex_numbers.taken_apart(b, totals))
        return complex_numbers.put_together(b, loop.results, types)

    def _combine(self, at: ScanPosition, total: Value) -> Value:
        """The next total, stored as the result at (outer, position, inner)."""
        emission = Emission(self.builder)
        values = elemental_of(self.kernel, emission)
        indices = self.indices(emission, at)
        found = values.value(self.array, tuple(indices))
        (total,) = self.combiner.combine(values, [total], [found], flags="")
        (result,) = self.combiner.finish(values, [total])
        (root,) = self.kernel.roots
        offset = Index()
        for index, size in zip(indices, self.dims, strict=True):
            offset = offset.times(size) + index
        store(emission, root.array, result, arguments(self.kernel).outputs[0], offset)
        return total

    def indices(self, emission: Emission, at: ScanPosition) -> list[Index]:
        """The indices of the element at (outer, position, inner)."""
        outer, position, inner = at
        dim = self.way.dim
        before = digits(Variable(outer, self.outer), self.dims[:dim])
        after: Sequence[Index] = [Index()] * (len(self.dims) - dim - 1)
        if inner is not None:
            after = digits(Variable(inner, self.inner), self.dims[dim + 1 :])
        return [*before, emission.opaque(position, self.length), *after]

    def _carry_rows(self) -> None:
        """Blocks of columns; a row of totals is carried through each."""
        b = self.builder
        columns = -(-self.inner // self.columns)
        held = b.gep(I8, arguments(self.kernel).workspace, b.mul(THREAD, integer(self.scratch_bytes)))
        chunk = nest.share(b, self.outer * columns, THREAD, THREADS)
        with b.loop(chunk.start, chunk.stop, name="block", metadata=keep_rolled(b.module)) as block:
            outer, number = b.udivrem(block.index, integer(columns))
            first = b.mul(number, integer(self.columns))
            left = b.sub(integer(self.inner), first)
            width = b.smin(left, integer(self.columns))
            with b.loop(integer(0), width, name="start", nonempty=True) as loop:
                b.store(self.start(), b.gep(self.type, held, loop.index))
            with b.loop(
                integer(0), integer(self.length), name="step", nonempty=True, metadata=keep_rolled(b.module)
            ) as step:
                position = self.position(step.index)
                with b.loop(integer(0), width, name="column", nonempty=True) as loop:
                    address = b.gep(self.type, held, loop.index)
                    at = ScanPosition(outer, position, b.add(first, loop.index))
                    b.store(self._combine(at, b.load(self.type, address)), address)
