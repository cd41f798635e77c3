"""Rows dealt to teams of threads: which elements of its row a thread has, and the row's accumulators put together.

A team is a power of two of threads.  One of up to a warp puts its accumulators together by shuffles alone, several such
teams share a block; a larger one is a block, whose warps exchange theirs once through shared memory.  A thread has
pieces of a few neighbouring elements, which it reads as one word: a team's width apart, so that a warp reads whole
lines, or one behind the other where what combines them minds which comes first.  The order of combination depends on
the length of a row, on its types, and on whether it is alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import WARP, Combine
from compiler.backends.nvptx.kernels.teams.tree import Block, power_of_two, spread
from compiler.codegen import nest
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.ir.types import ElementType

_SHORT = 1024
"""Rows up to this length are a warp's or a part of one."""
_WORD_BYTES = 16
"""The widest load and store of a thread, in bytes."""
_MOST_THREADS = 512
"""Threads of a team at most: two teams fill the registers of a multiprocessor at 64 for each thread."""
_MANY_BLOCKS = 128
"""Blocks of several warps from which on no multiprocessor goes without; fewer rows are spread over blocks of a warp."""
_COMBINE_CYCLES = 4
"""Cycles to combine two elements, until the next can be: the latency of an f32 addition (arXiv:1804.06826)."""
_EXCHANGE_CYCLES = 110
"""How long a combination takes that the next one waits for, and how long warps take to exchange theirs."""


Piece = tuple[list[Index], Value | None]
"""The positions of neighbouring elements in a row, and whether there are any; None where that is known."""


