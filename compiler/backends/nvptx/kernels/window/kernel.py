"""Scan kernels (cumulative sums and their like): a block for each line, or for each chunk of a long one.

A block takes a line tile by tile.  Every thread scans a few neighbours, a warp the threads' totals by shuffles, and
through shared memory every warp learns what the warps before it come to; what the tile comes to is carried to the next.
Where few lines are long, a first launch finds what each chunk of a line comes to, and in a second one the block of a
chunk puts together what those before it come to and scans from there.  Many lines that lie side by side are a thread's
each, and so are the shortest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import WARP, Launch
from compiler.backends.nvptx.kernels.loop import kernel as loop
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Launches, Plan, Strategy, planned
from compiler.backends.nvptx.kernels.teams.tree import power_of_two
from compiler.backends.strategy import Declined
from compiler.codegen import element
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, linear, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.scanning import Direction, direction
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.windows import combiner_of

_NEIGHBOURS = 4
"""Elements of a line that a thread scans by itself: a word of 16 bytes of f32."""
_SIDE_BY_SIDE = 32
"""Lines side by side from which on the threads of a warp, one for each, read whole sectors."""
_MANY_LINES = 4096
"""Lines from which on a thread for each keeps a GPU busy (a warp for each multiprocessor of an H100)."""
_SHORT = 8
"""Elements of a line that a thread scans in any case: what it loads of them is on its way together."""
_TILE = grid.BLOCK * _NEIGHBOURS
"""Elements that a block of the most threads scans at once: chunks are multiples of that."""
_LONG = 6 * _TILE
"""Elements from which on tiles one after the other take longer than a second launch (by the model)."""
_MANY_CHUNKS = 1056
"""Chunks of all lines at most: blocks of `grid.BLOCK` threads that an H100 holds at once."""
_MOST_CHUNKS = _TILE
"""Chunks of a line at most: a block puts what they come to together in one tile."""

Load = Callable[[Emission, Value], Value]
"""The element at a step of a line."""
Save = Callable[[Emission, Value, Value], None]
"""Stores what the elements up to a step come to."""


class WindowGiven(Given):
    """A reduce-window kernel, with what emits it as a scan where it is one."""

    @cached_property
    def way(self) -> Direction | None:
        """The direction of the scan."""
        return direction(self.kernel.roots[0])

    def scan(self, module: Module) -> _Scan | None:
        """What emits the scan into a module."""
        return None if self.way is None else _Scan(module, self.kernel, self.way)

    @cached_property
    def seen(self) -> _Scan | None:
        """The same, to be looked at."""
        return self.scan(self.scratch)

    def plan(self, emit: Callable[[_Scan], Launches], *, chunks: int = 1) -> Plan:
        """The plan of a form of a scan."""
        scan = self.seen
        assert scan is not None
        workspace = scan.lines * chunks * scan.type.size_bytes if chunks > 1 else 0
        details = {"lines": scan.lines, "length": scan.length, "parts": chunks}
        return planned(
            lambda module: emit(_Scan(module, self.kernel, scan.way)), workspace_bytes=workspace, details=details
        )


_NO_SCAN = "windows do not hold everything from one end of a dimension on"


def _threads(given: WindowGiven) -> Plan | Declined:
    """The plan of a thread for each line."""
    scan = given.seen
    if scan is None:
        return Declined(_NO_SCAN)
    if scan.length > _SHORT and (scan.inner < _SIDE_BY_SIDE or scan.lines < _MANY_LINES):
        return Declined("lines are few, or do not lie side by side")
    return given.plan(lambda scan: (scan.thread_per_line(),))


def _chunks(given: WindowGiven) -> Plan | Declined:
    """The plan of a block for each chunk of a line."""
    scan = given.seen
    if scan is None:
        return Declined(_NO_SCAN)
    most = min(_MOST_CHUNKS, _MANY_CHUNKS // scan.lines)
    if scan.length < _LONG or most <= 1:
        return Declined("lines are short, or enough of them to keep a GPU busy")
    size = _TILE * -(-scan.length // (_TILE * most))
    chunks = -(-scan.length // size)

    def launches(scan: _Scan) -> Launches:
        cut = _Cut(chunks, size)
        return scan.chunk_totals(cut), scan.block_per_chunk(cut)

    return given.plan(launches, chunks=chunks)


def _blocks(given: WindowGiven) -> Plan | Declined:
    """The plan of a block for each line."""
    if given.seen is None:
        return Declined(_NO_SCAN)
    return given.plan(lambda scan: (scan.block_per_line(),))


REDUCE_WINDOW = Kind(
    (
        Strategy("scan, a thread for each line", _threads),
        Strategy("scan, a block for each part of a line", _chunks),
        Strategy("scan, a block for each line", _blocks),
        Strategy("windows element by element", loop.plan_of),
    ),
    WindowGiven,
)
"""reduce-window kernels."""


class _Line(NamedTuple):
    """A line: its initial value, and how its elements are read and its results stored."""

    start: Value
    load: Load
    save: Save


class _Cut(NamedTuple):
    """How lines are cut: how many chunks each has, and of how many elements; the last may have fewer."""

    chunks: int
    size: int


class _Chunk(NamedTuple):
    """What a block scans: the line, the chunk of it, and the chunk's first step and the one behind its last."""

    line: Index
    chunk: Index
    bounds: tuple[Value, Value]


