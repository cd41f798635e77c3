"""Reduction kernels: rows, columns and anything between, with fused producers and epilogues, deterministic.

If the last group of dimensions is reduced (a row), the innermost loop runs along it with the accumulators in registers,
and `reassoc` lets LLVM keep several.  If the last group is kept (a column), a tile of accumulators for neighbouring
results lives in L1 and the reduced groups are walked outside, so that memory is still read in order.

Where there are too few results to share between threads, the outermost reduced loop is cut into a number of chunks that
depends on the shape alone; each chunk starts from the reducer's identity, and a second function combines the partial
results in order.  So results do not depend on how many threads run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from compiler.backends.cpu.kernels.chains import Accumulators
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.backends.cpu.kernels.lane_rules import fits
from compiler.backends.cpu.kernels.lanes import (
    Counters,
    Lanes,
    Lanewise,
    Loops,
    at_lane,
    in_lane,
    row_lane,
    whole_blocks,
)
from compiler.codegen import cost, element, nest
from compiler.codegen.index import Emission, Index, Variable, linear, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.reduction import Reduction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType

_TILE = 512
"""Results whose accumulators are kept in L1 together in a column reduction."""
_UNROLL = 4
"""Steps of the innermost reduced loop between two visits of an accumulator in a column reduction."""
_CHUNK_ELEMENTS = 8192
"""Elements of a part at most; what is reduced was often computed by both threads, who then have half of it near."""
_MOST_CHUNKS = 64
_ENOUGH_UNITS = 16
"""Rows, or tiles of columns, from which on threads share them whole: what loops share in the same way is near then."""


def emit(module: Module, kernel: Kernel, target: Target) -> EmittedKernel:
    """Emit a reduction kernel."""
    form = Reduction(kernel)
    if form.kept == 0:
        function = begin(module, kernel)
        Builder(function).ret()
        return EmittedKernel(kernel, (function.name,), 0, parallel=False, work=0.0)
    work = cost.nanoseconds(kernel)
    emitter = _Emitter(module, form, target)
    chunks = emitter.chunks(work)
    if chunks == 1:
        parallel = form.kept > 1 and work > cost.PARALLEL_NS
        return EmittedKernel(kernel, (emitter.reduce_all(),), 0, parallel, work)
    names = (emitter.reduce_chunks(chunks), emitter.combine_chunks(chunks))
    return EmittedKernel(kernel, names, sum(form.partial_bytes(chunks)), parallel=True, work=work)


Finish = Callable[[Emission, Index, Sequence[Value]], None]
"""What is done with the accumulators of one result, given its linear index."""


@dataclass(frozen=True, slots=True)
class _Walk:
    """What is visited: which thread of how many, ranges of the reduced loops, first values, what becomes of each."""

    share: tuple[Value, Value]
    ranges: Sequence[nest.Range]
    start: Callable[[Emission], list[Value]]
    finish: Finish


class _Emitter:
    """Emits the functions of one reduction kernel.

    `loops` holds the loops that each group is walked by; a *counter* is the index of one of them.
    """

    def __init__(self, module: Module, form: Reduction, target: Target) -> None:
        self.module = module
        self.form = form
        self.target = target

        def touch(emission: Emission, at: Sequence[Index]) -> None:
            self.form.elements(emission, at)

        self.accumulators = Accumulators.of(form.reduces, form.combine, target)
        self.loops = nest.plan(module, parameters(form.kernel), [group.size for group in form.groups], touch)

    def _counts(self, *, reduced: bool) -> list[int]:
        """The turns of the loops over all reduced, or all kept, groups, outermost first."""
        pairs = zip(self.form.groups, self.loops, strict=True)
        return [count for group, loops in pairs if group.reduced == reduced for count in loops.loops]

    def chunks(self, work: float) -> int:
        """How many parts the outermost reduced loop is cut into; depends on the program alone."""
        total, kept = math.prod(self.form.dims), self.form.kept
        units = kept
        if not self.form.is_row:
            last = self._counts(reduced=False)[-1]
            units = kept // max(1, last) * -(-last // _TILE)
        if units >= _ENOUGH_UNITS or work <= cost.PARALLEL_NS or not total or self.form.identities is None:
            return 1
        outermost = self._counts(reduced=True)[0]
        enough = max(total // _CHUNK_ELEMENTS, int(2 * work / cost.PARALLEL_NS))
        most = max(1, min(_MOST_CHUNKS // max(1, units), enough, outermost // 2))
        # A power of two is shared evenly among most numbers of threads.
        return 1 << (most.bit_length() - 1)

    # -- functions ----------------------------------------------------------------------------------------------
    def reduce_all(self) -> str:
        """One function from operands to results."""
        builder = LaneBuilder(begin(self.module, self.form.kernel))
        emission = Emission(builder)
        ranges = [nest.all_of(count) for count in self._counts(reduced=True)]
        self._walk(emission, _Walk((THREAD, THREADS), ranges, self.form.initial, self.form.finish))
        builder.ret()
        return builder.function.name

    def reduce_chunks(self, chunks: int) -> str:
        """The first of two functions: every chunk's partial results into the workspace."""
        builder = LaneBuilder(begin(self.module, self.form.kernel, ".partial"))
        emission = Emission(builder)
        outermost, *inner = self._counts(reduced=True)
        part = nest.share(builder, chunks, THREAD, THREADS)
        with builder.loop(part.start, part.stop, name="chunk") as loop:
            emission.enter()
            chunk = nest.share(builder, outermost, loop.index, integer(chunks))
            ranges = [chunk, *(nest.all_of(count) for count in inner)]
            base = whole(Variable(loop.index, chunks)).times(self.form.kept)

            def save(emission: Emission, kept: Index, values: Sequence[Value]) -> None:
                self.form.store_partials(emission, base + kept, chunks, values)

            everything = (integer(0), integer(1))
            self._walk(emission, _Walk(everything, ranges, lambda _: self.form.identities or [], save))
            emission.leave()
        builder.ret()
        return builder.function.name

    def combine_chunks(self, chunks: int) -> str:
        """The second function: the partial results of each result combined in order."""
        builder = LaneBuilder(begin(self.module, self.form.kernel, ".combine"))
        emission = Emission(builder)
        lanes = self._result_lanes()
        part = nest.share(builder, self.form.kept, THREAD, THREADS, align=lanes.width if lanes else 1)

        def result(kept: Index) -> None:
            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                at = whole(Variable(counters[0], chunks)).times(self.form.kept) + kept
                found = self.form.load_partials(emission, at, chunks)
                return self.accumulators.join(emission, carried, found)

            initial = self.form.initial(emission)
            opened = self.accumulators.open(initial)
            if lanes:
                opened = [builder.lift(value, lanes.width) for value in opened]
            total = nest.nested(emission, [nest.all_of(chunks)], opened, step)
            self.form.finish(emission, kept, self._met(emission, initial, total))

        if lanes:
            lanes.each(emission, Loops([part], [self.form.kept]), lambda counters: result(counters[0]))
        else:
            with builder.loop(part.start, part.stop, name="result") as loop:
                emission.enter()
                result(whole(Variable(loop.index, self.form.kept)))
                emission.leave()
        builder.ret()
        return builder.function.name

    def _met(self, emission: Emission, initial: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
        """The values that are kept; what was kept in another form has not met its initial value yet."""
        values = self.accumulators.values(emission, kept)
        met = self.form.combine(emission, initial, values)
        return [m if e else v for v, m, e in zip(values, met, self.accumulators.extrema, strict=True)]

    # -- forms --------------------------------------------------------------------------------------------------
    def _walk(self, emission: Emission, walk: _Walk) -> None:
        """Visit this thread's results, reduce over the ranges of the reduced loops, and finish each."""
        (self._rows if self.form.is_row else self._columns)(emission, walk)

    def _rows(self, emission: Emission, walk: _Walk) -> None:
        """Each result on its own, its accumulators in registers."""
        builder, counts = emission.builder, self._counts(reduced=False)
        side, lanes = self._lanes(walk.share)
        part = nest.share(builder, self.form.kept, *walk.share, align=side)
        with builder.loop(part.start, part.stop, step=side, name="row") as row:
            emission.enter()
            numbers = [builder.add(row.index, integer(number)) for number in range(side)]
            many = [self._counters(emission, number, counts) for number in numbers]

            def elements(kept: Sequence[Index], counters: Counters) -> list[Value]:
                return self.form.elements(emission, self._group_indices(kept, counters))

            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                return self.form.combine(emission, carried, elements(many[0], self._as_counters(counters)))

            if lanes:
                rows = [partial(elements, kept) for kept in many]
                reduction = Lanewise(rows, self.accumulators, walk.start(emission), self.form.identities)
                (result,) = lanes.reduce(emission, Loops(walk.ranges, self._counts(reduced=True)), reduction)
            else:
                result = nest.nested(emission, walk.ranges, walk.start(emission), step)
            lane = row_lane(emission, row.index, side, self.form.kept) if side > 1 else None
            with in_lane(emission, lane):
                walk.finish(emission, at_lane(lane) if lane else whole(Variable(row.index, self.form.kept)), result)
            emission.leave()

    def _lanes(self, share: tuple[Value, Value]) -> tuple[int, Lanes | None]:
        """How many rows are walked side by side, and the lanes along the innermost reduced loop, None if it has none.

        The elements must be such as can be emitted on vectors.
        """
        reduced = self._counts(reduced=True)
        computed, leaves = self.form.computed()
        if not fits([*computed, *self.form.reducers()], leaves):
            return 1, None
        arrays = [i.array for i in (*computed, *leaves) if isinstance(i.shape, ArrayShape)]
        lanes = Lanes.choose(self.target, arrays, reduced[-1])
        if lanes and self.form.identities is None and (len(reduced) > 1 or reduced[0] < lanes.width):
            lanes = None
        if lanes is None:
            return 1, None
        joins = share == (THREAD, THREADS) and self._result_lanes() is not None
        side = lanes.together(self.form.kept, math.prod(reduced)) if joins else 1
        return side, lanes.chained(side, reduced[-1], computed)

    def _result_lanes(self) -> Lanes | None:
        """Lanes of neighbouring results, None where what is computed of them cannot be emitted on vectors."""
        body, leaves = list(self.form.kernel.body()), [leaf for leaf, _ in self.form.kernel.leaves]
        if not fits([*(i for i in body if i not in self.form.reduces), *self.form.reducers()], leaves):
            return None
        arrays = [i.array for i in (*body, *leaves) if isinstance(i.shape, ArrayShape)]
        return Lanes.choose(self.target, arrays, self.form.kept)

    def _columns(self, emission: Emission, walk: _Walk) -> None:
        """Neighbouring results together, their accumulators in a tile that stays in L1."""
        builder = emission.builder
        *outer, width = self._counts(reduced=False)
        tiles = -(-width // _TILE)
        size = min(width, _TILE)
        kept_types = self.accumulators.types(self.form.types)
        stored = map(element.storage_type, kept_types)
        accumulators = [builder.emit("ptr", f"alloca [{size} x {type_}], align 64") for type_ in stored]
        part = nest.share(builder, math.prod(outer) * tiles, *walk.share)
        with builder.loop(part.start, part.stop, name="tile") as unit:
            emission.enter()
            *kept, tile = self._counters(emission, unit.index, [*outer, tiles])
            first = tile.times(size)
            count = integer(size)
            if width % size:
                left = builder.sub(integer(width), emission.value(first))
                count = builder.intrinsic("smin.i64", [integer(size), left])
            span = nest.Range(integer(0), count)
            columns = _Columns(self, emission, accumulators, kept_types, [*kept, first], span)
            initial = walk.start(emission)
            columns.fill(self.accumulators.open(initial))
            columns.accumulate(walk.ranges)
            columns.finish(initial, walk.finish)
            emission.leave()

    # -- pieces -------------------------------------------------------------------------------------------------
    def _counters(self, emission: Emission, index: Value, counts: Sequence[int]) -> list[Index]:
        """One counter for each loop from a linear index over all of them, computed here and now."""
        rest = emission.opaque(index, math.prod(counts))
        result: list[Index] = []
        for count in reversed(counts[1:]):
            rest, counter = emission.divide(rest, count)
            result.append(emission.opaque(emission.value(counter), count))
        result.append(emission.opaque(emission.value(rest), counts[0]) if counts else rest)
        return result[::-1]

    def _as_counters(self, values: Sequence[Value]) -> list[Index]:
        counts = self._counts(reduced=True)
        return [whole(Variable(value, count)) for value, count in zip(values, counts, strict=True)]

    def _group_indices(self, kept: Sequence[Index], reduced: Sequence[Index]) -> list[Index]:
        """One linear index per group from the counters of the kept and of the reduced loops."""
        queues = {False: iter(kept), True: iter(reduced)}
        return [
            loops.combine([next(queues[group.reduced]) for _ in loops.loops])
            for group, loops in zip(self.form.groups, self.loops, strict=True)
        ]

    def _result_index(self, kept: Sequence[Index]) -> Index:
        """The linear index of a result from the counters of the kept loops."""
        return linear(kept, self._counts(reduced=False))


@dataclass(frozen=True, slots=True)
class _Columns:
    """One tile of a column reduction: `at` are the kept counters at its first column, `span` the columns."""

    emitter: _Emitter
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
        emitter, emission = self.emitter, self.emission
        counts = emitter._counts(reduced=True)  # noqa: SLF001
        *outer, last = ranges

        def steps(turns: int) -> Callable[[list[Value], Value, list[Value]], None]:
            def step(around: list[Value], inner: Value, columns: list[Value]) -> None:
                reduced = [whole(Variable(v, c)) for v, c in zip(around, counts[:-1], strict=True)]
                values = self._load(columns[0])
                for number in range(turns):
                    turn = whole(Variable(inner, counts[-1])).plus(number)
                    at = emitter._group_indices(self._kept(columns[0]), [*reduced, turn])  # noqa: SLF001
                    values = emitter.accumulators.join(emission, values, emitter.form.elements(emission, at))
                self._save(columns[0], values)

            return step

        def walk(around: list[Value], _: list[Value]) -> list[Value]:
            builder = emission.builder
            length = builder.sub(last.stop, last.start)
            middle = builder.add(last.start, whole_blocks(builder, length, _UNROLL))
            for start, stop, turns in ((last.start, middle, _UNROLL), (middle, last.stop, 1)):
                self._turns(nest.Range(start, stop), turns, around, steps(turns))
            return []

        nest.nested(emission, outer, [], walk)

    def _turns(
        self,
        part: nest.Range,
        turns: int,
        around: list[Value],
        step: Callable[[list[Value], Value, list[Value]], None],
    ) -> None:
        """So many turns of the last reduced loop at a time, for all columns."""
        if part.start.literal is not None and part.start == part.stop:
            return
        emission = self.emission
        with emission.builder.loop(part.start, part.stop, step=turns, nonempty=part.nonempty) as loop:
            emission.enter()

            def columns(counters: list[Value], _: list[Value]) -> list[Value]:
                step(around, loop.index, counters)
                return []

            nest.nested(emission, [self.span], [], columns)
            emission.leave()

    def finish(self, initial: Sequence[Value], finish: Finish) -> None:
        """Hand every column's values on."""
        emitter, emission = self.emitter, self.emission

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            kept = emitter._result_index(self._kept(counters[0]))  # noqa: SLF001
            values = emitter._met(emission, initial, self._load(counters[0]))  # noqa: SLF001
            finish(emission, kept, values)
            return []

        nest.nested(self.emission, [self.span], [], step)

    def _kept(self, column: Value) -> list[Index]:
        return [*self.at[:-1], self.at[-1] + whole(Variable(column, _TILE))]

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
