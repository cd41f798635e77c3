"""Runs a body over the loops of a nest piece by piece, so that in each piece what the code depends on is known.

A loop's pieces end where the nest's plan saw the code change over: at places that are constants, at places that start
indices move, and at every iteration of a period.  The body is emitted once for each piece.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from compiler.codegen.index import Emission, Index, Known, Variable, constant, whole
from compiler.codegen.llvm_ir import Builder, Value, integer, unroll_vectors
from compiler.codegen.nest import LoopNest, Moving, Range, all_of
from compiler.codegen.period import SHORT_PERIOD

_LINE = 16
"""Elements that are stored by one vector, at whose multiples a cache line begins, of four bytes each."""
_LONG = 4 * _LINE
"""Iterations of a part that is worth a loop of its own: four cache lines of f32."""

Run = Callable[[Range, Callable[[Value], None]], None]
"""Emits a loop: gets its iterations and what emits the body of one."""


def walk(  # noqa: PLR0913 - a nest's parts, all but its body by name
    builder: Builder,
    group: LoopNest,
    body: Callable[[Index], None],
    *,
    split: int = -1,
    joined: int = 1,
    chunk: Range | None = None,
    innermost: Run | None = None,
    known: Known | None = None,
) -> None:
    """Run a body, which gets the linear index, over a group's loops piece by piece, emitting it once for each piece.

    Args:
        builder: where code is emitted.
        group: the loops.
        body: emits what is done with a linear index.
        split: the number of the loop that runs over `chunk` only, -1 for none.
        joined: loops, the first ones, that are taken as one which runs over `chunk`.
        chunk: a thread's share.
        innermost: emits the innermost loops; None for plain ones.
        known: start indices that pieces depend on, and what is true of them in a piece.
    """
    walk_ = _Walk(builder, group, body, split, chunk, innermost or _plain(builder), known or Known())
    if joined > 1 and chunk is not None:
        walk_.open_joined(joined)
    else:
        walk_.open_from(0, [])


def _plain(builder: Builder) -> Run:
    def run(limits: Range, iteration: Callable[[Value], None]) -> None:
        one_vector = limits.nonempty and limits.stop.literal == _LINE
        metadata = unroll_vectors(builder.module) if one_vector else ""
        with builder.loop(limits.start, limits.stop, nonempty=limits.nonempty, metadata=metadata) as loop:
            iteration(loop.index)

    return run


@dataclass(frozen=True, slots=True)
class _Walk:
    """Emits the loops of `walk`."""

    builder: Builder
    group: LoopNest
    body: Callable[[Index], None]
    split: int
    chunk: Range | None
    innermost: Run
    known: Known

    def open_from(self, level: int, counters: list[Index]) -> None:
        """The loops from a level on, inside others with these counters."""
        group = self.group
        if level == len(group.loops):
            self._all_jammed(counters)
            return
        if level == group.jammed:
            self.open_from(level + 1, [*counters, constant(0)])
            return
        moving = group.moving[level] if group.moving else None
        if moving is not None and all(key in self.known.starts for key, _ in moving.starts):
            self._moving_pieces(level, counters, moving)
            return
        count = group.loops[level]
        points = (0, *group.breaks[level], count) if group.breaks else (0, count)
        pieces = list(itertools.pairwise(points))
        period = group.periods[level] if group.periods else None
        if period:
            pieces = [one for piece in pieces for one in period.pieces(*piece)]
        elif level == group.innermost and level != self.split and len(pieces) > 1 and not group.once:
            pieces = [one for piece in pieces for one in _in_lines(*piece)]
        for first, stop in pieces:
            limits = self._limits(level, first, stop - first)
            if period and period.fits(first, stop):
                self._periods(period.length, counters, (first, stop), limits)
            elif stop - first == 1 and limits.nonempty:
                self.open_from(level + 1, [*counters, constant(first)])
            else:
                self._loop(level, counters, (first, stop), limits)

    def open_joined(self, count: int) -> None:
        """All loops, the first `count` of them as one, of which the iterations of `chunk` are run."""
        outer, chunk = self.group.loops[:count], self.chunk
        assert chunk is not None

        def iteration(index: Value) -> None:
            emission = Emission(self.builder)
            rest, counters = whole(Variable(index, math.prod(outer))), []
            for size in reversed(outer):
                rest, counter = emission.divide(rest, size)
                counters.append(emission.opaque(emission.value(counter), size))
            self.open_from(count, counters[::-1])

        _plain(self.builder)(chunk, iteration)

    def _all_jammed(self, counters: list[Index]) -> None:
        """The body at a point, or at those of a jammed loop one after the other."""
        jammed = self.group.jammed
        if jammed < 0:
            self.body(self.group.combine(counters))
            return
        for number in range(self.group.loops[jammed]):
            self.body(self.group.combine([*counters[:jammed], constant(number), *counters[jammed + 1 :]]))

    def _limits(self, level: int, first: int, size: int) -> Range:
        if level == self.split and self.chunk:
            return _within(self.builder, self.chunk, first, size)
        return all_of(size)

    def _loop(self, level: int, counters: list[Index], piece: tuple[int, int], limits: Range) -> None:
        first, stop = piece

        def iteration(index: Value) -> None:
            self.open_from(level + 1, [*counters, whole(Variable(index, stop - first)).plus(first)])

        self._run(level)(limits, iteration)

    def _run(self, level: int) -> Run:
        return self.innermost if level == self.group.innermost else _plain(self.builder)

    def _periods(self, length: int, counters: list[Index], piece: tuple[int, int], limits: Range) -> None:
        """Whole periods as a loop over them; within each the first iteration, and short ones throughout, one by one."""
        builder, level, (first, stop) = self.builder, len(counters), piece

        def iteration(index: Value) -> None:
            start = whole(Variable(index, (stop - first) // length)).times(length).plus(first)
            apart = length if length <= SHORT_PERIOD else 1
            for number in range(apart):
                self.open_from(level + 1, [*counters, start.plus(number)])
            if apart < length:
                with builder.loop(integer(0), integer(length - apart), nonempty=True) as rest:
                    behind = whole(Variable(rest.index, length - apart)).plus(apart)
                    self.open_from(level + 1, [*counters, start + behind])

        def quotient(point: Value) -> Value:
            if point.literal is not None:
                return integer(-(-point.literal // length))
            return builder.binary("udiv", builder.add(point, integer(length - 1)), integer(length))

        self._run(level)(Range(quotient(limits.start), quotient(limits.stop)), iteration)

    def _moving_pieces(self, level: int, counters: list[Index], moving: Moving) -> None:
        """A loop in pieces between places that are found out before it runs."""
        builder, known, count = self.builder, self.known, self.group.loops[level]
        base = constant(0)
        for key, factor in moving.starts:
            base = base + known.starts[key].times(factor)
        moved = Emission(builder).value(base)
        ends = integer(0), integer(count)
        ahead = (builder.sub(integer(bound), moved) for bound in moving.bounds)
        points = [ends[0], *(builder.clamp(point, *ends) for point in ahead), ends[1]]
        chunk = self.chunk if level == self.split else None
        if chunk:
            points = [builder.clamp(point, chunk.start, chunk.stop) for point in points]
        far = count + sum(abs(bound) for bound in moving.bounds) + sum(map(abs, base.bounds()))
        for limits, bounds in zip(
            itertools.pairwise(points), itertools.pairwise((-far, *moving.bounds, far)), strict=True
        ):

            def iteration(index: Value, bounds: tuple[int, int] = bounds) -> None:
                counter = whole(Variable(index, count))
                terms = (counter + base).terms
                known.bounds[terms] = bounds
                self.open_from(level + 1, [*counters, counter])
                del known.bounds[terms]

            self._run(level)(Range(*limits), iteration)


def _in_lines(first: int, stop: int) -> list[tuple[int, int]]:
    """A long piece of an innermost loop as whole lines, and a line at each end where it does not end with one.

    Those at the ends overlap the others: a few elements are computed twice, to the same bits, but all by vectors.
    """
    start, end = -(-first // _LINE) * _LINE, stop // _LINE * _LINE
    if end - start < _LONG:
        return [(first, stop)]
    ahead = [(first, first + _LINE)] if first < start else []
    behind = [(stop - _LINE, stop)] if end < stop else []
    return [*ahead, (start, end), *behind]


def _within(builder: Builder, chunk: Range, first: int, size: int) -> Range:
    """What a part of a loop has of a piece, counted from the piece's first iteration."""

    def clamp(point: Value) -> Value:
        moved = builder.sub(point, integer(first)) if first else point
        above = builder.smax(moved, integer(0)) if first else moved
        return builder.smin(above, integer(size))

    return Range(clamp(chunk.start), clamp(chunk.stop), math.gcd(chunk.unit, first, size))
