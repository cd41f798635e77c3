"""Products of few rows by many columns: a block for each strip of 32 columns, where neighbours in memory are columns.

A lane has a column, so that a warp reads whole lines, and the warps share the terms of the sums; a thread sums up a few
rows, for which it loads a column's factor once.  Rows and columns are whichever operand's elements lie so.  Where there
are few strips for long sums, those are made in chunks (`split`).  The order of each sum depends on the shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import split
from compiler.backends.nvptx.kernels.dot.matrix_product import FactorPosition, Product, ResultPosition
from compiler.backends.nvptx.kernels.dot.shares import Shares
from compiler.backends.nvptx.kernels.grid import WARP, Launch
from compiler.backends.nvptx.kernels.strategy import Launches, Plan, planned
from compiler.backends.nvptx.kernels.teams.tree import Block, power_of_two
from compiler.backends.strategy import Declined
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, zero

_LEAST_LANES = WARP // 2
"""Columns of which a strip has at least, so that most lanes have one."""
_MOST_WARPS = 16
"""Warps of a block at most: two such blocks fill the registers of a multiprocessor at 64 for each thread."""
_MOST_ROWS, _SHARED_BYTES = 8, 32 << 10
"""Rows of a thread at most, and bytes of a block's sums in shared memory."""
_BUSY = 132
"""Blocks that keep an H100 busy: with fewer, rows are not put together."""
_MOST_AHEAD, _AHEAD_BYTES = 16, 256
"""Terms that a thread loads together at most, and bytes of their factors, in 64 registers: memory answers after
hundreds of cycles."""
_MOST_ROUNDS = 8
"""Times that a thread waits for factors beyond which a second launch is sooner done."""


