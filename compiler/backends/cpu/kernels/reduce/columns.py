"""Reductions whose last dimension is kept: neighbouring results together, their accumulators in a tile.

The tile stays in L1 while the reduced loops are walked outside of it, so that memory is read in order.  Columns are
the lanes of vectors where all that is computed has a form on them: to LLVM the loops would be work, a third of the time
that such a program takes to compile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.reduce.reduction_nest import Finish, ReductionNest, Walk
from compiler.backends.cpu.kernels.vectors.lanes import LINE, Lanes, Loops
from compiler.codegen import access, element, nest
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.llvm_ir import Value, integer
from compiler.ir.types import ElementType

TILE = 512
"""Results whose accumulators are kept in L1 together."""
WIDEST_TILE = 1024
"""As many at most, where threads share one row of results: they read longer pieces of memory then."""
_LEAST_TILE = 256
"""Results of a tile at least: 1 KiB of f32 in a row, what a prefetcher follows (64 take a tenth longer, from 128 on it
is flat: `reports/measured/2026-11-26-constants`)."""
_UNROLL = 4
"""Steps of the innermost reduced loop between two visits of an accumulator."""


def shared_tile(width: int, threads: int) -> int:
    """The size of tiles of which every thread gets as many, from a row of so many results."""
    count = threads * -(-width // (threads * WIDEST_TILE))
    return max(_LEAST_TILE, -(-width // (count * LINE)) * LINE)


def emit(loops: ReductionNest, emission: Emission, walk: Walk, tile: int, lanes: Lanes | None) -> None:
    """Visit a thread's results, tile by tile.

    Args:
        loops: the reduction.
        emission: where code is emitted, with what is known there.
        walk: what a thread visits.
        tile: how many results a tile has.
        lanes: how vectors of neighbouring results are made, None where LLVM is to make them.
    """
    builder, accumulators = emission.builder, loops.accumulators
    *outer, width = loops.counts(reduced=False)
    tiles = -(-width // tile)
    size = min(width, tile)
    kept_types = accumulators.types(loops.form.types)
    stored = map(element.storage_type, kept_types)
    arrays = [builder.emit("ptr", f"alloca [{size} x {type_}], align 64") for type_ in stored]
    chunk = nest.share(builder, math.prod(outer) * tiles, *walk.share)
    with builder.loop(chunk.start, chunk.stop, name="tile") as unit:
        emission.enter()
        *kept, number = loops.counters(emission, unit.index, [*outer, tiles])
        first = number.times(size)
        count = integer(size)
        if width % size:
            left = builder.sub(integer(width), emission.value(first))
            count = builder.smin(integer(size), left)
        span = nest.Range(integer(0), count)
        columns = _Columns(loops, emission, arrays, kept_types, [*kept, first], span, lanes)
        initial = walk.start(emission)
        columns.fill(accumulators.open(initial))
        columns.accumulate(walk.ranges)
        columns.finish(initial, walk.finish)
        emission.leave()


@dataclass(frozen=True, slots=True)
class _Columns:
    """One tile of a column reduction: `at` are the kept counters at its first column, `span` the columns."""

    loops: ReductionNest
    emission: Emission
    tiles: Sequence[Value]
    types: Sequence[ElementType]
    at: Sequence[Index]
    span: nest.Range
    lanes: Lanes | None

    def fill(self, values: Sequence[Value]) -> None:
        """Set every accumulator to what it starts from."""
        self._each(lambda column: self._save(column, values))

    def _each(self, body: Callable[[Index], None]) -> None:
        """Do something for every column."""
        if self.lanes is not None:
            self.lanes.each(self.emission, Loops([self.span], [WIDEST_TILE]), lambda counters: body(counters[0]))
            return

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            body(whole(Variable(counters[0], WIDEST_TILE)))
            return []

        nest.nested(self.emission, [self.span], [], step)

    def accumulate(self, ranges: Sequence[nest.Range]) -> None:
        """Walk the reduced loops outside and the columns inside, several steps of the last loop at a time."""
        loops, emission = self.loops, self.emission
        *outer, last = ranges

        def steps(iterations: int) -> Callable[[list[Value], Value, Index], None]:
            def step(around: list[Value], inner: Value, column: Index) -> None:
                *reduced, iteration = loops.reduced_counters([*around, inner])
                values = self._load(column)
                for number in range(iterations):
                    found = loops.elements(emission, self._kept(column), [*reduced, iteration.plus(number)])
                    values = loops.accumulators.join(emission, values, found, is_next=True)
                self._save(column, values)

            return step

        def walk(around: list[Value], _: list[Value]) -> list[Value]:
            middle = last.whole_until(emission.builder, _UNROLL)
            for start, stop, iterations in ((last.start, middle, _UNROLL), (middle, last.stop, 1)):
                self._iterations(nest.Range(start, stop), iterations, around, steps(iterations))
            return []

        nest.nested(emission, outer, [], walk)

    def _iterations(
        self,
        chunk: nest.Range,
        iterations: int,
        around: list[Value],
        step: Callable[[list[Value], Value, Index], None],
    ) -> None:
        """So many iterations of the last reduced loop at a time, for all columns."""
        if chunk.start.literal is not None and chunk.start == chunk.stop:
            return
        emission = self.emission
        with emission.builder.loop(chunk.start, chunk.stop, step=iterations, nonempty=chunk.nonempty) as loop:
            emission.enter()
            self._each(lambda column: step(around, loop.index, column))
            emission.leave()

    def finish(self, initial: Sequence[Value], finish: Finish) -> None:
        """Hand every column's values on."""
        loops, emission = self.loops, self.emission

        def step(column: Index) -> None:
            values = loops.met(emission, initial, self._load(column))
            finish(emission, loops.result_index(self._kept(column)), values)

        self._each(step)

    def _kept(self, column: Index) -> list[Index]:
        return [*self.at[:-1], self.at[-1] + column]

    def _load(self, column: Index) -> list[Value]:
        pairs = zip(self.types, self.tiles, strict=True)
        return [access.read(self.emission, tile, type_, column) for type_, tile in pairs]

    def _save(self, column: Index, values: Sequence[Value]) -> None:
        for type_, tile, value in zip(self.types, self.tiles, values, strict=True):
            access.write(self.emission, tile, type_, column, value)
