"""Loop nests: as few loops as the index arithmetic allows.

Dimensions that are walked together are one loop variable as long as nobody needs to take it apart; so an elementwise
chain over any rank is a single loop.  To find out, the body is emitted once into a scratch function with one variable
for each group of dimensions, and where its digits had to be computed the variable is cut into several loops.

The same trial tells where along a loop the code changes over, at the edges of what is padded or put together.  A loop
is split (`compiler.codegen.loop_splitting`) at such places; in each piece the comparisons that decide are known
beforehand, so that the inside of a stencil is a loop without any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from compiler.codegen import complex_numbers
from compiler.codegen.index import Digit, Emission, Index, Variable, constant, reshape, whole
from compiler.codegen.llvm_ir import Builder, Function, Module, Value, integer, short_quotient
from compiler.codegen.period import SHORT_PERIOD, Period, common_period

_MOST_PIECES = 32
"""How often a body may be emitted, for as many combinations of pieces of its loops."""

_MOST_PHASES = 16
"""How often a body may be emitted for combinations of iterations of periods: in two dimensions of 4 each."""

MOST_SHARES = 4096
"""Shares that iterations are cut into at most, 1,024 threads with 4 chunks each: a limit by which numbers are known to
fit in 32 bits, far from what machines have."""

_TINY = 16
"""Iterations of a loop too short to be made of vectors."""


Body = Callable[[Emission, Sequence[Index]], None]
"""Emits what is done at one point: gets one linear index for each group of dimensions."""


@dataclass(frozen=True, slots=True)
class Moving:
    """Places along a loop that start indices move: where the counter and `starts` add up to one of `bounds`.

    `starts` are the keys of start indices, each with a factor.
    """

    starts: tuple[tuple[object, int], ...]
    bounds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoopNest:
    """A run of neighbouring dimensions walked by one linear index, cut into loops of these sizes, outermost first.

    `breaks` holds for each loop the iterations, in order, at which another piece of it begins; `moving` those of which
    only the run tells.  `periods` says of each loop how many iterations belong together.  `jammed`, if not below 0, is
    a loop of few iterations, all of which are done in each iteration of the innermost one of the others.  With `once`,
    no point may be done twice, as is done elsewhere to have whole vectors.
    """

    size: int
    loops: tuple[int, ...]
    breaks: tuple[tuple[int, ...], ...] = ()
    moving: tuple[Moving | None, ...] = ()
    periods: tuple[Period | None, ...] = ()
    jammed: int = -1
    once: bool = False

    @property
    def innermost(self) -> int:
        """The innermost loop that is not jammed."""
        last = len(self.loops) - 1
        return last - 1 if self.jammed == last else last

    def combine(self, counters: Sequence[Index]) -> Index:
        """The linear index from the loops' counters."""
        total, stride = constant(0), self.size
        for counter, count in zip(counters, self.loops, strict=True):
            stride //= max(count, 1)
            total = total + counter.times(stride)
        return total


def plan(module: Module, parameters: Sequence[tuple[str, str]], sizes: Sequence[int], body: Body) -> list[LoopNest]:
    """Cut each group of that many elements where the body takes its index apart.

    `parameters` are those of the kernel, so that the body finds its pointers in the scratch function too.

    Args:
        module: where the body is emitted on trial, and thrown away.
        parameters: of the function that it will stand in.
        sizes: elements of each group.
        body: what is done for each of them.
    """
    emission = Emission(scratch(module, parameters))
    variables = [Variable(Value("i64", f"%scratch.{number}"), size) for number, size in enumerate(sizes)]
    body(emission, [whole(variable) for variable in variables])
    groups = []
    for variable in variables:
        cut = _loops(variable.size, _cuts(emission, variable))
        breaks, moving = _breaks(emission, variable, cut)
        groups.append(LoopNest(variable.size, cut, breaks, moving, _periods(emission, variable, cut)))
    return groups


def uncut(size: int) -> LoopNest:
    """The loops of a body that takes no index apart: one."""
    return LoopNest(size, (size,), ((),), (None,))


def _cuts(emission: Emission, variable: Variable) -> set[int]:
    """The strides to cut a variable at.

    A loop in pieces is not cut for what is done in some piece only, whose counter has fewer digits than the loop's.
    """
    in_pieces = [digit for digit in emission.breaks if digit.variable is variable]
    inner = {
        cut
        for cut in emission.inner_cuts.get(variable, set())
        if not any(digit.stride < cut < digit.stride * digit.size for digit in in_pieces)
    }
    return emission.cuts.get(variable, set()) | inner


