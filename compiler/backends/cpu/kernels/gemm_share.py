"""Dividing a kernel's iteration space among threads, by arithmetic alone.

Every thread computes its own range from its number and the number of threads; no thread waits for another and nothing
is shared, so each packs what it needs.  Threads form a grid over (batch and rows) x columns, whose aspect follows the
shape: a thread of a square product on four threads packs half of either factor, not one of them whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.codegen.llvm_ir import Builder, Value, integer, keep_rolled

_GRID_WIDTHS = (2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True, slots=True)
class Range:
    """Panels `start` to `stop`, a value each."""

    start: Value
    stop: Value


@dataclass(frozen=True, slots=True)
class Extent:
    """The whole iteration space: batches, and panels of `row_size` rows and `column_size` columns each."""

    batch: int
    rows: int
    columns: int
    row_size: int = 1
    column_size: int = 1


@dataclass(frozen=True, slots=True)
class Share:
    """One thread's part: a range over batch x row panels taken as one sequence, and one over column panels."""

    extent: Extent
    rows: Range
    columns: Range

    def present(self, b: Builder) -> Value:
        """Whether there is anything in it; then no batch of it is empty either."""
        rows = b.compare("slt", self.rows.start, self.rows.stop)
        return b.binary("and", rows, b.compare("slt", self.columns.start, self.columns.stop))


def share(b: Builder, extent: Extent, thread: Value, threads: Value) -> Share:
    """The part of thread number `thread`; the parts of all `threads` cover everything once."""
    height = extent.batch * extent.rows
    if height == 1:
        return Share(extent, Range(integer(0), integer(1)), _part(b, extent.columns, thread, threads))
    width = _grid_width(b, extent, threads)
    if width.literal == 1:
        return Share(extent, _part(b, height, thread, threads), Range(integer(0), integer(extent.columns)))
    row, column = b.binary("sdiv", thread, width), b.binary("srem", thread, width)
    rows = _part(b, height, row, b.binary("sdiv", threads, width))
    return Share(extent, rows, _part(b, extent.columns, column, width))


def _grid_width(b: Builder, extent: Extent, threads: Value) -> Value:
    """How many threads share a row of the grid; a divisor of the number of threads."""
    width = integer(1)
    height = extent.batch * extent.rows * extent.row_size
    across = b.mul(threads, integer(extent.columns * extent.column_size))
    for candidate in _GRID_WIDTHS:
        if candidate > extent.columns:
            break
        fits = b.compare("sge", across, integer(candidate * candidate * height))
        divides = b.compare("eq", b.binary("srem", threads, integer(candidate)), integer(0))
        width = b.select(b.binary("and", fits, divides), integer(candidate), width)
    return width


def _part(b: Builder, count: int, part: Value, parts: Value) -> Range:
    total = integer(count)
    start = b.binary("sdiv", b.mul(part, total), parts)
    return Range(start, b.binary("sdiv", b.mul(b.add(part, integer(1)), total), parts))


@contextmanager
def batches(b: Builder, mine: Share) -> Iterator[tuple[Value, Range]]:
    """A loop over the batches of a share; yields each and its range of row panels."""
    count, rows = mine.extent.rows, mine.rows
    if mine.extent.batch == 1:
        yield integer(0), rows
        return
    last = b.binary("sdiv", b.add(rows.stop, integer(count - 1)), integer(count))
    with b.loop(b.binary("sdiv", rows.start, integer(count)), last, name="batch") as loop:
        if count == 1:
            yield loop.index, Range(integer(0), integer(1))
            return
        before = b.mul(loop.index, integer(count))
        start = b.intrinsic("smax.i64", [b.sub(rows.start, before), integer(0)])
        yield loop.index, Range(start, minimum(b, b.sub(rows.stop, before), count))


@contextmanager
def blocks(b: Builder, within: Range, size: int, most: int, name: str) -> Iterator[Range]:
    """A loop over blocks of `size` panels of a range that is not empty; no loop when all `most` fit into one."""
    if size >= most:
        yield within
        return
    with b.loop(within.start, within.stop, step=size, name=name, nonempty=True, metadata=keep_rolled(b.module)) as loop:
        after = b.add(loop.index, integer(size))
        yield Range(loop.index, b.intrinsic("smin.i64", [after, within.stop]))


def minimum(b: Builder, value: Value, bound: int) -> Value:
    """The smaller of a value and a constant."""
    return b.intrinsic("smin.i64", [value, integer(bound)])
