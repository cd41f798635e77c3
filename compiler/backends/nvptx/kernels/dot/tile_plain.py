"""Multiplying slices by ordinary arithmetic, in the type of the sums: every thread keeps a rectangle of those.

What a thread reads of shared memory for each term is as many numbers as its rectangle has rows and columns, so
rectangles are as large as registers allow, and the threads of a tile that is not the largest are four teams: every one
has a quarter of the depth of each slice, and behind the last one a thread adds up, in the order of the teams, what
these have of a quarter of its sums.

An operand whose terms are neighbours in memory lies in shared memory in the same way, so that whole words are copied.
All is read in words of 16 bytes: of an operand like that some terms of a row (column), which then lie as far apart as
there are threads along that side; of others neighbouring rows (columns) of a term.  The lanes that are served at once
read different banks, or the same word.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot.matrix_product import Operand, Product, RunOfSums
from compiler.backends.nvptx.kernels.dot.tile_slice import Layout, Prompt
from compiler.codegen import element
from compiler.codegen.index import Emission, Index, Variable, reshape, whole
from compiler.codegen.llvm_ir import Value, integer, zero
from compiler.ir.types import ElementType


@dataclass(frozen=True, slots=True)
class Shape:
    """A block's tile of the result, and the rows and columns of it that are a thread's."""

    rows: int
    columns: int
    down: int
    across: int

    @property
    def work(self) -> float:
        """What a sum takes for each term, in multiply-adds: words of four numbers are read in as long as four."""
        return max(1.0, _RUN * (1 / self.down + 1 / self.across))


_SHAPES = (
    Shape(128, 128, 8, 8),
    Shape(64, 64, 8, 8),
    Shape(64, 32, 8, 4),
    Shape(32, 64, 4, 8),
    Shape(32, 32, 4, 4),
    Shape(64, 16, 4, 4),
    Shape(16, 64, 4, 4),
)
_WIDE_SHAPES = (Shape(64, 64, 4, 4), Shape(32, 32, 2, 2))
THREADS = 256
"""Threads of a block, of which eight fill a multiprocessor."""
_WORD = 4
"""Bytes of the types of which shared memory is read in words of four, and for whose sums it has room."""
_DEPTH = 16
"""Terms of a slice; of types of 8 bytes half as many."""
_PAD = 4
"""Elements between lines of a slice, so that words that are stored or read together meet in fewer banks."""
_RUN = 4
"""Neighbours that a thread reads together."""
_TOGETHER = 16
"""Sums of each thread that are in shared memory at once when they are added up."""


def shapes(type_: ElementType) -> tuple[Shape, ...]:
    """Tiles to choose from, the largest first; sums of two registers each leave room for a quarter of them."""
    return _SHAPES if type_.size_bytes <= _WORD else _WIDE_SHAPES


def layouts(product: Product, shape: Shape) -> tuple[Layout, Layout]:
    """The layouts of both operands' slices in shared memory."""
    left, right = (
        _layout(product.type, side, width)
        for side, width in zip(product.sides, (shape.rows, shape.columns), strict=True)
    )
    return left, right


def _layout(type_: ElementType, side: Operand, width: int) -> Layout:
    depth = _DEPTH if type_.size_bytes <= _WORD else _DEPTH // 2
    return Layout(type_, width, depth, is_deep=side.is_deep and type_.size_bytes == _WORD, pad=_PAD)