def _breaks(
    emission: Emission, variable: Variable, loops_: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[Moving | None, ...]]:
    """Where the pieces of each loop begin; loops that would make too many pieces stay whole, the outer ones first."""
    found: list[tuple[int, ...]] = []
    moving: list[Moving | None] = []
    stride, pieces = 1, 1
    for size in reversed(loops_):
        digit = Digit(variable, stride, size)
        moved, points = _moving(emission, digit), emission.breaks.get(digit, set())
        pieces *= len(moved.bounds if moved else points) + 1
        moving.append(moved if pieces <= _MOST_PIECES else None)
        found.append(tuple(sorted(points)) if pieces <= _MOST_PIECES and not moved else ())
        stride *= size
    return tuple(reversed(found)), tuple(reversed(moving))


def _periods(emission: Emission, variable: Variable, loops_: Sequence[int]) -> tuple[Period | None, ...]:
    """The periods of each loop: any of the innermost, short ones of others, as far as bodies do not become too many."""
    found: list[Period | None] = []
    stride = phases = 1
    for size in reversed(loops_):
        period = common_period(emission.divisions.get(Digit(variable, stride, size), ()))
        length = period.length if period else 1
        suits = not found or phases * length <= _MOST_PHASES
        found.append(period if suits else None)
        phases *= length if suits and length <= SHORT_PERIOD else 1
        stride *= size
    return tuple(reversed(found))


def _moving(emission: Emission, digit: Digit) -> Moving | None:
    """The places along a loop that depend on start indices, all on the same sum of these."""
    found: dict[tuple[tuple[object, int], ...], set[int]] = {}
    for index in emission.moving:
        own = [(one, factor) for one, factor in index.terms if one.variable is digit.variable]
        others = [(one, factor) for one, factor in index.terms if one.variable is not digit.variable]
        if own == [(digit, 1)] and all(one.is_whole and one.variable in emission.starts for one, _ in others):
            starts = tuple((emission.starts[one.variable], factor) for one, factor in others)
            found.setdefault(starts, set()).add(-index.constant)
    if not found:
        return None
    starts, bounds = max(found.items(), key=lambda item: len(item[1]))
    return Moving(starts, tuple(sorted(bounds)))


def scratch(module: Module, parameters: Sequence[tuple[str, str]]) -> Builder:
    """A builder for code that is looked at and thrown away; it may call what the module defines."""
    return Builder(Function(module, "scratch", "void", tuple(parameters), "", ""))