class _Scan:
    """Emits the functions of one scan; the array is seen as (outer, length, inner), and every (outer, inner) a line."""

    def __init__(self, module: Module, kernel: Kernel, way: Direction) -> None:
        (instruction,) = kernel.roots
        self.module = module
        self.kernel = kernel
        self.way = way
        self.array, self.initial = instruction.operands
        self.dims = self.array.array.dims
        self.combiner = combiner_of(instruction)
        self.type = self.combiner.types[0]
        self.length = self.dims[way.dim]
        self.inner = math.prod(self.dims[way.dim + 1 :])
        self.lines = math.prod(self.dims) // self.length

    def thread_per_line(self) -> Launch:
        """Each thread scans a line; neighbouring threads have neighbouring lines."""

        def line(builder: Builder, number: Value) -> None:
            at = Emission(builder)
            start, load, save = self._line(at, at.opaque(number, self.lines))
            with builder.loop(integer(0), integer(self.length), carried=[start], name="step", nonempty=True) as loop:
                emission = Emission(builder)
                total = self._combine(emission, loop.carried[0], load(emission, loop.index))
                save(emission, loop.index, total)
                loop.carry(total)

        return grid.for_each(self.module, self.kernel, self.lines, line)

    def block_per_line(self) -> Launch:
        """Each block scans a line."""
        tile = _Tile(self, self.length, "")
        emission = tile.emission
        start, load, save = self._line(emission, emission.opaque(grid.block(tile.builder), self.lines))
        tile.scan((integer(0), integer(self.length)), start, load, save)
        return tile.launch(self.lines)

    def chunk_totals(self, cut: _Cut) -> Launch:
        """Each block finds what a chunk of a line comes to, without the initial value."""
        tile = _Tile(self, cut.size, "_totals")
        line, chunk, bounds = self._chunk(tile, cut)
        _, load, _ = self._line(tile.emission, line)
        builder = tile.builder
        last = builder.sub(bounds[1], integer(1))
        # The first element starts the sum; what follows is added to it.
        start = load(tile.emission, bounds[0])
        at = self._total(tile.emission, line, chunk, cut)

        def save(emission: Emission, step: Value, total: Value) -> None:
            with builder.when(builder.compare("eq", step, last), "last"):
                element.store(emission.builder, self.type, total, at)

        following = builder.add(bounds[0], integer(1))
        with (
            builder.when(builder.compare("eq", following, bounds[1]), "single"),
            builder.when(builder.compare("eq", grid.thread(builder), integer(0)), "first"),
        ):
            element.store(builder, self.type, start, at)
        tile.scan((following, bounds[1]), start, load, save)
        return tile.launch(self.lines * cut.chunks)

    def block_per_chunk(self, cut: _Cut) -> Launch:
        """Each block scans a chunk of a line from what is before it."""
        tile = _Tile(self, cut.size, "_parts")
        line, chunk, bounds = self._chunk(tile, cut)
        start, load, save = self._line(tile.emission, line)
        tile.scan(bounds, self._before_chunk(tile, (line, chunk), cut, start), load, save)
        return tile.launch(self.lines * cut.chunks)

    # -- pieces -------------------------------------------------------------------------------------------------
    def _before_chunk(self, tile: _Tile, at: tuple[Index, Index], cut: _Cut, start: Value) -> Value:
        """What the chunks of a line before one come to, behind the initial value."""
        (line, chunk), builder = at, tile.builder
        number = tile.emission.value(chunk)
        found = grid.shared_array(builder, f"before.{self.kernel.name}", self.type, 1)
        last = builder.sub(number, integer(1))

        def load(emission: Emission, before: Value) -> Value:
            address = self._total(emission, line, emission.opaque(before, cut.chunks), cut)
            return element.load(emission.builder, self.type, address)

        def save(emission: Emission, before: Value, total: Value) -> None:
            with builder.when(builder.compare("eq", before, last), "last"):
                element.store(emission.builder, self.type, total, found)

        with (
            builder.when(builder.compare("eq", number, integer(0)), "begin"),
            builder.when(builder.compare("eq", grid.thread(builder), integer(0)), "first"),
        ):
            element.store(builder, self.type, start, found)
        tile.scan((integer(0), number), start, load, save)
        grid.barrier(builder)
        return element.load(builder, self.type, found)

    def _chunk(self, tile: _Tile, cut: _Cut) -> _Chunk:
        """What a block scans."""
        emission, builder = tile.emission, tile.builder
        line, chunk = emission.divide(emission.opaque(grid.block(builder), self.lines * cut.chunks), cut.chunks)
        first = emission.value(chunk.times(cut.size))
        end = builder.smin(builder.add(first, integer(cut.size)), integer(self.length))
        return _Chunk(line, chunk, (first, end))

    def _total(self, emission: Emission, line: Index, chunk: Index, cut: _Cut) -> Value:
        """Where what a chunk comes to lies in the workspace."""
        at = emission.value(line.times(cut.chunks) + chunk)
        stored = element.storage_type(self.type)
        return emission.builder.gep(stored, arguments(self.kernel).workspace, at)

    def _line(self, emission: Emission, line: Index) -> _Line:
        """The line of a number."""
        outer, inner = emission.divide(line, self.inner)
        start = elemental_of(self.kernel, emission).value(self.initial, ())

        def at(emission: Emission, step: Value) -> tuple[Index, ...]:
            if self.way.backwards:
                step = emission.builder.sub(integer(self.length - 1), step)
            position = emission.opaque(step, self.length)
            before, after = self.dims[: self.way.dim], self.dims[self.way.dim + 1 :]
            return (
                *reshape(emission, (outer,), (math.prod(before),), before),
                position,
                *reshape(emission, (inner,), (self.inner,), after),
            )

        def load(emission: Emission, step: Value) -> Value:
            return elemental_of(self.kernel, emission).value(self.array, at(emission, step))

        def save(emission: Emission, step: Value, total: Value) -> None:
            values = Elemental(emission, {})
            (result,) = self.combiner.finish(values, [total])
            shape, output = self.kernel.outputs[0], arguments(self.kernel).outputs[0]
            store(emission, shape, result, output, linear(at(emission, step), self.dims))

        return _Line(start, load, save)

    def _combine(self, emission: Emission, left: Value, right: Value) -> Value:
        return self.combiner.combine(Elemental(emission, {}), [left], [right], flags="")[0]


