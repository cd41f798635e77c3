"""Loop nests: as few loops as the index arithmetic allows.

Dimensions that are walked together are one loop variable as long as nobody needs to take it apart; so an elementwise
chain over any rank is a single loop.  To find out, the body is emitted once into a scratch function with one variable
for each group of dimensions, and where its digits had to be computed the variable is cut into several loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from compiler.codegen.index import Emission, Index, Variable, constant, reshape, whole
from compiler.codegen.llvm_ir import Builder, Function, Module, Value, integer

Body = Callable[[Emission, Sequence[Index]], None]
"""Emits what is done at one point: gets one linear index for each group of dimensions."""


@dataclass(frozen=True, slots=True)
class Group:
    """A run of neighbouring dimensions walked by one linear index, cut into loops of these sizes, outermost first."""

    size: int
    loops: tuple[int, ...]

    def combine(self, counters: Sequence[Index]) -> Index:
        """The linear index from the loops' counters."""
        total, stride = constant(0), self.size
        for counter, count in zip(counters, self.loops, strict=True):
            stride //= max(count, 1)
            total = total + counter.times(stride)
        return total


def plan(module: Module, parameters: Sequence[tuple[str, str]], sizes: Sequence[int], body: Body) -> list[Group]:
    """Cut each group of that many elements where the body takes its index apart.

    `parameters` are those of the kernel, so that the body finds its pointers in the scratch function too.
    """
    emission = Emission(scratch(module, parameters))
    variables = [Variable(Value("i64", f"%scratch.{number}"), size) for number, size in enumerate(sizes)]
    body(emission, [whole(variable) for variable in variables])
    return [Group(v.size, _loops(v.size, emission.cuts.get(v, set()))) for v in variables]


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


def coordinates(emission: Emission, index: Index, dims: Sequence[int]) -> tuple[Index, ...]:
    """A linear index taken apart into one index per dimension."""
    return tuple(reshape(emission, (index,), (math.prod(dims),), dims))


@dataclass(frozen=True, slots=True)
class Range:
    """The part of a loop that is run: from `start` to `stop`, i64 values."""

    start: Value
    stop: Value

    @property
    def nonempty(self) -> bool:
        """Whether it is known to hold an iteration."""
        start, stop = self.start.literal, self.stop.literal
        return start is not None and stop is not None and start < stop


def all_of(count: int) -> Range:
    """Every iteration."""
    return Range(integer(0), integer(count))


def nested(
    emission: Emission,
    ranges: Sequence[Range],
    carried: Sequence[Value],
    body: Callable[[list[Value], list[Value]], list[Value]],
) -> list[Value]:
    """Loops one inside the other that carry values along; returns what is carried out of the outermost.

    `body` gets the counters, outermost first, and the carried values, and returns their next values.
    """

    def open_from(level: int, counters: list[Value], values: list[Value]) -> list[Value]:
        if level == len(ranges):
            return body(counters, values)
        part = ranges[level]
        with emission.builder.loop(part.start, part.stop, carried=values, nonempty=part.nonempty) as loop:
            emission.enter()
            loop.carry(*open_from(level + 1, [*counters, loop.index], loop.carried))
            emission.leave()
        return loop.results

    return open_from(0, [], list(carried))


@contextmanager
def loops(
    builder: Builder, group: Group, *, split: int = -1, part: Range | None = None, metadata: str = ""
) -> Iterator[Index]:
    """Open a group's loops and yield its linear index; loop number `split` runs over `part` only.

    `metadata` goes on the innermost loop.
    """
    variables: list[Variable] = []
    with ExitStack() as stack:
        for number, count in enumerate(group.loops):
            is_split = number == split and part is not None
            if count == 1 and not is_split:
                variables.append(Variable(integer(0), 1))
                continue
            start, stop = (part.start, part.stop) if is_split and part else (integer(0), integer(count))
            innermost = number == len(group.loops) - 1
            loop = stack.enter_context(
                builder.loop(start, stop, nonempty=not is_split, metadata=metadata if innermost else "")
            )
            variables.append(Variable(loop.index, count))
        yield group.combine([whole(variable) for variable in variables])


def share(builder: Builder, count: int, thread: Value, threads: Value, *, align: int = 1) -> Range:
    """A thread's share of `count` iterations, cut at multiples of `align`."""
    blocks = -(-count // align)

    def cut(number: Value) -> Value:
        position = builder.binary("udiv", builder.mul(integer(blocks), number), threads)
        scaled = builder.mul(position, integer(align))
        if blocks * align == count:
            return scaled
        return builder.intrinsic("umin.i64", [scaled, integer(count)])

    return Range(cut(thread), cut(builder.add(thread, integer(1))))


def split_level(loop_sizes: Sequence[int], *, enough: int = 32) -> int:
    """Which loop to share between threads: the outermost with enough turns, or else the longest."""
    for number, size in enumerate(loop_sizes):
        if size >= enough:
            return number
    return max(range(len(loop_sizes)), key=lambda number: loop_sizes[number])
