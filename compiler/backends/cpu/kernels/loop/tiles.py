"""Loop kernels that read something across: transposes, and whatever is fused around them.

Where a leaf lies so that the kernel's innermost loop strides through it while another loop would walk it in order, the
two loops are cut into tiles.  A tile of the leaf is read in order, transposed block by block in registers and put into
a buffer in L1; the kernel's body then runs over the tile and finds its elements there.  So every cache line is read
once and whole, and the result is written in runs of several.  A block at an edge begins where it ends with the edge:
what it shares with the one before is computed twice, to the same bits.

Large results, whose lines come from far apart and go nowhere near, are streamed past the caches (`nontemporal`): the
body leaves them in a second buffer, from which whole lines go.  What is only moved goes from the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin, parameters
from compiler.backends.cpu.kernels.loop.given import LoopGiven
from compiler.backends.cpu.kernels.strategy import Functions, Plan
from compiler.backends.cpu.kernels.vectors import nontemporal
from compiler.backends.cpu.kernels.vectors.transposition import transpose
from compiler.backends.cpu.machine import WIDEST_VECTOR_BYTES, Machine
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import nest, strided
from compiler.codegen.index import Emission, Index, Variable, constant, whole
from compiler.codegen.llvm_ir import I1, PTR, Builder, Loop, Module, Value, integer, keep_rolled, vector_type
from compiler.codegen.signature import arguments
from compiler.codegen.strided import Access, StridedReads
from compiler.ops import Trait, narrowing

_SIDE = 16
"""Rows and columns of a block: a row of 4-byte elements is one cache line."""
_FEWEST = 8
"""Rows and columns from which on there are blocks; the side of small ones."""
_PADDED, _PADDED_NARROW = 1.05, 1.3
"""How much longer blocks of the larger side may make a loop than small ones would: those are slower to transpose."""
_WORTH = 2.5
"""How much more than it has may be transposed of a tile."""
_NARROW_BYTES = 4
"""Bytes of an element up to which 16 rows of it are 16 registers; wider ones take blocks of half the side."""
_WORD_BYTES = 8
"""Bytes of the widest element that shuffles move; wider ones move in parts."""
_TILE_BYTES = 256
"""A row of a tile: what is read, and written, of consecutive memory at a time."""
_MOST_BLOCKS = 4
"""Blocks of a row of a tile: 256 bytes of f32, four lines of each of 16 rows."""
_MOVEMENT = narrowing(Trait.MOVES, "transpose reshape bitcast") | {"copy"}
"""What may stand in a tile: elements go to other positions, and none is left out or repeated."""


def decide(given: LoopGiven) -> Plan | Declined:
    """The plan where something is read across."""
    tiling = _strided_reads(given)
    if isinstance(tiling, Declined):
        return tiling
    tiled = _Tiling.of(tiling, given.machine)

    def emit(module: Module) -> Functions:
        function = begin(module, given.kernel)
        builder = Builder(function)
        _Tiled(builder, tiled).emit(parallel=plan.parallel)
        builder.ret()
        return (function.name,)

    sizes = [tiled.rows.most * tiled.rows.side, tiled.columns.most * tiled.columns.side]
    read = [access.leaf.name for access in tiling.accesses]
    details: dict[str, Detail] = {"loops": given.group.loops, "tile": sizes, "read_across": read}
    plan = given.plan(emit, given.cost_ns, details={**details, "streams": tiled.streams})
    return plan


def _strided_reads(given: LoopGiven) -> StridedReads | Declined:
    """What a loop kernel reads across, or why it is not tiled."""
    kernel, group = given.kernel, given.group
    found = strided.find(nest.scratch(given.scratch, parameters(kernel)), kernel, group, _FEWEST)
    if found is None:
        return Declined("nothing is read across its innermost loop that another loop would read in order")
    size = max(access.leaf.array.element_type.size_bytes for access in found.accesses)
    counts = group.loops[found.loop], group.loops[-1]
    padded = math.prod(_rounded_up(count, _side(count, size)) / count for count in counts)
    # Elements of 8 bytes are loaded one by one no faster than squares of which half is thrown away.
    if size <= _NARROW_BYTES and padded > _WORTH:
        return Declined(f"tiles would transpose {padded:.1f} times what there is")
    return found


def _side(count: int, size: int) -> int:
    """The side of the blocks of elements of `size` bytes that a loop of so many iterations is cut into."""
    most = _PADDED if size >= _NARROW_BYTES else _PADDED_NARROW
    longer = _rounded_up(count, _SIDE) > most * _rounded_up(count, _FEWEST)
    return _FEWEST if count < _SIDE or longer else _SIDE


def _rounded_up(count: int, side: int) -> int:
    return -(-count // side) * side


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A loop of `count` iterations cut into blocks of `side`, of which a tile has up to `most`."""

    count: int
    most: int
    side: int

    @property
    def blocks(self) -> int:
        return -(-self.count // self.side)

    @property
    def tiles(self) -> int:
        return -(-self.blocks // self.most)

    def of_tile(self, builder: Builder, tile: Value) -> Value:
        """The number of blocks of a tile."""
        if self.blocks % self.most == 0:
            return integer(self.most)
        left = builder.sub(integer(self.blocks), builder.mul(tile, integer(self.most)))
        return builder.smin(left, integer(self.most))

    def start(self, builder: Builder, tile: Value, block: Value) -> Value:
        """The first iteration of a tile's block."""
        number = builder.add(builder.mul(tile, integer(self.most)), block)
        first = builder.mul(number, integer(self.side))
        if self.count % self.side == 0:
            return first
        return builder.smin(first, integer(self.count - self.side))


Point = tuple[Value, Value]
"""A position along one loop of a tile: a block, and a position in it."""


@dataclass(frozen=True, slots=True)
class _Tile:
    """A tile in the making: its numbers along either loop, and the counters of the loops outside."""

    counters: list[Index]
    row: Value
    column: Value


@dataclass(frozen=True, slots=True)
class _Tiling:
    """What is decided about a tiled kernel.

    Attributes:
        crossing: what is read across.
        rows: blocks of the loop that reads in order.
        columns: blocks of the innermost loop.
        streams: whether results go past the caches.
    """

    reads: StridedReads
    rows: _Blocks
    columns: _Blocks
    streams: bool

    @staticmethod
    def of(reads: StridedReads, machine: Machine) -> _Tiling:
        """Sizes of tiles for a machine."""
        size = max(access.leaf.array.element_type.size_bytes for access in reads.accesses)
        most = max(1, min(_MOST_BLOCKS, _TILE_BYTES // (_SIDE * size)))
        counts = reads.group.loops
        rows, columns = counts[reads.loop], counts[-1]
        # What is streamed is whole lines.
        streams = min(rows, columns) >= _SIDE and nontemporal.pays(machine, reads.kernel.outputs, columns)
        sides = [_SIDE if streams else _side(count, size) for count in (rows, columns)]
        return _Tiling(reads, _Blocks(rows, most, sides[0]), _Blocks(columns, most, sides[1]), streams)


class _Tiled:
    """The loops of a tiled kernel; counters are one index per loop of the group."""

    def __init__(self, builder: Builder, decided: _Tiling) -> None:
        self.builder = builder
        self.tiling = tiling = decided.reads
        self.counts = tiling.group.loops
        self.across, self.inner = tiling.loop, len(self.counts) - 1
        self.rows, self.columns, self.streams = decided.rows, decided.columns, decided.streams
        sizes = [access.leaf.array.element_type.size_bytes for access in tiling.accesses]
        # Rows of a buffer are a vector more than a power of two apart, so that they do not fall on the same few lines.
        self.pitch = (self.rows.most + 1) * _SIDE
        outputs = tiling.kernel.outputs
        # Bits are moved, not numbers, so that parts of complex ones stay together.
        self.buffers = self._buffers(sizes)
        moves = len(tiling.kernel.roots) == 1 and all(i.opcode in _MOVEMENT for i in tiling.kernel.body())
        self.staged: list[Value] = []
        if self.streams:
            targets = arguments(tiling.kernel).outputs
            self.aligned = nontemporal.is_aligned(builder, targets)
            self.staged = self.buffers if moves else self._buffers([o.element_type.size_bytes for o in outputs])

    def _buffers(self, sizes: Sequence[int]) -> list[Value]:
        """Room for a tile of elements of each size."""
        height = self.rows.most * _SIDE
        allocations = [f"alloca [{height * self.pitch} x i{8 * size}], align 64" for size in sizes]
        return [self.builder.emit(PTR, allocation) for allocation in allocations]

    def emit(self, *, parallel: bool) -> None:
        """Loops outside, then rows of tiles, then the tiles of a row."""
        outer = [n for n in range(len(self.counts)) if n not in (self.across, self.inner)]
        units = self.rows.tiles
        for number in outer:
            units *= self.counts[number]
        builder = self.builder
        chunk = nest.share(builder, units, THREAD, THREADS) if parallel else nest.all_of(units)
        with builder.loop(chunk.start, chunk.stop, name="strip", metadata=keep_rolled(builder.module)) as loop:
            counters, strip = self._unit(Emission(builder), loop.index, outer, units)
            with builder.loop(
                integer(0),
                integer(self.columns.tiles),
                name="tile",
                nonempty=True,
                metadata=keep_rolled(builder.module),
            ) as tile:
                self._tile(_Tile(counters, strip, tile.index))
        if self.streams:
            nontemporal.finish(builder)

    def _unit(self, emission: Emission, index: Value, outer: Sequence[int], units: int) -> tuple[list[Index], Value]:
        """The loop counters of a strip of tiles, and its number among those side by side."""
        counters = [constant(0)] * len(self.counts)
        rest, strip = emission.divide(whole(Variable(index, units)), self.rows.tiles)
        for number in reversed(outer):
            rest, counter = emission.divide(rest, self.counts[number])
            counters[number] = emission.opaque(emission.value(counter), self.counts[number])
        return counters, emission.value(strip)

    def _tile(self, tile: _Tile) -> None:
        """Bring a tile's elements near, then run the body over its rows, block after block."""
        builder = self.builder
        height, width = self.rows.of_tile(builder, tile.row), self.columns.of_tile(builder, tile.column)
        with self._blocks(width) as column, self._blocks(height) as row:
            for access, buffer in zip(self.tiling.accesses, self.buffers, strict=True):
                self._fill(tile, access, buffer, (row.index, column.index))
        if self.staged != self.buffers:
            self._each_run((height, width), partial(self._compute, tile))
        if self.streams:
            for streamed in (True, False):
                with builder.when(builder.compare("eq", self.aligned, Value(I1, str(streamed).lower())), "flush"):
                    self._each_run((height, width), partial(self._flush, tile, streamed=streamed))

    def _each_run(self, size: tuple[Value, Value], run: Callable[[Point, Value], None]) -> None:
        """Do something for each row and each block of columns in a tile of so many blocks."""
        builder = self.builder
        metadata = keep_rolled(builder.module)
        with (
            self._blocks(size[0]) as row,
            builder.loop(
                integer(0), integer(self.rows.side), name="row", nonempty=True, metadata=metadata
            ) as iteration,
            self._blocks(size[1]) as column,
        ):
            run((row.index, iteration.index), column.index)

    def _compute(self, tile: _Tile, row: Point, column: Value) -> None:
        """The body at the points of a run."""
        with self.builder.loop(integer(0), integer(self.columns.side), name="column", nonempty=True) as point:
            self._element(tile, row, (column, point.index))

    def _flush(self, tile: _Tile, row: Point, column: Value, *, streamed: bool) -> None:
        """Bring a run from where it is staged to the results."""
        builder, kernel = self.builder, self.tiling.kernel
        counters, offset = self._at(tile, row, (column, integer(0)))
        at = Emission(builder).value(self.tiling.group.combine(counters))
        for staged, output, target in zip(self.staged, kernel.outputs, arguments(kernel).outputs, strict=True):
            size = output.element_type.size_bytes
            source, goal = (builder.gep(f"i{8 * size}", p, i) for p, i in ((staged, offset), (target, at)))
            nontemporal.copy(builder, source, goal, self.columns.side * size, streamed=streamed)

    def _blocks(self, count: Value) -> AbstractContextManager[Loop]:
        metadata = keep_rolled(self.builder.module)
        return self.builder.loop(integer(0), count, name="block", nonempty=True, metadata=metadata)

    def _at(self, tile: _Tile, row: Point, column: Point) -> tuple[list[Index], Value]:
        """The loop counters of a point in a tile, and its position in the buffers."""
        builder = self.builder
        across = builder.add(self.rows.start(builder, tile.row, row[0]), row[1])
        inner = builder.add(self.columns.start(builder, tile.column, column[0]), column[1])
        emission = Emission(builder)
        counters = self._with(
            tile, emission.opaque(across, self.rows.count), emission.opaque(inner, self.columns.count)
        )
        offset = self._offset(row[0], column[0])
        return counters, builder.add(offset, builder.add(builder.mul(row[1], integer(self.pitch)), column[1]))

    def _element(self, tile: _Tile, row: Point, column: Point) -> None:
        """The body at a point."""
        counters, offset = self._at(tile, row, column)
        emission = Emission(self.builder)
        index = emission.opaque(offset, self.pitch * self.rows.most * _SIDE)
        found = {
            (access.leaf, access.at(counters)): (buffer, index)
            for access, buffer in zip(self.tiling.accesses, self.buffers, strict=True)
        }
        strided.store_point(self.tiling, emission, counters, found, [(buffer, index) for buffer in self.staged])

    def _offset(self, row: Value, column: Value) -> Value:
        """Where a block begins in the buffers."""
        builder = self.builder
        return builder.add(builder.mul(row, integer(_SIDE * self.pitch)), builder.mul(column, integer(_SIDE)))

    def _with(self, tile: _Tile, across: Index, inner: Index) -> list[Index]:
        result = list(tile.counters)
        result[self.across], result[self.inner] = across, inner
        return result

    def _fill(self, tile: _Tile, access: Access, buffer: Value, block: tuple[Value, Value]) -> None:
        """Read a block of a leaf in order and lay it into the buffer the way the body walks, in squares of a vector."""
        builder, (row, column) = self.builder, block
        size = access.leaf.array.element_type.size_bytes
        type_ = f"i{8 * size}"
        number = dict(self.tiling.kernel.leaves)[access.leaf]
        pointer = arguments(self.tiling.kernel).inputs[number]
        emission = Emission(builder)
        across = emission.opaque(self.rows.start(builder, tile.row, row), self.rows.count)
        inner = emission.opaque(self.columns.start(builder, tile.column, column), self.columns.count)
        base = builder.gep(type_, pointer, emission.value(access.at(self._with(tile, across, inner))))
        address = builder.gep(type_, buffer, self._offset(row, column))
        side = min(self.rows.side, self.columns.side, WIDEST_VECTOR_BYTES // size)
        words = max(1, size // _WORD_BYTES)
        vector, stride = vector_type(f"i{8 * size // words}", side * words), access.factors[self.inner]
        for down in range(0, self.columns.side, side):
            for along in range(0, self.rows.side, side):
                lines = [
                    builder.load(vector, builder.gep(type_, base, integer((down + n) * stride + along)), align=size)
                    for n in range(side)
                ]
                for n, values in enumerate(transpose(builder, lines, words=words)):
                    target = builder.gep(type_, address, integer((along + n) * self.pitch + down))
                    builder.store(values, target, align=size * side)
