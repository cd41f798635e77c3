"""Multiplying slices by ordinary arithmetic, in the type of the sums: every thread keeps a square of those.

The threads are a square of 16 by 16.  A thread's rows (columns) are runs of neighbours, which it reads as a word of 16
bytes of shared memory; runs lie as far apart as the threads have one each, so that the lanes of a warp read all banks.
"""

from __future__ import annotations

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
LANES = 16
"""Threads of a block along each side of the tile."""
THREADS = LANES * LANES
"""Threads of a block, in a square: 256, of which eight fill a multiprocessor."""
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
        self._side = both[0].width // LANES
        self._run = min(max(1, _WORD_BYTES // product.type.size_bytes), self._side)
        thread = emission.opaque(grid.thread(emission.builder), THREADS)
        found = reshape(emission, (thread,), (THREADS,), (LANES, LANES))
        self._at = [emission.opaque(emission.value(index), LANES) for index in found]

    def start(self) -> list[Value]:
        """The sums before the first slice."""
        return [zero(self.product.value_type)] * self._side**2

    def multiply(self, emission: Emission, stages: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """Add the products of the slices at `stages`, left and right, to the sums."""
        builder, end = emission.builder, integer(self.depth)
        with builder.loop(integer(0), end, carried=totals, name="depth", nonempty=True) as loop:
            emission.enter()
            depth = whole(Variable(loop.index, self.depth))
            factors = [self._factors(emission, number, stage, depth) for number, stage in enumerate(stages)]
            pairs = zip(itertools.product(*factors), loop.carried, strict=True)
            loop.carry(*(self.product.multiply_add(builder, a, b, total) for (a, b), total in pairs))
            emission.leave()
        return loop.results

    def results(self, totals: Sequence[Value]) -> Iterator[tuple[Index, Index, list[Value]]]:
        """The sums with their places in the tile: row, first column, and neighbours along the row."""
        for number in range(0, len(totals), self._run):
            row, column = divmod(number, self._side)
            yield self._position(0, row), self._position(1, column), list(totals[number : number + self._run])

    def _position(self, number: int, which: int) -> Index:
        """Where in the tile a row (0) or column (1) of the thread's lies."""
        run, offset = divmod(which, self._run)
        return self._at[number].times(self._run).plus(LANES * self._run * run + offset)

    def _factors(self, emission: Emission, number: int, stage: Value, depth: Index) -> list[Value]:
        builder, layout = emission.builder, self.layouts[number]
        found = []
        for which in range(self._side):
            offset = emission.value(layout.offset(self._position(number, which), depth))
            found.append(element.load(builder, layout.type, builder.gep(layout.stored, stage, offset)))
        return found
