"""Multiplying slices by ordinary arithmetic, in the type of the sums: every thread keeps a square of those.

The threads are a square of 16 by 16.  A thread's rows (columns) are runs of neighbours, which it reads as a word of 16
bytes of shared memory; runs lie as far apart as the threads have one each, so that the lanes of a warp read all banks.

In the smallest tile that would be four sums for a thread, which reads as many numbers as it multiplies.  There the
threads are four squares of 8 by 8 instead, with 16 sums each: every square has a quarter of the depth of each slice,
and behind the last one a thread adds up, in the order of the squares, what these have of one of its rows.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot.matrix_product import Product
from compiler.backends.nvptx.kernels.dot.tile_slice import Layout
from compiler.codegen import element
from compiler.codegen.index import Emission, Index, Variable, reshape, whole
from compiler.codegen.llvm_ir import Value, integer, zero

SIDES = (128, 64, 32)
"""Tiles to choose from, the largest first; all are squares."""
_LANES, _FEW_LANES = 16, 8
"""Threads along each side of the tile, and of the smallest."""
THREADS = _LANES * _LANES
"""Threads of a block: 256, of which eight fill a multiprocessor."""
_NARROW_BYTES = 4
"""Bytes of the types of sums of which shared memory holds those of all threads beside the slices."""
_DEPTH = 16
"""Terms of a slice; of types of 8 bytes half as many."""
_WORD_BYTES = 16
"""The widest load of a thread from shared memory, in bytes."""
_PAD = 4
"""Elements between lines of a slice, so that stores along the depth meet in fewer banks."""


def layouts(product: Product, side: int) -> tuple[Layout, Layout]:
    """The layouts of both operands' slices in shared memory."""
    depth = _DEPTH // 2 if product.type.size_bytes >= 8 else _DEPTH
    layout = Layout(product.type, side, depth, is_deep=False, pad=_PAD)
    return layout, layout


class PlainTile:
    """A thread's share of a block's tile, and the arithmetic on it."""

    def __init__(self, emission: Emission, product: Product, both: tuple[Layout, Layout]) -> None:
        self.product = product
        self.layouts = both
        self.depth = both[0].depth
        self._is_shared = both[0].width == SIDES[-1] and product.type.size_bytes <= _NARROW_BYTES
        self._lanes = _FEW_LANES if self._is_shared else _LANES
        self._side = both[0].width // self._lanes
        self._run = min(max(1, _WORD_BYTES // product.type.size_bytes), self._side)
        self._emission, self._squares = emission, THREADS // self._lanes**2
        thread = emission.opaque(grid.thread(emission.builder), THREADS)
        sizes = (self._squares, self._lanes, self._lanes)
        self._square, *self._at = (
            emission.opaque(emission.value(index), size)
            for index, size in zip(reshape(emission, (thread,), (THREADS,), sizes), sizes, strict=True)
        )

    def start(self) -> list[Value]:
        """The sums before the first slice."""
        return [zero(self.product.value_type)] * self._side**2

    def multiply(self, emission: Emission, stages: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """Add the products of the slices at `stages`, left and right, to the sums."""
        builder, share = emission.builder, self.depth // self._squares
        with builder.loop(integer(0), integer(share), carried=totals, name="depth", nonempty=True) as loop:
            emission.enter()
            depth = self._square.times(share) + whole(Variable(loop.index, share))
            factors = [self._factors(emission, number, stage, depth) for number, stage in enumerate(stages)]
            pairs = zip(itertools.product(*factors), loop.carried, strict=True)
            loop.carry(*(self.product.multiply_add(builder, a, b, total) for (a, b), total in pairs))
            emission.leave()
        return loop.results

    def results(self, totals: Sequence[Value]) -> Iterator[tuple[Index, Index, list[Value]]]:
        """The sums with their places in the tile: row, first column, and neighbours along the row."""
        if self._is_shared:
            yield self._at[0].times(self._run) + self._square, self._position(1, 0), self._added(totals)
            return
        for number in range(0, len(totals), self._run):
            row, column = divmod(number, self._side)
            yield self._position(0, row), self._position(1, column), list(totals[number : number + self._run])

    def _added(self, totals: Sequence[Value]) -> list[Value]:
        """What all squares have of that row of the thread's that has the number of its square."""
        builder, type_ = self._emission.builder, self.product.type
        stored, mine = element.storage_type(type_), grid.thread(builder)
        name = f"{self.product.kernel.name}.sums"
        array = grid.shared_array(builder, name, type_, THREADS * len(totals))

        def address(number: Value, thread: Value) -> Value:
            return builder.gep(stored, array, builder.add(builder.mul(number, integer(THREADS)), thread))

        for number, total in enumerate(totals):
            element.store(builder, type_, total, address(integer(number), mine))
        grid.barrier(builder)
        threads = self._lanes**2
        row, within = builder.udivrem(mine, integer(threads))
        found = []
        for column in range(self._side):
            which = builder.add(builder.mul(row, integer(self._side)), integer(column))
            sums = [
                element.load(builder, type_, address(which, builder.add(within, integer(threads * square))))
                for square in range(self._squares)
            ]
            found.append(functools.reduce(functools.partial(self.product.add, builder), sums))
        return found

    def _position(self, number: int, which: int) -> Index:
        """Where in the tile a row (0) or column (1) of the thread's lies."""
        run, offset = divmod(which, self._run)
        return self._at[number].times(self._run).plus(self._lanes * self._run * run + offset)

    def _factors(self, emission: Emission, number: int, stage: Value, depth: Index) -> list[Value]:
        builder, layout = emission.builder, self.layouts[number]
        found = []
        for which in range(self._side):
            offset = emission.value(layout.offset(self._position(number, which), depth))
            found.append(element.load(builder, layout.type, builder.gep(layout.stored, stage, offset)))
        return found