@dataclass(frozen=True, slots=True)
class _Strips:
    """How a product is cut.

    Attributes:
        product: what is computed.
        side: the number of the operand whose elements lie side by side along its free dimensions: 1 for columns.
        rows: of a thread, of the other operand.
        shares: of the terms, which the warps of a block take; their number is a power of two.
    """

    product: Product
    side: int
    rows: int
    shares: Shares

    @property
    def columns(self) -> int:
        """Elements along the strips."""
        return self.product.sides[self.side].count

    @property
    def strips(self) -> int:
        """Strips of a row."""
        return -(-self.columns // WARP)

    @property
    def groups(self) -> int:
        """Groups of rows."""
        return -(-self.product.sides[1 - self.side].count // self.rows)

    @property
    def warps(self) -> int:
        """Of a block."""
        return self.shares.threads

    @property
    def chunks(self) -> int:
        """Of each sum."""
        return self.shares.chunks

    def emit(self, module: Module) -> Launches:
        """Emit the launches."""
        builder = grid.begin(module, self.product.kernel, self.warps * WARP, talks=True)
        emission = Emission(builder)
        counts = (self.chunks, self.product.batch, self.groups, self.strips)
        rest, found = emission.opaque(grid.block(builder), counts[0] * counts[1] * counts[2] * counts[3]), []
        for count in reversed(counts[1:]):
            rest, one = emission.divide(rest, count)
            found.append(one)
        strip, group, batch = found
        at = _Location(rest, batch, group, self._column(emission, strip))
        self._store(emission, at, self._reduced(emission, self._sums(emission, at)))
        builder.ret()
        launch = Launch(builder.function.name, counts[0] * counts[1] * counts[2] * counts[3], self.warps * WARP)
        return split.finished(module, self.product, launch, self.chunks)

    def _column(self, emission: Emission, strip: Index) -> Value:
        """The thread's column, which there need not be."""
        builder = emission.builder
        lane = builder.binary("and", grid.thread(builder), integer(WARP - 1))
        return builder.add(emission.value(strip.times(WARP)), lane)

    def _row(self, emission: Emission, group: Index, number: int) -> Value:
        return emission.value(group.times(self.rows).plus(number))

    def _frees(self, emission: Emission, at: _Location) -> list[Index]:
        """The column's index, the last one's where there is none, and those of the rows."""
        builder, sizes = emission.builder, [self.product.sides[s].count for s in (self.side, 1 - self.side)]
        found = [emission.opaque(builder.smin(at.column, integer(sizes[0] - 1)), sizes[0])]
        for number in range(self.rows):
            row = builder.smin(self._row(emission, at.group, number), integer(sizes[1] - 1))
            found.append(emission.opaque(row, sizes[1]))
        return found

    def _sums(self, emission: Emission, at: _Location) -> list[Value]:
        """The sums of the thread's terms, one for each of its rows."""
        builder, product = emission.builder, self.product
        frees = self._frees(emission, at)
        warp = builder.binary("lshr", grid.thread(builder), integer(5))
        sides = [product.sides[self.side], *[product.sides[1 - self.side]] * self.rows]

        def factors(depth: Index) -> list[Value]:
            pairs = zip(sides, frees, strict=True)
            return [product.load(emission, side, FactorPosition(at.batch, free, depth)) for side, free in pairs]

        def add(found: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
            return self._added(builder, found, totals)

        start = [zero(product.value_type)] * self.rows
        return self.shares.summed(emission, self.shares.of_chunk(emission, at.chunk), warp, factors, add, start)

    def _added(self, builder: Builder, factors: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """The sums with one more term: the column's factor times that of each row."""
        column, *rows = factors
        found = []
        for row, total in zip(rows, totals, strict=True):
            pair = (row, column) if self.side else (column, row)
            found.append(self.product.multiply_add(builder, *pair, total))
        return found

    def _reduced(self, emission: Emission, sums: Sequence[Value]) -> list[Value]:
        """The sums of all warps put together; right in the first."""

        def combine(_: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
            return [self.product.add(emission.builder, *pair) for pair in zip(left, right, strict=True)]

        types = [self.product.type] * self.rows
        return Block(self.product.kernel.name, self.warps * WARP, types).reduce_strips(emission, sums, combine)

    def _store(self, emission: Emission, at: _Location, sums: Sequence[Value]) -> None:
        """Store the sums of the first warp's threads."""
        builder, product = emission.builder, self.product
        sizes = [product.sides[s].count for s in (self.side, 1 - self.side)]
        is_first = builder.compare("slt", grid.thread(builder), integer(WARP))
        mine = builder.binary("and", is_first, builder.compare("slt", at.column, integer(sizes[0])))
        with builder.when(mine, "first"):
            for number, total in enumerate(sums):
                row = self._row(emission, at.group, number)
                with builder.when(builder.compare("slt", row, integer(sizes[1])), "row"):
                    emission.enter()
                    free = [emission.opaque(row, sizes[1]), emission.opaque(at.column, sizes[0])]
                    position = ResultPosition(at.batch, *(free if self.side else free[::-1]))
                    split.store(product, emission, total, position, at.chunk, self.chunks)
                    emission.leave()


@dataclass(frozen=True, slots=True)
class _Location:
    """What a block computes: the chunk, the product of the batch, the group of rows, and the thread's column."""

    chunk: Index
    batch: Index
    group: Index
    column: Value


def plan(product: Product, least: int) -> Plan | Declined:
    """The plan of a block for each strip.

    Args:
        product: that has few rows or few columns.
        least: terms of a sum that threads share.
    """
    sides = product.sides
    wide = [n for n in (1, 0) if not sides[n].is_deep and sides[n].count >= _LEAST_LANES]
    if product.depth < least or not wide:
        return Declined(f"sums have fewer than {least} terms, or no {_LEAST_LANES} of them have neighbours for factors")
    found = _strips_of(product, wide[0])
    blocks = product.batch * found.groups * found.strips * found.chunks
    if blocks < _BUSY and any(side.divides for side in sides):
        return Declined("to find factors takes divisions, and strips are too few for a GPU")
    return planned(
        found.emit,
        workspace_bytes=split.partial_bytes(product, found.chunks),
        details={"rows": found.rows, "warps": found.warps, "parts": found.chunks},
    )


def _strips_of(product: Product, side: int) -> _Strips:
    """How a product is cut in strips."""
    rows, strips = product.sides[1 - side].count, -(-product.sides[side].count // WARP)
    most = min(_MOST_ROWS, _SHARED_BYTES // (_MOST_WARPS * WARP * product.type.size_bytes))
    groups = -(-rows // max(1, min(most, rows * strips * product.batch // _BUSY)))
    together = -(-rows // groups)
    of_term = (1 + together) * product.type.size_bytes
    ahead = power_of_two(max(1, min(_MOST_AHEAD, _AHEAD_BYTES // of_term)))
    warps = power_of_two(max(1, min(_MOST_WARPS, product.depth // ahead)))
    blocks, rounds = product.batch * groups * strips, product.depth // (warps * ahead)
    chunks = min(-(-2 * _BUSY // blocks), rounds)
    if rounds <= _MOST_ROUNDS or chunks <= 1:
        return _Strips(product, side, together, Shares(product.depth, warps, ahead, 1, product.depth))
    each = -(-product.depth // (chunks * warps * ahead)) * warps * ahead
    return _Strips(product, side, together, Shares(product.depth, warps, ahead, -(-product.depth // each), each))
