"""Multiplying slices by ordinary arithmetic, in the type of the sums: every thread keeps a rectangle of those.

What a thread reads of shared memory for each term is as many numbers as its square of sums has rows and columns, so
squares are large: 8 by 8 where registers hold them.  A thread's rows (columns) are runs of neighbours, which it reads
as a word of 16 bytes; runs lie as far apart as the threads have one each, so that the lanes of a warp read all banks.

The threads are a square of 16 by 16.  On all but the largest tile that would leave a thread so few sums that it reads
as many numbers as it multiplies.  There the threads are four squares of 8 by 8 instead: every square has a quarter of
the depth of each slice, and behind the last one a thread adds up, in the order of the squares, what these have of a
quarter of its sums.
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
"""Threads along each side of the tile, and where four squares of them share the depth."""
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
_TERMS = 4
"""Terms that are multiplied without a branch: counters and addresses are for all of them."""
_TOGETHER = 16
"""Sums of each thread that are in shared memory at once when they are added up."""


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
        self._is_shared = both[0].width < SIDES[0] and product.type.size_bytes <= _NARROW_BYTES
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

    @property
    def own_bytes(self) -> int:
        """Shared memory that is taken beside the slices."""
        return THREADS * _TOGETHER * self.product.type.size_bytes if self._is_shared else 0

    def start(self) -> list[Value]:
        """The sums before the first slice."""
        return [zero(self.product.value_type)] * self._side**2

    def multiply(self, emission: Emission, stages: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """Add the products of the slices at `stages`, left and right, to the sums."""
        share = self.depth // self._squares
        if share <= _TERMS:
            return self._multiply_terms(emission, stages, totals, self._square.times(share))
        with emission.builder.loop(
            integer(0), integer(share), step=_TERMS, carried=totals, name="depth", nonempty=True
        ) as loop:
            emission.enter()
            depth = self._square.times(share) + whole(Variable(loop.index, share))
            loop.carry(*self._multiply_terms(emission, stages, loop.carried, depth))
            emission.leave()
        return loop.results

    def _multiply_terms(
        self, emission: Emission, stages: Sequence[Value], totals: Sequence[Value], depth: Index
    ) -> list[Value]:
        """Add the products of some terms from a depth on."""
        found = list(totals)
        for term in range(_TERMS):
            factors = [self._factors(emission, side, stage, depth.plus(term)) for side, stage in enumerate(stages)]
            pairs = zip(itertools.product(*factors), found, strict=True)
            found = [self.product.multiply_add(emission.builder, a, b, total) for (a, b), total in pairs]
        return found

    def results(self, totals: Sequence[Value]) -> Iterator[tuple[Index, Index, list[Value]]]:
        """The sums with their places in the tile: row, first column, and neighbours along the row."""
        if self._is_shared:
            yield from self._added(totals)
            return
        for number in range(0, len(totals), self._run):
            row, column = divmod(number, self._side)
            yield self._position(0, row), self._position(1, column), list(totals[number : number + self._run])

    def _added(self, totals: Sequence[Value]) -> Iterator[tuple[Index, Index, list[Value]]]:
        """The same of four squares: of each four runs that a thread has, the one with the number of its square."""
        builder, type_ = self._emission.builder, self.product.type
        stored, mine = element.storage_type(type_), grid.thread(builder)
        array = grid.shared_array(builder, f"{self.product.kernel.name}.sums", type_, THREADS * _TOGETHER)
        square, within = builder.udivrem(mine, integer(self._lanes**2))
        first = builder.mul(square, integer(self._run * THREADS))
        for start in range(0, len(totals), _TOGETHER):
            grid.barrier(builder)
            for number, total in enumerate(totals[start : start + _TOGETHER]):
                address = builder.add(integer(number * THREADS), mine)
                element.store(builder, type_, total, builder.gep(stored, array, address))
            grid.barrier(builder)
            found = []
            for number in range(self._run):
                mine_of = builder.add(builder.add(first, within), integer(number * THREADS))
                sums = [
                    element.load(builder, type_, builder.gep(stored, array, builder.add(mine_of, integer(step))))
                    for step in range(0, THREADS, self._lanes**2)
                ]
                found.append(functools.reduce(functools.partial(self.product.add, builder), sums))
            yield *self._of_square(start), found

    def _of_square(self, start: int) -> tuple[Index, Index]:
        """Where in the tile the run begins that a square adds up, of those from a sum on."""
        across = self._side // self._run
        down, along = reshape(self._emission, (self._square,), (self._squares,), (self._squares // across, across))
        row = self._position(0, start // self._side) + down
        return row, self._position(1, 0) + along.times(self._lanes * self._run)

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