class PlainTile(Prompt):
    """A thread's share of a block's tile, and the arithmetic on it."""

    def __init__(self, emission: Emission, product: Product, shape: Shape, both: tuple[Layout, Layout]) -> None:
        self.product = product
        self.layouts = both
        self.depth = both[0].depth
        self._emission, self._counts = emission, (shape.down, shape.across)
        self._lanes = shape.rows // shape.down, shape.columns // shape.across
        self._teams = THREADS // (self._lanes[0] * self._lanes[1])
        most = max(1, _RUN * _WORD // max(_WORD, product.type.size_bytes))
        self._runs = [
            1 if layout.is_deep else min(most, count) for layout, count in zip(both, self._counts, strict=True)
        ]
        thread = emission.opaque(grid.thread(emission.builder), THREADS)
        sizes = (self._teams, *self._lanes)
        self._team, *self._at = (
            emission.opaque(emission.value(index), size)
            for index, size in zip(reshape(emission, (thread,), (THREADS,), sizes), sizes, strict=True)
        )

    @property
    def own_bytes(self) -> int:
        """Shared memory that is taken beside the slices."""
        return THREADS * _TOGETHER * self.product.type.size_bytes if self._teams > 1 else 0

    def start(self) -> list[Value]:
        """The sums before the first slice."""
        return [zero(self.product.value_type)] * (self._counts[0] * self._counts[1])

    def multiply(self, emission: Emission, stages: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """Add the products of the slices at `stages`, left and right, to the sums.

        Args:
            emission: where code is emitted, with what is known there.
            stages: the addresses of both slices in shared memory.
            totals: a thread's sums so far.
        """
        share = self.depth // self._teams
        if share <= _RUN:
            return self._multiply_run(emission, stages, totals, self._team.times(share))
        with emission.builder.loop(
            integer(0), integer(share), step=_RUN, carried=totals, name="depth", nonempty=True
        ) as loop:
            emission.enter()
            depth = self._team.times(share) + whole(Variable(loop.index, share))
            loop.carry(*self._multiply_run(emission, stages, loop.carried, depth))
            emission.leave()
        return loop.results

    def _multiply_run(
        self, emission: Emission, stages: Sequence[Value], totals: Sequence[Value], depth: Index
    ) -> list[Value]:
        """Add the products of some terms from a depth on: of those that are read in one word at once."""
        found, (down, across) = list(totals), self._counts
        together = _RUN if any(layout.is_deep for layout in self.layouts) else 1
        for first in range(0, _RUN, together):
            terms = [depth.plus(first + number) for number in range(together)]
            columns = [[self._factor(emission, 1, stages[1], (c, term)) for c in range(across)] for term in terms]
            for row in range(down):
                lefts = [self._factor(emission, 0, stages[0], (row, term)) for term in terms]
                at = slice(row * across, (row + 1) * across)
                for left, rights in zip(lefts, columns, strict=True):
                    pairs = zip(rights, found[at], strict=True)
                    found[at] = [self.product.multiply_add(emission.builder, left, b, total) for b, total in pairs]
        return found

    def results(self, totals: Sequence[Value]) -> Iterator[RunOfSums]:
        """The sums with where they lie in the tile."""
        if self._teams > 1:
            yield from self._added(totals)
            return
        for number in range(0, len(totals), self._runs[1]):
            row, column = divmod(number, self._counts[1])
            sums = list(totals[number : number + self._runs[1]])
            yield RunOfSums(self._position(0, row), self._position(1, column), sums)

    def _added(self, totals: Sequence[Value]) -> Iterator[RunOfSums]:
        """The same of several teams: of each four runs of a thread's sums the one with the number of its team."""
        builder, type_ = self._emission.builder, self.product.type
        stored, mine = element.storage_type(type_), grid.thread(builder)
        array = grid.shared_array(builder, f"{self.product.kernel.name}.sums", type_, THREADS * _TOGETHER)
        of_team = THREADS // self._teams
        team, within = builder.udivrem(mine, integer(of_team))
        first = builder.add(builder.mul(team, integer(_RUN * THREADS)), within)
        for start in range(0, len(totals), _TOGETHER):
            grid.barrier(builder)
            for number, total in enumerate(totals[start : start + _TOGETHER]):
                address = builder.add(integer(number * THREADS), mine)
                element.store(builder, type_, total, builder.gep(stored, array, address))
            grid.barrier(builder)
            found = []
            for number in range(0, _RUN * THREADS, THREADS):
                sums = [
                    element.load(builder, type_, builder.gep(stored, array, builder.add(first, integer(number + step))))
                    for step in range(0, THREADS, of_team)
                ]
                found.append(functools.reduce(functools.partial(self.product.add, builder), sums))
            yield from self._of_team(start, found)

    def _of_team(self, start: int, found: list[Value]) -> Iterator[RunOfSums]:
        """Where in the tile the run lies that a team adds up, of those from a sum on."""
        across = self._counts[1] // _RUN
        down, along = reshape(self._emission, (self._team,), (self._teams,), (self._teams // across, across))
        row_step = 1 if self._runs[0] > 1 else self._lanes[0]
        row = self._position(0, start // self._counts[1]) + down.times(row_step)
        for number in range(0, _RUN, self._runs[1]):
            column = self._position(1, number) + along.times(self._lanes[1] * _RUN)
            yield RunOfSums(row, column, found[number : number + self._runs[1]])

    def _position(self, side: int, which: int) -> Index:
        """Where in the tile a row (0) or column (1) of the thread's lies."""
        size, lanes = self._runs[side], self._lanes[side]
        run, offset = divmod(which, size)
        return self._at[side].times(size).plus(lanes * size * run + offset)

    def _factor(self, emission: Emission, side: int, stage: Value, at: tuple[int, Index]) -> Value:
        """What a thread multiplies: of a row (0) or column (1) of its own, and a term."""
        builder, layout, (which, depth) = emission.builder, self.layouts[side], at
        offset = emission.value(layout.offset(self._position(side, which), depth))
        return element.load(builder, layout.type, builder.gep(layout.stored, stage, offset))
