"""Walks along a loop with a vector of neighbouring elements at a time, for kernels whose time is in reductions.

LLVM's vectoriser keeps one accumulator where a loop may not be unrolled, leaves what does not fill a vector to single
elements, and gives up on reducers that it does not know (argmax).  Here several vectors of accumulators hide the
latency of the chain, the rest is one masked vector, and lanes are combined by halves at the end, whatever the reducer.
Which lane takes which element depends on the shape and the target alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS
from compiler.backends.cpu.kernels.vectors.accumulators import Accumulators
from compiler.codegen import cost, nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Digit, Emission, Index, Lane, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder, even_first
from compiler.codegen.llvm_ir import I32, I64, Builder, Value, integer, keep_rolled, lanes_of, vector_type
from compiler.codegen.signature import store_roots
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape

_LIGHT_NS = 0.042
"""Elements that cost less than that are done before an accumulator is."""
_LIGHT_ACCUMULATORS = 4
"""Accumulators of a reduction of such: as many as hide the latency of an addition."""
_HEAVY_ACCUMULATORS = 2
"""Vectors side by side of other elements: a polynomial waits for itself."""
_VERY_HEAVY_NS = 0.167
"""Elements that cost more (in ns as `codegen.cost` has them, more than one polynomial) go in more vectors side by
side."""
_VERY_HEAVY_ACCUMULATORS = 4
"""And of those that are several polynomials, one behind the other."""
_MANY_ROWS = 64
"""Rows from which on several are walked side by side: with fewer of softmax there is nothing to win by it
(`reports/measured/2026-11-26-constants`)."""
_LONGEST_ROWS = {16: 16, 8: 16, 4: 1024, 2: 2048}
"""For a number of rows side by side, the most elements of one: the ends of longer rows do not count."""
LINE = 64
"""Elements at whose multiples a contiguous loop is shared out, so that no two threads write one cache line."""
_FEWEST = 4
"""Iterations of a loop from which on vectors pay."""

Counters = Sequence[Index]
Elements = Callable[[Counters], list[Value]]
Step = Callable[[Counters, list[Value]], list[Value]]
Body = Callable[[], list[Value]]


def _value_bytes(array: ArrayShape) -> int:
    """The size of an element as it is computed with."""
    return 4 if array.element_type.is_float and array.element_type.bits < 32 else array.element_type.size_bytes


def row_lane(emission: Emission, first: Value, rows: int, count: int) -> Lane:
    """Neighbouring rows, `rows` from `first` on of `count` in all, as lanes, by `emission`."""
    builder = _lane_builder(emission)
    steps = Value(vector_type(I64, rows), f"<{', '.join(f'i64 {row}' for row in range(rows))}>")
    return Lane(Variable(builder.add(builder.lift(first, rows), steps), count), Variable(first, count), rows)


def at_lane(lane: Lane) -> Index:
    """The counter; one that can only be 0 is still a counter here."""
    return Index(((Digit(lane.variable, 1, lane.variable.size), 1),))


@contextmanager
def in_lane(emission: Emission, lane: Lane | None) -> Iterator[None]:
    """Emit with a counter's values in lanes."""
    emission.enter()
    before, emission.lane = emission.lane, lane
    yield
    emission.lane = before
    emission.leave()


@dataclass(frozen=True, slots=True)
class Loops:
    """Loops of `counts` iterations, outermost first, of which `ranges` are run."""

    ranges: Sequence[nest.Range]
    counts: Sequence[int]

    @staticmethod
    def all_of(counts: Sequence[int]) -> Loops:
        """Every iteration of every loop."""
        return Loops([nest.all_of(count) for count in counts], counts)