def _loops(size: int, cuts: set[int]) -> tuple[int, ...]:
    """Sizes of the loops, outermost first: cut at every stride that fits the ones before it."""
    strides = [1]
    for cut in sorted(cuts):
        if 1 < cut < size and cut % strides[-1] == 0 and size % cut == 0:
            strides.append(cut)
    strides.append(size)
    return tuple(high // low for low, high in zip(strides[-2::-1], strides[:0:-1], strict=True))


def without_innermost(group: LoopNest) -> LoopNest:
    """The loops of a group, the innermost joined with the one around it, which is run whole then.

    Their counters are found by division, powers of two by shifts.
    """
    *outer, around, last = group.loops
    breaks = (*group.breaks[:-2], ()) if group.breaks else ()
    return LoopNest(group.size, (*outer, around * last), breaks, once=group.once)


def without_tiny_loops(group: LoopNest) -> LoopNest:
    """The loops of a group, inner ones of few iterations joined with those around: for bodies that compute much."""
    while len(group.loops) > 1 and group.loops[-1] < _TINY:
        group = without_innermost(group)
    return group


def coordinates(emission: Emission, index: Index, dims: Sequence[int]) -> tuple[Index, ...]:
    """A linear index taken apart into one index per dimension.

    Args:
        emission: where divisions are emitted that remain.
        index: the linear index.
        dims: the dimensions.
    """
    return tuple(reshape(emission, (index,), (math.prod(dims),), dims))


@dataclass(frozen=True, slots=True)
class Range:
    """The part of a loop that is run: from `start` to `stop`, i64 values that are known to be multiples of `unit`.

    `length` is how many iterations that is, where it is known although the values are not.
    """

    start: Value
    stop: Value
    unit: int = 1
    length: int = 0

    @property
    def nonempty(self) -> bool:
        """Whether it is known to hold an iteration."""
        start, stop = self.start.literal, self.stop.literal
        return self.length > 0 or (start is not None and stop is not None and start < stop)

    def whole_until(self, builder: Builder, block: int) -> Value:
        """The end of the last of its whole blocks of `block` iterations; `builder` emits what is not known."""
        length = builder.sub(self.stop, self.start)
        if length.literal is not None:
            return builder.add(self.start, integer(length.literal // block * block))
        return builder.add(self.start, builder.mul(builder.binary("udiv", length, integer(block)), integer(block)))


def all_of(count: int) -> Range:
    """Every iteration."""
    return Range(integer(0), integer(count), count)


def nested(
    emission: Emission,
    ranges: Sequence[Range],
    carried: Sequence[Value],
    body: Callable[[list[Value], list[Value]], list[Value]],
    *,
    scalar: bool = False,
) -> list[Value]:
    """Loops one inside the other that carry values along; returns what is carried out of the outermost.

    Complex values are carried as their parts: LLVM takes pairs apart everywhere but where blocks join.

    Args:
        emission: where code is emitted.
        ranges: of the loops, outermost first.
        carried: what the first iteration is given.
        body: is given the counters, outermost first, and the carried values, and returns their next values.
        scalar: whether nothing in it is worth being vectorised.
    """
    types = [value.type for value in carried]

    def open_from(level: int, counters: list[Value], values: list[Value]) -> list[Value]:
        if level == len(ranges):
            following = body(counters, complex_numbers.put_together(emission.builder, values, types))
            return complex_numbers.taken_apart(emission.builder, following)
        chunk = ranges[level]
        with emission.builder.loop(
            chunk.start, chunk.stop, carried=values, nonempty=chunk.nonempty, scalar=scalar
        ) as loop:
            emission.enter()
            loop.carry(*open_from(level + 1, [*counters, loop.index], loop.carried))
            emission.leave()
        return loop.results

    found = open_from(0, [], complex_numbers.taken_apart(emission.builder, carried))
    return complex_numbers.put_together(emission.builder, found, types)


@contextmanager
def loops(
    builder: Builder, group: LoopNest, *, split: int = -1, chunk: Range | None = None, metadata: str = ""
) -> Iterator[Index]:
    """Open a group's loops and yield its linear index.

    Args:
        builder: where code is emitted.
        group: the loops.
        split: the number of the loop that runs over `chunk` only, -1 for none.
        chunk: a thread's share.
        metadata: of the innermost loop.
    """
    variables: list[Variable] = []
    with ExitStack() as stack:
        for number, count in enumerate(group.loops):
            is_split = number == split and chunk is not None
            if count == 1 and not is_split:
                variables.append(Variable(integer(0), 1))
                continue
            start, stop = (chunk.start, chunk.stop) if is_split and chunk else (integer(0), integer(count))
            innermost = number == len(group.loops) - 1
            loop = stack.enter_context(
                builder.loop(start, stop, nonempty=not is_split, metadata=metadata if innermost else "")
            )
            variables.append(Variable(loop.index, count))
        yield group.combine([whole(variable) for variable in variables])


def share(builder: Builder, count: int, thread: Value, threads: Value, *, align: int = 1) -> Range:
    """A thread's share of `count` iterations, cut at multiples of `align`.

    Args:
        builder: where code is emitted.
        count: iterations of all threads.
        thread: the number of this one.
        threads: how many there are.
        align: multiples at which shares end.
    """
    blocks = -(-count // align)
    each, left = divmod(count, align * threads.literal) if threads.literal else (0, 1)
    if not left:
        length = each * align
        start = builder.mul(thread, integer(length))
        return Range(start, builder.add(start, integer(length)), length, length)

    is_short = not threads.literal and blocks * MOST_SHARES < 1 << 32

    def cut(number: Value) -> Value:
        product = builder.mul(integer(blocks), number)
        position = short_quotient(builder, product, threads) if is_short else builder.binary("udiv", product, threads)
        scaled = builder.mul(position, integer(align))
        if blocks * align == count:
            return scaled
        return builder.umin(scaled, integer(count))

    return Range(cut(thread), cut(builder.add(thread, integer(1))), math.gcd(align, count))


def joined(group: LoopNest, *, enough: int = 32) -> int:
    """The number of outermost loops that threads share as one, to have enough iterations; 1 where the first will do.

    What a thread does then lies together.  Loops that run in pieces are not joined.
    """
    trip_count = 1
    for number, size in enumerate(group.loops[: group.innermost]):
        moves = group.moving[number] is not None if group.moving else False
        runs_in_pieces = (group.breaks and group.breaks[number]) or (group.periods and group.periods[number])
        if moves or runs_in_pieces or number == group.jammed:
            return 1
        trip_count *= size
        if trip_count >= enough:
            return number + 1
    return 1


def split_level(loop_sizes: Sequence[int], *, enough: int = 32) -> int:
    """The number of the loop to share between threads: the outermost with enough iterations, or else the longest."""
    for number, size in enumerate(loop_sizes):
        if size >= enough:
            return number
    return max(range(len(loop_sizes)), key=lambda number: loop_sizes[number])