@dataclass(frozen=True, slots=True)
class Team:
    """Threads that have a row of `length` elements together, and which elements each of them has.

    Attributes:
        length: elements of a row.
        neighbours: elements of a piece.
        threads: threads of a team.
        rows: rows, and so teams, of a block.
        in_order: whether a thread's pieces follow each other.
    """

    length: int
    neighbours: int
    threads: int
    rows: int
    in_order: bool = False

    @staticmethod
    def of(length: int, count: int, widest_bytes: int, most: int = 0) -> Team:
        """The team of up to `most` threads (0: a warp for short rows) for rows of elements of up to so many bytes.

        Args:
            length: of a row.
            count: rows.
            widest_bytes: of an element.
            most: threads, at most; 0 for a warp for short rows, and a block for others.
        """
        neighbours = max(1, min(_WORD_BYTES // widest_bytes, length & -length))
        most = most or (WARP if length <= _SHORT else _MOST_THREADS)
        threads = power_of_two(min(most, length // neighbours))
        rows = max(1, grid.BLOCK // threads)
        if grid.blocks_for(count, rows) < _MANY_BLOCKS:
            rows = max(1, WARP // threads)
        return Team(length, neighbours, threads, rows)

    @staticmethod
    def all_of(length: int, count: int, widest_bytes: int) -> Iterator[Team]:
        """Teams that may have such rows, the one with the least to exchange first.

        Args:
            length: elements of a row.
            count: how many rows.
            widest_bytes: of the largest type of elements.
        """
        for most in (WARP, grid.BLOCK, _MOST_THREADS):
            if most > WARP or length <= _SHORT:
                yield Team.of(length, count, widest_bytes, most)

    @property
    def share(self) -> int:
        """Elements that a thread has at most."""
        return self.trip_count * self.neighbours

    @property
    def trip_count(self) -> int:
        """Pieces that a thread has at most."""
        return -(-self.length // (self.neighbours * self.threads))

    @property
    def block(self) -> int:
        """Threads of a block."""
        return self.rows * self.threads

    def for_row_alone(self, larger: Team, work: int, reductions: int) -> Team:
        """This team, or the larger if that has a row alone done before a warp: `work` and reductions an element."""
        saved = (self.share - larger.share) * (work + _COMBINE_CYCLES * reductions)
        return larger if self.threads <= WARP and saved > _EXCHANGE_CYCLES * reductions else self

    def position(self, emission: Emission, count: int) -> TeamPosition:
        """The thread's row and number in its team, with `count` rows in all."""
        builder = emission.builder
        thread, width = grid.thread(builder), integer(self.threads)
        row = builder.mul(grid.block(builder), integer(self.rows))
        row = builder.add(row, builder.binary("udiv", thread, width))
        exists = None
        if count % self.rows:
            exists = builder.compare("slt", row, integer(count))
            # Teams beyond the last row do its work again, and do not store it.
            row = builder.umin(row, integer(count - 1))
        return TeamPosition(emission.opaque(row, count), exists, builder.binary("urem", thread, width))

    def pieces(self, emission: Emission, number: Value) -> Iterator[Piece]:
        """The pieces of a thread's, by its number; where there is none, the row's last once more."""
        builder, count = emission.builder, self.length // self.neighbours
        mine = shared(builder, nest.all_of(count), (number, self.threads), in_order=self.in_order)
        for iteration in range(self.trip_count):
            piece, inside = builder.add(mine.first, integer(iteration * mine.step)), None
            if iteration >= count // self.threads:
                inside = builder.compare("slt", piece, mine.stop)
                piece = builder.umin(piece, integer(count - 1))
            first = emission.opaque(piece, count).times(self.neighbours)
            yield [first.plus(n) for n in range(self.neighbours)], inside

    @staticmethod
    def fold(
        emission: Emission, pieces: Iterable[Piece], elements: Callable[[Index], list[Value]], combine: Combine
    ) -> list[Value]:
        """The elements of a thread's pieces combined in order.

        Args:
            emission: where code is emitted.
            pieces: positions in the row, and whether they lie in it.
            elements: emits what lies at a position.
            combine: combines two values of each.
        """
        total: list[Value] = []
        for positions, inside in pieces:
            found = [elements(position) for position in positions]
            for values in found:
                if not total:
                    total = values
                    continue
                more = combine(emission, total, values)
                total = more if inside is None else _either(emission.builder, inside, more, total)
        return total

    def reduce(
        self,
        name: str,
        emission: Emission,
        accumulators: tuple[Sequence[Value], Sequence[ElementType]],
        combine: Combine,
    ) -> list[Value]:
        """The accumulators of a team's threads, with their types, combined in its first; once for each name.

        Args:
            name: of the shared memory that it takes.
            emission: where code is emitted.
            accumulators: values of the thread, and their types.
            combine: combines values of two threads.
        """
        values, types = accumulators
        if self.threads > WARP:
            return Block(name, self.threads, types).reduce(emission, values, combine)
        return grid.reduce_lanes(emission, values, combine, self.threads)

    def spread(self, builder: Builder, values: Sequence[Value]) -> list[Value]:
        """The values that `reduce` left in the first thread of each team, in all of them."""
        return spread(builder, values, self.threads)


@dataclass(frozen=True, slots=True)
class TeamPosition:
    """A thread's row, whether there is one (None: always; else it is the last again), and its number in the team."""

    row: Index
    exists: Value | None
    number: Value

    def is_first(self, builder: Builder) -> Value:
        """Whether the thread is the first of a team that has a row."""
        first = builder.compare("eq", self.number, integer(0))
        return first if self.exists is None else builder.binary("and", first, self.exists)


class Strided(NamedTuple):
    """Positions of elements: the first, up to which, and every so many."""

    first: Value
    stop: Value
    step: int


def shared(builder: Builder, piece: nest.Range, who: tuple[Value, int], *, in_order: bool) -> Strided:
    """Which of a range one of several has: every so many of them, or those that follow each other.

    Args:
        builder: where code is emitted.
        piece: the range, of which there is one for each at least.
        who: its number, and of how many.
        in_order: whether they follow each other.
    """
    number, count = who
    if not in_order:
        return Strided(builder.add(piece.start, number), piece.stop, count)
    length = builder.sub(piece.stop, piece.start)
    first, stop = (
        builder.add(piece.start, builder.binary("udiv", builder.mul(length, n), integer(count)))
        for n in (number, builder.add(number, integer(1)))
    )
    return Strided(first, stop, 1)


def _either(builder: Builder, condition: Value, then: Sequence[Value], otherwise: Sequence[Value]) -> list[Value]:
    return [builder.select(condition, a, b) for a, b in zip(then, otherwise, strict=True)]
