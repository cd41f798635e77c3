"""Dividing a kernel's iteration space among threads, by arithmetic alone.

Every thread computes its own range from its number and the number of threads; no thread waits for another and nothing
is shared, so each packs what it needs.  Threads form a grid over (batch and rows) x columns, whose aspect is the one
that leaves the least to do for the thread that has most, packing included: a thread of a square product on four threads
packs half of either factor, not one of them whole.  Where the chunks of two threads meet within cache lines of the
result, one in each of its rows, these lines travel back and forth between the threads, which counts too.  The
arithmetic is a routine, the same in every program: code for divisions is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.codegen.llvm_ir import I64, Builder, Module, Value, integer, keep_rolled, write_once

_GRID = "gemm.share"
_BOUNDS = "[4 x i64]"
_NEVER = 1 << 62
"""Larger than any count, for what is not to be shared; no sum with it overflows 64 bits."""


@dataclass(frozen=True, slots=True)
class Range:
    """Panels `start` to `stop`, a value each."""

    start: Value
    stop: Value


@dataclass(frozen=True, slots=True)
class Extent:
    """The whole iteration space: batches, and panels of rows and columns.

    `row_cost` and `column_cost` are what it takes to pack a panel of rows and one of columns.  `row_edge` is what it
    takes more to compute a panel of columns whose rows another thread has a chunk of, `column_edge` the other way
    round.  Half of what it takes to compute where two panels meet is 1.
    """

    batch: int
    rows: int
    columns: int
    row_cost: int = 1
    column_cost: int = 1
    row_edge: int = 0
    column_edge: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """One thread's chunk: a range over batch x row panels taken as one sequence, and one over column panels."""

    extent: Extent
    rows: Range
    columns: Range

    def present(self, b: Builder) -> Value:
        """Whether there is anything in it; then no batch of it is empty either."""
        rows = b.compare("slt", self.rows.start, self.rows.stop)
        return b.binary("and", rows, b.compare("slt", self.columns.start, self.columns.stop))


def share(b: Builder, extent: Extent, thread: Value, threads: Value) -> Share:
    """The chunk of thread number `thread`; the chunks of all `threads` cover everything once.

    Args:
        b: where code is emitted.
        extent: what there is to do, in tiles.
        thread: the number of the thread, an i64.
        threads: how many there are, an i64.
    """
    height = extent.batch * extent.rows
    columns = Range(integer(0), integer(extent.columns))
    if height == 1:
        return Share(extent, Range(integer(0), integer(1)), _chunk(b, extent.columns, thread, threads))
    if extent.columns == 1:
        return Share(extent, _chunk(b, height, thread, threads), columns)
    sizes = height, extent.columns, extent.row_cost, extent.column_cost, extent.row_edge, extent.column_edge
    bounds = b.call(_grid(b.module), _BOUNDS, [thread, threads, *map(integer, sizes)])
    ends = [b.emit(I64, f"extractvalue {bounds}, {number}") for number in range(4)]
    return Share(extent, Range(ends[0], ends[1]), Range(ends[2], ends[3]))


def _grid(module: Module) -> str:
    """`[4 x i64] NAME(thread, threads, EXTENT)`: bounds of rows and columns, in panels.

    The width of the grid is how many threads share a row of it: a divisor of their number.
    """
    if not module.has_function(_GRID):
        write_once(module, _GRID, _write_grid)
    return f"@{_GRID}"


def _write_grid(module: Module) -> None:
    names = ("thread", "threads", "rows", "columns", "row_cost", "column_cost", "row_edge", "column_edge")
    function = module.function(
        _GRID, _BOUNDS, [(I64, name) for name in names], linkage="internal", attributes="noinline optnone nounwind"
    )
    function.routine = _GRID
    thread, threads, rows, columns, row_cost, column_cost, row_edge, column_edge = function.arguments
    b = Builder(function)
    with b.when(b.compare("eq", threads, integer(1)), "alone"):
        b.ret(_packed(b, [integer(0), rows, integer(0), columns]))
        b.begin(b.new_label("never"))
    start = [integer(1), integer(_NEVER)]
    with b.loop(integer(1), b.add(threads, integer(1)), carried=start, name="divisor", nonempty=True) as loop:
        down = b.binary("udiv", threads, loop.index)
        tall = b.binary("udiv", b.add(rows, b.sub(down, integer(1))), down)
        wide = b.binary("udiv", b.add(columns, b.sub(loop.index, integer(1))), loop.index)
        packing = b.add(b.mul(tall, row_cost), b.mul(wide, column_cost))
        cost = b.add(b.mul(b.mul(tall, wide), integer(2)), packing)
        for count, length, edge in ((loop.index, tall, column_edge), (down, wide, row_edge)):
            shared = b.compare("sgt", count, integer(1))
            cost = b.add(cost, b.select(shared, b.mul(length, edge), integer(0)))
        divides = b.compare("eq", b.mul(down, loop.index), threads)
        better = b.binary("and", divides, b.compare("slt", cost, loop.carried[1]))
        loop.carry(b.select(better, loop.index, loop.carried[0]), b.select(better, cost, loop.carried[1]))
    grid = loop.results[0]
    row, column = b.udivrem(thread, grid)
    ends = [*_between(b, rows, row, b.binary("udiv", threads, grid)), *_between(b, columns, column, grid)]
    b.ret(_packed(b, ends))


def _packed(b: Builder, values: list[Value]) -> Value:
    result = Value(_BOUNDS, "poison")
    for number, value in enumerate(values):
        result = b.emit(_BOUNDS, f"insertvalue {result}, {value}, {number}")
    return result


def _chunk(b: Builder, count: int, chunk: Value, chunks: Value) -> Range:
    return Range(*_between(b, integer(count), chunk, chunks))


def _between(b: Builder, total: Value, chunk: Value, chunks: Value) -> tuple[Value, Value]:
    start = b.binary("udiv", b.mul(chunk, total), chunks)
    return start, b.binary("udiv", b.mul(b.add(chunk, integer(1)), total), chunks)


@contextmanager
def batches(b: Builder, mine: Share) -> Iterator[tuple[Value, Range]]:
    """A loop over the batches of a share; yields each and its range of row panels, where there is anything in it."""
    count, rows = mine.extent.rows, mine.rows
    with b.when(mine.present(b), "present"):
        if mine.extent.batch == 1:
            yield integer(0), rows
            return
        last = b.binary("sdiv", b.add(rows.stop, integer(count - 1)), integer(count))
        with b.loop(b.binary("sdiv", rows.start, integer(count)), last, name="batch") as loop:
            if count == 1:
                yield loop.index, Range(integer(0), integer(1))
                return
            before = b.mul(loop.index, integer(count))
            start = b.smax(b.sub(rows.start, before), integer(0))
            yield loop.index, Range(start, b.smin(b.sub(rows.stop, before), integer(count)))


@contextmanager
def blocks(b: Builder, within: Range, size: int, most: int, name: str) -> Iterator[Range]:
    """A loop over blocks of `size` panels of a range that is not empty; no loop when all `most` fit into one.

    Args:
        b: where code is emitted.
        within: the range, which is not empty.
        size: panels of a block.
        most: panels of the range, at most.
        name: of the loop's labels.
    """
    if size >= most:
        yield within
        return
    with b.loop(within.start, within.stop, step=size, name=name, nonempty=True, metadata=keep_rolled(b.module)) as loop:
        after = b.add(loop.index, integer(size))
        yield Range(loop.index, b.smin(after, within.stop))