@dataclass(frozen=True, slots=True)
class Lanewise:
    """A reduction of one row, or of several side by side; with nothing to accumulate, a body that is run.

    Without identities there is one loop, of at least as many iterations as there are lanes in all: each lane starts
    from its own first element.
    """

    elements: Sequence[Elements]
    """The elements at a point, row by row."""
    accumulators: Accumulators
    start: Sequence[Value]
    identities: Sequence[Value] | None
    """What leaves others unchanged, None where it is not known for all."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.elements)

    def opened(self) -> list[Value]:
        """The accumulators before anything is joined to them, row by row."""
        return self.accumulators.open(self.identities or []) * self.rows

    def first(self, counter: Index) -> list[Value]:
        """The elements at a counter, row by row."""
        return [value for elements in self.elements for value in elements([counter])]

    def bodies(self, emission: Emission, counters: Counters, kept: Sequence[Value]) -> list[Body]:
        """For each row what takes its elements at a point in.

        Args:
            emission: where code is emitted, with what is known there.
            counters: the indices of the loops around.
            kept: the accumulators of all rows.
        """

        def body(elements: Elements, mine: Sequence[Value]) -> list[Value]:
            return self.accumulators.join(emission, mine, elements(counters), is_next=True)

        return [partial(body, *pair) for pair in zip(self.elements, cut(kept, self.rows), strict=True)]

    def values(self, emission: Emission, kept: Sequence[Value]) -> list[Value]:
        """The values that are kept, with the start values; of several rows, one in each lane."""
        found = self.accumulators.values(emission, kept)
        if self.rows == 1:
            found = [emission.builder.extract(value, 0) for value in found]
        if self.identities is not None and list(self.identities) == list(self.start):
            return found
        return self.accumulators.combine(emission, self.start, found)


@dataclass(frozen=True, slots=True)
class Lanes:
    """Vectors of `width` elements, even ones first where `paired`, `unroll` side by side; `whole`: none is short."""

    width: int
    unroll: int
    paired: bool = False
    whole: bool = False

    @staticmethod
    def choose(
        has: Callable[[str], bool], arrays: Iterable[ArrayShape], count: int, *, paired: bool = False
    ) -> Lanes | None:
        """Lanes for elements of arrays in a loop of `count` iterations, on a target that has some features.

        None if the iterations are too few.  Halves of words may be `paired`: the values of as many words as a vector
        holds are then two vectors.
        """
        if count < _FEWEST:
            return None
        vector_bytes = 64 if has("avx512f") else 32 if has("avx2") else 16
        width = vector_bytes // max((_value_bytes(array) for array in arrays), default=4)
        if paired and count >= 2 * width:
            return Lanes(2 * width, 1, paired=True)
        return Lanes(min(width, 1 << (count - 1).bit_length()), 1)

    def together(self, rows: int, length: int) -> int:
        """The number of rows of a length that are walked side by side, so that what happens at their ends overlaps."""
        if rows < _MANY_ROWS:
            return 1
        fitting = (n for n in (16, 8, 4, 2) if rows % n == 0 and n <= self.width and length <= _LONGEST_ROWS[n])
        return next(fitting, 1)

    @staticmethod
    def is_heavy(computed: Iterable[Instruction]) -> bool:
        """Whether more is to be done for an element than an accumulator takes."""
        return _weight(computed) >= _LIGHT_NS

    def chained(self, rows: int, count: int, computed: Iterable[Instruction]) -> Lanes:
        """Lanes for `rows` rows side by side and a loop of `count` iterations that do what is `computed`."""
        weight = _weight(computed)
        heavy = _HEAVY_ACCUMULATORS if weight < _VERY_HEAVY_NS else _VERY_HEAVY_ACCUMULATORS
        most = (_LIGHT_ACCUMULATORS if weight < _LIGHT_NS else heavy) // (2 if self.paired else 1)
        return replace(self, unroll=max(1, min(most // rows, count // self.width)))

    def reduce(self, emission: Emission, loops: Loops, *reductions: Lanewise) -> list[list[Value]]:
        """Do `reductions` in one go over `loops`, by `emission`; the values of each, start values included."""
        builder = _lane_builder(emission)

        def lifted(values: Iterable[Value]) -> list[Value]:
            return [builder.lift(value, self.width) for value in values]

        if all(reduction.identities is not None for reduction in reductions):
            opened = [lifted(reduction.opened()) for reduction in reductions]
            groups = [[value for values in opened for value in values]] * self.unroll
        else:
            (reduction,), size = reductions, loops.counts[-1]
            positions = [self.lane(builder, integer(n * self.width), size) for n in range(self.unroll)]
            groups = opened = [lifted(self._within(emission, lane, reduction.first)) for lane in positions]
            loops = Loops([nest.Range(integer(self.unroll * self.width), integer(size))], [size])
        sizes = [len(values) for values, _ in zip(opened, reductions, strict=False)]

        def step(counters: Counters, values: list[Value]) -> list[Value]:
            pairs = zip(reductions, _pieces(values, sizes), strict=True)
            bodies = [body for reduction, kept in pairs for body in reduction.bodies(emission, counters, kept)]
            found = lifted(value for values in builder.abreast(bodies) for value in values)
            mask = emission.lane.mask if emission.lane else None
            return found if mask is None else list(map(builder.select, [mask] * len(found), found, values))

        groups = self.carry(emission, loops, groups, step)
        accumulators = [_pieces(group, sizes) for group in groups]
        return [
            reduction.values(emission, self._fold(emission, [chain[number] for chain in accumulators], reduction))
            for number, reduction in enumerate(reductions)
        ]

    def each(self, emission: Emission, loops: Loops, body: Callable[[Counters], None]) -> None:
        """Do what `body` says at every point of `loops`, by `emission`."""

        def step(counters: Counters, _: list[Value]) -> list[Value]:
            body(counters)
            return []

        self.carry(emission, loops, [[]] * self.unroll, step)

    def carry(self, emission: Emission, loops: Loops, groups: Sequence[list[Value]], step: Step) -> list[list[Value]]:
        """Nest `loops`, by `emission`, the innermost by vectors; a `step` advances one of `groups` of values."""
        *outer, last = loops.ranges

        def innermost(counters: list[Value], carried: list[Value]) -> list[Value]:
            at = [whole(Variable(v, c)) for v, c in zip(counters, loops.counts, strict=False)]
            return self._span(
                emission, last, loops.counts[-1], cut(carried, len(groups)), lambda c, v: step([*at, *c], v)
            )

        flat = [value for group in groups for value in group]
        return cut(nest.nested(emission, outer, flat, innermost), len(groups))

    def _span(
        self, emission: Emission, chunk: nest.Range, size: int, groups: list[list[Value]], step: Step
    ) -> list[Value]:
        """The innermost loop: whole vectors for all groups, then what may be left, masked, for the first one."""
        builder = _lane_builder(emission)
        block = len(groups) * self.width
        is_whole = chunk.unit % block == 0
        blocks = chunk if is_whole else nest.Range(chunk.start, chunk.whole_until(builder, block))

        def blockwise(index: Value, carried: list[Value]) -> list[Value]:
            def advance(number: int, group: list[Value]) -> list[Value]:
                return advance_from(builder.add(index, integer(number * self.width)), group)

            def advance_from(first: Value, group: list[Value]) -> list[Value]:
                return self._within(emission, self.lane(builder, first, size), _after(step, group))

            if not carried and not emission.may_be_fast:
                starts = [builder.add(index, integer(number * self.width)) for number in range(len(groups))]
                builder.at_each(lambda start: advance_from(start, []), starts)
                return []
            bodies = [partial(advance, *pair) for pair in enumerate(cut(carried, len(groups)))]
            return [value for values in builder.abreast(bodies) for value in values]

        def masked(index: Value, carried: list[Value]) -> list[Value]:
            lane = self.lane(builder, index, size, self._mask(builder, left := builder.sub(chunk.stop, index)))
            return self._within(emission, replace(lane, is_alone=left.literal == 1), _after(step, carried))

        flat = [value for group in groups for value in group]
        flat = _loop(emission, blocks, block, flat, blockwise)
        each = len(groups[0])
        if is_whole or (self.whole and len(groups) == 1):
            return flat
        rest = _loop(emission, nest.Range(blocks.stop, chunk.stop), self.width, flat[:each], masked)
        return [*rest, *flat[each:]]

    def lane(self, builder: Builder, first: Value, size: int, mask: Value | None = None) -> Lane:
        """Values of a counter of `size`, from `first` on, of which those in the `mask` count; `builder` emits."""
        assert isinstance(builder, LaneBuilder)
        lanes, write = builder.counted(first, self._steps(I64))
        return Lane(Variable(lanes, size, write=write), Variable(first, size), self.width, mask, self.paired)

    def _mask(self, builder: Builder, left: Value) -> Value:
        """Which lanes are among the first `left` elements."""
        return builder.compare("ult", self._steps(I32), builder.cast("trunc", left, I32))

    def _steps(self, type_: str) -> Value:
        order = even_first(self.width) if self.paired else range(self.width)
        numbers = ", ".join(f"{type_} {number}" for number in order)
        return Value(vector_type(type_, self.width), f"<{numbers}>")

    @staticmethod
    def _within(emission: Emission, lane: Lane, body: Callable[[Index], list[Value]]) -> list[Value]:
        """What a body yields with a counter's values in lanes."""
        with in_lane(emission, lane):
            return body(at_lane(lane))

    def _fold(self, emission: Emission, groups: Sequence[list[Value]], reduction: Lanewise) -> list[Value]:
        """All accumulators combined into one vector with a lane for each row, or two equal ones for a single row."""
        if not groups[0]:
            return []
        accumulators = [cut(group, reduction.rows) for group in groups]
        rows = list(accumulators[0])
        for chain in accumulators[1:]:
            rows = [reduction.accumulators.merge(emission, a, b) for a, b in zip(rows, chain, strict=True)]
        lanes, segments = self.width, 1
        while len(rows) > 1:
            pairs = zip(rows[: len(rows) // 2], rows[len(rows) // 2 :], strict=True)
            rows = [_halve(emission, reduction, a, b, lanes // segments) for a, b in pairs]
            segments *= 2
        (values,) = rows
        while lanes > max(segments, 2):
            values = _halve(emission, reduction, values, None, lanes // segments)
            lanes //= 2
        if segments > 1:
            return values
        # The last two lanes are combined as vectors still: integers would leave the vector registers.
        builder = emission.builder
        return reduction.accumulators.merge(
            emission, values, [builder.shuffle(value, None, [1, 0]) for value in values]
        )


def store_each(kernel: Kernel, group: nest.LoopNest, values: Elemental, lanes: Lanes, *, parallel: bool) -> None:
    """Store all `values` of a loop `kernel`, over the loops of a `group`, by `lanes`, shared if it is `parallel`."""
    emission, level = values.emission, nest.split_level(group.loops)
    ranges = [nest.all_of(count) for count in group.loops]
    if parallel:
        align = max(LINE, lanes.width * lanes.unroll) if level == len(ranges) - 1 else 1
        ranges[level] = nest.share(emission.builder, group.loops[level], THREAD, THREADS, align=align)

    def body(counters: Counters) -> None:
        at = group.combine(counters)
        store_roots(kernel, values, nest.coordinates(emission, at, kernel.outputs[0].dims), at)

    lanes.each(emission, Loops(ranges, group.loops), body)


def _halve(
    emission: Emission, reduction: Lanewise, left: Sequence[Value], right: Sequence[Value] | None, size: int
) -> list[Value]:
    """Combine the first with the second half of each segment of `size` lanes; segments of two vectors alternate."""
    builder = emission.builder
    lanes, half = lanes_of(left[0].type), size // 2
    firsts = [first + other for first in range(0, lanes, size) for other in ((0, lanes) if right else (0,))]
    low = [first + lane for first in firsts for lane in range(half)]
    pairs = list(zip(left, right, strict=True)) if right else [(value, None) for value in left]
    halves = ([builder.shuffle(a, b, [n + offset for n in low]) for a, b in pairs] for offset in (0, half))
    return reduction.accumulators.merge(emission, *halves)


def _weight(computed: Iterable[Instruction]) -> float:
    """Nanoseconds for an element."""
    return sum(cost.COST[instruction.opcode] for instruction in computed)


def _lane_builder(emission: Emission) -> LaneBuilder:
    assert isinstance(emission.builder, LaneBuilder)
    return emission.builder


def _after(step: Step, values: list[Value]) -> Callable[[Index], list[Value]]:
    return lambda at: step([at], values)


def cut(values: Sequence[Value], count: int) -> list[list[Value]]:
    """Values in so many parts of equal size."""
    each = len(values) // count
    return [list(values[n * each : (n + 1) * each]) for n in range(count)]


def _pieces(values: Sequence[Value], sizes: Sequence[int]) -> list[list[Value]]:
    """Values in parts of these sizes."""
    left = iter(values)
    return [list(itertools.islice(left, size)) for size in sizes]


def _loop(
    emission: Emission,
    chunk: nest.Range,
    step: int,
    carried: list[Value],
    body: Callable[[Value, list[Value]], list[Value]],
) -> list[Value]:
    """A loop that carries values; none for no iteration or one."""
    start, stop = chunk.start.literal, chunk.stop.literal
    if start is not None and stop is not None and stop - start <= step:
        return body(chunk.start, carried) if stop > start else carried
    builder = emission.builder
    rolled = keep_rolled(builder.module)
    with builder.loop(
        chunk.start, chunk.stop, step=step, carried=carried, nonempty=chunk.nonempty, metadata=rolled
    ) as loop:
        loop.carry(*body(loop.index, loop.carried))
    return loop.results