class _Tile:
    """One block's way through a line."""

    def __init__(self, scan: _Scan, length: int, suffix: str) -> None:
        self.scan_ = scan
        most = -(-length // (_NEIGHBOURS * WARP)) * WARP
        self.threads = max(WARP, power_of_two(min(grid.BLOCK, most)))
        self.builder = grid.begin(scan.module, scan.kernel, self.threads, suffix, talks=True)
        self.emission = Emission(self.builder)
        self.stored = element.storage_type(scan.type)
        name = f"warps.{scan.kernel.name}{suffix}"
        self.shared = grid.shared_array(self.builder, name, scan.type, self.threads // WARP)

    def launch(self, blocks: int) -> Launch:
        """End the function."""
        self.builder.ret()
        return Launch(self.builder.function.name, blocks, self.threads)

    def scan(self, bounds: tuple[Value, Value], start: Value, load: Load, save: Save) -> None:
        """Scan the steps between the bounds from a value on, a tile at a time."""
        builder, width = self.builder, self.threads * _NEIGHBOURS
        with builder.loop(bounds[0], bounds[1], step=width, carried=[start], name="tile") as loop:
            first = builder.add(loop.index, builder.mul(grid.thread(builder), integer(_NEIGHBOURS)))
            steps = [builder.add(first, integer(number)) for number in range(_NEIGHBOURS)]
            emission = Emission(builder)
            # Beyond the end are the last element's copies, whose sums nobody needs.
            last = builder.sub(bounds[1], integer(1))
            found = [load(emission, builder.smin(step, last)) for step in steps]
            sums = found[:1]
            for value in found[1:]:
                sums.append(self._combine(emission, sums[-1], value))
            before, after = self._before(emission, sums[-1], loop.carried[0])
            for step, total in zip(steps, sums, strict=True):
                with builder.when(builder.compare("slt", step, bounds[1]), "inside"):
                    inner = Emission(builder)
                    save(inner, step, self._combine(inner, before, total))
            loop.carry(after)

    def _before(self, emission: Emission, total: Value, carried: Value) -> tuple[Value, Value]:
        """What is before a thread's elements, carried value and all, and what the tile comes to."""
        builder, type_ = self.builder, self.scan_.type
        thread = grid.thread(builder)
        lane = builder.binary("and", thread, integer(WARP - 1))
        warp = builder.binary("lshr", thread, integer(5))
        distance = 1
        while distance < WARP:
            other = grid.shuffle_up(builder, total, distance)
            more = self._combine(emission, other, total)
            total = builder.select(builder.compare("sge", lane, integer(distance)), more, total)
            distance *= 2
        in_warp = grid.shuffle_up(builder, total, 1)
        with builder.when(builder.compare("eq", lane, integer(WARP - 1)), "last"):
            element.store(builder, type_, total, builder.gep(self.stored, self.shared, warp))
        grid.barrier(builder)
        mine = carried
        for number in range(self.threads // WARP):
            mine = builder.select(builder.compare("eq", warp, integer(number)), carried, mine) if number else carried
            there = element.load(builder, type_, builder.gep(self.stored, self.shared, integer(number)))
            carried = self._combine(emission, carried, there)
        # The next tile's totals go where these are.
        grid.barrier(builder)
        both = self._combine(emission, mine, in_warp)
        return builder.select(builder.compare("eq", lane, integer(0)), mine, both), carried

    def _combine(self, emission: Emission, left: Value, right: Value) -> Value:
        return self.scan_.combiner.combine(Elemental(emission, {}), [left], [right], flags="")[0]
