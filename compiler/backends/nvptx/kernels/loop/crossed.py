"""Loop kernels that read something across: transposes, and whatever is fused around them, through shared memory.

A block makes a tile of the result.  First its warps read the tile's rows of every leaf that lies across, in order;
behind a barrier they run the kernel's body along the other dimension and find those elements in shared memory.  A lane
has one element of a row, of narrow types so many that a warp reads and writes whole lines of memory: neighbours, in one
word, where rows begin at words, else elements apart.  Rows of the tile are a little longer than it is wide, so that a
column's elements lie in different banks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Given, Plan, planned
from compiler.backends.strategy import Declined
from compiler.codegen import element, nest, strided
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments, parameters
from compiler.codegen.strided import StridedReads
from compiler.ir.shape import ArrayShape

_WARPS = 8
"""Warps of a block, which take the lines of a tile one behind the other: 256 threads."""
_BANK_BYTES = 4
"""Bytes of a bank of shared memory in a line (CUDA C++ Programming Guide, "Shared Memory"); of as many a lane has
elements, so that a warp reads lines of 128 bytes."""
_LONG_BODY = 64
"""Instructions beyond which threads have no registers left for several elements."""
_MOST_SHARED_BYTES = 32 * 1024
"""Bytes of shared memory of a block: seven blocks fit on a multiprocessor with 228 KiB."""
_MANY_BLOCKS = 256
"""Blocks from which on tiles may be larger: about two for each of the 108 to 132 multiprocessors of an A100 or H100."""
_AT_ONCE = 8
"""Words of each leaf that a thread asks for together."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The tile: how many elements of a row a lane has, and whether these are neighbours or a warp's width apart."""

    each: int
    neighbours: bool

    @property
    def side(self) -> int:
        """Rows and columns."""
        return grid.WARP * self.each

    def pitch(self, size_bytes: int) -> int:
        """Elements from one line to the next, so that what lanes read of a column lies in different banks."""
        return self.side + (1 if self.neighbours else max(1, _BANK_BYTES // size_bytes))

    def shared_bytes(self, found: StridedReads) -> int:
        """Shared memory for tiles of all leaves that are read across."""
        sizes = [access.leaf.array.element_type.size_bytes for access in found.accesses]
        return sum(size * self.side * self.pitch(size) for size in sizes)

    def tiles(self, found: StridedReads) -> list[int]:
        """How many tiles there are along each loop."""
        counts, both = found.group.loops, (found.loop, len(found.group.loops) - 1)
        return [-(-count // self.side) if number in both else count for number, count in enumerate(counts)]


def decide(given: Given) -> Plan | Declined:
    """The plan of tiles where something is read across."""
    found = _strided_reads(given)
    if isinstance(found, Declined):
        return found
    read = [access.leaf.name for access in found.accesses]
    shape = _shape(found)
    details = {"tile": [shape.side, shape.side], "neighbours": shape.each if shape.neighbours else 1}
    return planned(lambda module: (_emit(module, found, shape),), details={**details, "read_across": read})


def _strided_reads(given: Given) -> StridedReads | Declined:
    """What a loop kernel reads across, or why tiles do not pay for it."""
    kernel = given.kernel
    dims = kernel.outputs[0].dims
    roots_alike = all(isinstance(root.shape, ArrayShape) and root.array.dims == dims for root in kernel.roots)
    if not roots_alike or sum(1 for _ in kernel.body()) > _LONG_BODY:
        return Declined(f"results differ in dimensions, or take more than {_LONG_BODY} instructions")
    group = nest.LoopNest(kernel.outputs[0].size, tuple(dims))
    found = strided.find(nest.scratch(given.scratch, parameters(kernel)), kernel, group, grid.WARP)
    if found is None:
        return Declined("nothing is read across its innermost dimension that another one would read in order")
    shared_bytes = _Shape(1, neighbours=False).shared_bytes(found)
    return found if shared_bytes <= _MOST_SHARED_BYTES else Declined(f"tiles would take {shared_bytes} bytes to share")


def _shape(found: StridedReads) -> _Shape:
    """The largest tile that a lane has a bank's bytes of the narrowest type of, where there are enough of them."""
    arrays = [*(access.leaf.array for access in found.accesses), *found.kernel.outputs]
    each = max(1, _BANK_BYTES // min(array.element_type.size_bytes for array in arrays))
    while each > 1:
        shape = _Shape(each, _in_words(found, each))
        both = found.group.loops[found.loop], found.group.loops[-1]
        fits = shape.side <= min(both) and shape.shared_bytes(found) <= _MOST_SHARED_BYTES
        if fits and math.prod(shape.tiles(found)) >= _MANY_BLOCKS:
            return shape
        each //= 2
    return _Shape(1, neighbours=False)


def _in_words(found: StridedReads, each: int) -> bool:
    """Whether so many neighbours, from a multiple of them on, are in a row or none is, and lie from a multiple on."""
    loops, across = found.group.loops, found.loop
    offsets = [
        number
        for access in found.accesses
        for number in (access.constant, *(f for n, f in enumerate(access.factors) if n != across))
    ]
    return all(number % each == 0 for number in (loops[across], loops[-1], *offsets))


def _emit(module: Module, found: StridedReads, shape: _Shape) -> Launch:
    threads = grid.WARP * _WARPS
    builder = grid.begin(module, found.kernel, threads)
    tile = _Tile(builder, found, shape)
    tile.fill()
    grid.barrier(builder)
    tile.store()
    builder.ret()
    return Launch(builder.function.name, tile.blocks, threads)


class _Tile:
    """One block's tile: where it starts in every loop, and its buffers."""

    def __init__(self, builder: Builder, found: StridedReads, shape: _Shape) -> None:
        self.builder = builder
        self.found = found
        self.shape = shape
        self.counts = found.group.loops
        self.across, self.inner = found.loop, len(self.counts) - 1
        emission, tiles = Emission(builder), shape.tiles(found)
        self.blocks = math.prod(tiles)
        rest = emission.opaque(grid.block(builder), self.blocks)
        self.start: list[Index] = []
        """The numbers of the tile along both of its loops, and the counters of the others."""
        for number in reversed(range(len(tiles))):
            rest, index = emission.divide(rest, tiles[number])
            self.start.insert(0, emission.opaque(emission.value(index), tiles[number]))
        thread = grid.thread(builder)
        self.lane = emission.opaque(builder.binary("and", thread, integer(grid.WARP - 1)), grid.WARP)
        self.warp = emission.opaque(builder.binary("lshr", thread, integer(5)), _WARPS)
        self.buffers = []
        for number, access in enumerate(found.accesses):
            type_ = access.leaf.array.element_type
            count = shape.side * shape.pitch(type_.size_bytes)
            self.buffers.append(grid.shared_array(builder, f"tile.{found.kernel.name}.{number}", type_, count))

    def _words(self) -> list[list[Index]]:
        """A lane's elements of a row of the tile, those that are inside or outside together in one list."""
        each = self.shape.each
        if self.shape.neighbours:
            first = self.lane.times(each)
            return [[first.plus(number) for number in range(each)]]
        return [[self.lane.plus(grid.WARP * number)] for number in range(each)]

    def fill(self) -> None:
        """Read the tile of every crossed leaf: lanes walk in order, warps go across, at edges the last once more."""
        at = [(word, self.warp.plus(row)) for row in range(0, self.shape.side, _WARPS) for word in self._words()]
        for first in range(0, len(at), _AT_ONCE):
            some = at[first : first + _AT_ONCE]
            loaded = [self._loaded(word, inner) for word, inner in some]
            for (word, inner), values in zip(some, loaded, strict=True):
                self._keep(word, inner, values)

    def _loaded(self, word: Sequence[Index], inner: Index) -> list[list[Value]]:
        """The elements of a word of every crossed leaf."""
        builder, emission = self.builder, Emission(self.builder)
        counters, (across, _) = list(self.start), self._at(emission, self.across, word)
        ((counters[self.inner],), _) = self._at(emission, self.inner, [inner])
        found = []
        for access in self.found.accesses:
            stored = element.storage_type(access.leaf.array.element_type)
            pointer = arguments(self.found.kernel).inputs[dict(self.found.kernel.leaves)[access.leaf]]
            values = []
            for index in across:
                counters[self.across] = index
                source = builder.gep(stored, pointer, emission.value(access.at(counters)))
                values.append(builder.load(stored, source, align=access.leaf.array.element_type.size_bytes))
            found.append(values)
        return found

    def _keep(self, word: Sequence[Index], inner: Index, values: Sequence[Sequence[Value]]) -> None:
        """Store what was loaded where the tile has it."""
        builder, emission = self.builder, Emission(self.builder)
        for access, buffer, loaded in zip(self.found.accesses, self.buffers, values, strict=True):
            type_ = access.leaf.array.element_type
            line, stored = inner.times(self.shape.pitch(type_.size_bytes)), element.storage_type(type_)
            for index, value in zip(word, loaded, strict=True):
                target = builder.gep(stored, buffer, emission.value(line + index))
                builder.store(value, target, align=type_.size_bytes)

    def store(self) -> None:
        """Compute the tile: lanes walk along the result, warps across it."""
        for row in range(0, self.shape.side, _WARPS):
            across = self.warp.plus(row)
            for word in self._words():
                with self._inside(across, word) as (emission, points):
                    for inner, counters in zip(word, points, strict=True):
                        strided.store_point(self.found, emission, counters, self._found(across, inner, counters))

    def _found(self, across: Index, inner: Index, counters: Sequence[Index]) -> strided.Found:
        """Where the elements of a point have been brought."""
        return {
            (access.leaf, access.at(counters)): (
                buffer,
                inner.times(self.shape.pitch(access.leaf.array.element_type.size_bytes)) + across,
            )
            for access, buffer in zip(self.found.accesses, self.buffers, strict=True)
        }

    def _at(self, emission: Emission, number: int, word: Sequence[Index]) -> tuple[list[Index], Value | None]:
        """The counters of neighbours along a loop, moved inside, and whether they were; None where that is known."""
        builder, count, each, side = self.builder, self.counts[number], len(word), self.shape.side
        tile = self.start[number]
        # In units of a word, so that it shows that words begin at multiples of their elements.
        offset = word[0] if each == 1 else self.lane
        index = emission.value(tile.times(side // each) + offset)
        inside = None
        if count % side:
            inside = builder.compare("slt", index, integer(count // each))
            index = builder.umin(index, integer(count // each - 1))
        first = emission.opaque(index, count // each).times(each)
        return [first.plus(n) for n in range(each)], inside

    @contextmanager
    def _inside(self, across: Index, word: Sequence[Index]) -> Iterator[tuple[Emission, list[list[Index]]]]:
        """Code for elements of the tile, run where they are of the result, with the counters of each."""
        builder, emission = self.builder, Emission(self.builder)
        (down,), is_down = self._at(emission, self.across, [across])
        along, is_along = self._at(emission, self.inner, word)
        points = []
        for index in along:
            counters = list(self.start)
            counters[self.across], counters[self.inner] = down, index
            points.append(counters)
        conditions = [condition for condition in (is_down, is_along) if condition is not None]
        if not conditions:
            yield emission, points
            return
        inside = conditions[0] if len(conditions) == 1 else builder.binary("and", *conditions)
        with builder.when(inside, "inside"):
            yield emission, points
