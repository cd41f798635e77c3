"""Reductions whose last dimension is kept: neighbouring results together, their accumulators in a tile.

The tile stays in L1 while the reduced loops are walked outside of it, so that memory is read in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.reduce.reduction_nest import Finish, ReductionNest, Walk
from compiler.backends.cpu.kernels.vectors.lanes import LINE, whole_blocks
from compiler.codegen import element, nest
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.llvm_ir import Value, integer
from compiler.ir.types import ElementType

TILE = 512
"""Results whose accumulators are kept in L1 together."""
WIDEST_TILE = 1024
"""As many at most, where threads share one row of results: they read longer pieces of memory then."""
_LEAST_TILE = 256
"""Results of a tile at least: 1 KiB of f32 in a row, what a prefetcher follows (chosen)."""
_UNROLL = 4
"""Steps of the innermost reduced loop between two visits of an accumulator."""


def shared_tile(width: int, threads: int) -> int:
    """The size of tiles of which every thread gets as many, from a row of so many results."""
    count = threads * -(-width // (threads * WIDEST_TILE))
    return max(_LEAST_TILE, -(-width // (count * LINE)) * LINE)


def emit(loops: ReductionNest, emission: Emission, walk: Walk, tile: int) -> None:
    """Visit a thread's results, tile by tile of that size."""
    builder, accumulators = emission.builder, loops.accumulators
    *outer, width = loops.counts(reduced=False)
    tiles = -(-width // tile)
    size = min(width, tile)
    kept_types = accumulators.types(loops.form.types)
    stored = map(element.storage_type, kept_types)
    places = [builder.emit("ptr", f"alloca [{size} x {type_}], align 64") for type_ in stored]
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
        columns = _Columns(loops, emission, places, kept_types, [*kept, first], span)
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

    def fill(self, values: Sequence[Value]) -> None:
        """Set every accumulator to what it starts from."""

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            self._save(counters[0], values)
            return []

        nest.nested(self.emission, [self.span], [], step)

    def accumulate(self, ranges: Sequence[nest.Range]) -> None:
        """Walk the reduced loops outside and the columns inside, several steps of the last loop at a time."""
        loops, emission = self.loops, self.emission
        *outer, last = ranges

        def steps(iterations: int) -> Callable[[list[Value], Value, list[Value]], None]:
            def step(around: list[Value], inner: Value, columns: list[Value]) -> None:
                *reduced, iteration = loops.reduced_counters([*around, inner])
                values = self._load(columns[0])
                for number in range(iterations):
                    found = loops.elements(emission, self._kept(columns[0]), [*reduced, iteration.plus(number)])
                    values = loops.accumulators.join(emission, values, found)
                self._save(columns[0], values)

            return step

        def walk(around: list[Value], _: list[Value]) -> list[Value]:
            builder = emission.builder
            length = builder.sub(last.stop, last.start)
            middle = builder.add(last.start, whole_blocks(builder, length, _UNROLL))
            for start, stop, iterations in ((last.start, middle, _UNROLL), (middle, last.stop, 1)):
                self._iterations(nest.Range(start, stop), iterations, around, steps(iterations))
            return []

        nest.nested(emission, outer, [], walk)

    def _iterations(
        self,
        chunk: nest.Range,
        iterations: int,
        around: list[Value],
        step: Callable[[list[Value], Value, list[Value]], None],
    ) -> None:
        """So many iterations of the last reduced loop at a time, for all columns."""
        if chunk.start.literal is not None and chunk.start == chunk.stop:
            return
        emission = self.emission
        with emission.builder.loop(chunk.start, chunk.stop, step=iterations, nonempty=chunk.nonempty) as loop:
            emission.enter()

            def columns(counters: list[Value], _: list[Value]) -> list[Value]:
                step(around, loop.index, counters)
                return []

            nest.nested(emission, [self.span], [], columns)
            emission.leave()

    def finish(self, initial: Sequence[Value], finish: Finish) -> None:
        """Hand every column's values on."""
        loops, emission = self.loops, self.emission

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            kept = loops.result_index(self._kept(counters[0]))
            values = loops.met(emission, initial, self._load(counters[0]))
            finish(emission, kept, values)
            return []

        nest.nested(self.emission, [self.span], [], step)

    def _kept(self, column: Value) -> list[Index]:
        return [*self.at[:-1], self.at[-1] + whole(Variable(column, WIDEST_TILE))]

    def _load(self, column: Value) -> list[Value]:
        builder, types = self.emission.builder, self.types
        return [
            element.load(builder, t, builder.gep(element.storage_type(t), tile, column))
            for t, tile in zip(types, self.tiles, strict=True)
        ]

    def _save(self, column: Value, values: Sequence[Value]) -> None:
        builder, types = self.emission.builder, self.types
        for t, tile, value in zip(types, self.tiles, values, strict=True):
            element.store(builder, t, value, builder.gep(element.storage_type(t), tile, column))
