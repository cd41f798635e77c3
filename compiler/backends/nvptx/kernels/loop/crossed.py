"""Loop kernels that read something across: transposes, and whatever is fused around them, through shared memory.

A block makes a tile of 32 by 32 elements.  First its warps read the tile's rows of every leaf that lies across, in
order; behind a barrier they run the kernel's body along the other dimension and find those elements in shared memory.
Its rows are a little longer than the tile, so that a column's elements lie in different banks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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

_SIDE = grid.WARP
_WARPS = 8
"""Warps of a block, which take the lines of a tile one behind the other: 256 threads."""
_BANK_BYTES = 4
"""Bytes of a bank of shared memory in a line (CUDA C++ Programming Guide, "Shared Memory")."""
_LONG_BODY = 64
"""Instructions beyond which threads have no registers left for several elements."""
_MOST_SHARED_BYTES = 32 * 1024
"""Bytes of shared memory of a block: seven blocks fit on a multiprocessor with 228 KiB."""


def decide(given: Given) -> Plan | Declined:
    """The plan of tiles where something is read across."""
    found = _strided_reads(given)
    if isinstance(found, Declined):
        return found
    read = [access.leaf.name for access in found.accesses]
    return planned(lambda module: (_emit(module, found),), details={"tile": [_SIDE, _SIDE], "read_across": read})


def _strided_reads(given: Given) -> StridedReads | Declined:
    """What a loop kernel reads across, or why tiles do not pay for it."""
    kernel = given.kernel
    dims = kernel.outputs[0].dims
    roots_alike = all(isinstance(root.shape, ArrayShape) and root.array.dims == dims for root in kernel.roots)
    if not roots_alike or sum(1 for _ in kernel.body()) > _LONG_BODY:
        return Declined(f"results differ in dimensions, or take more than {_LONG_BODY} instructions")
    group = nest.LoopNest(kernel.outputs[0].size, tuple(dims))
    found = strided.find(nest.scratch(given.scratch, parameters(kernel)), kernel, group, _SIDE)
    if found is None:
        return Declined("nothing is read across its innermost dimension that another one would read in order")
    sizes = [access.leaf.array.element_type.size_bytes for access in found.accesses]
    shared_bytes = sum(size * _SIDE * _pitch(size) for size in sizes)
    return found if shared_bytes <= _MOST_SHARED_BYTES else Declined(f"tiles would take {shared_bytes} bytes to share")


def _emit(module: Module, found: StridedReads) -> Launch:
    threads = _SIDE * _WARPS
    builder = grid.begin(module, found.kernel, threads)
    tile = _Tile(builder, found)
    tile.fill()
    grid.barrier(builder)
    tile.store()
    builder.ret()
    return Launch(builder.function.name, tile.blocks, threads)


def _pitch(size_bytes: int) -> int:
    """Elements from one line of a tile to the next: an odd number of banks, so that a column lies in all of them."""
    return _SIDE + max(1, _BANK_BYTES // size_bytes)


class _Tile:
    """One block's tile: where it starts in every loop, and its buffers."""

    def __init__(self, builder: Builder, found: StridedReads) -> None:
        self.builder = builder
        self.found = found
        self.counts = found.group.loops
        self.across, self.inner = found.loop, len(self.counts) - 1
        emission = Emission(builder)
        tiles = [
            -(-count // _SIDE) if number in (self.across, self.inner) else count
            for number, count in enumerate(self.counts)
        ]
        self.blocks = 1
        for count in tiles:
            self.blocks *= count
        rest = emission.opaque(grid.block(builder), self.blocks)
        self.start: list[Index] = []
        for number in reversed(range(len(tiles))):
            rest, index = emission.divide(rest, tiles[number])
            start = emission.opaque(emission.value(index), tiles[number])
            self.start.insert(0, start.times(_SIDE) if number in (self.across, self.inner) else start)
        thread = grid.thread(builder)
        self.lane = emission.opaque(builder.binary("and", thread, integer(_SIDE - 1)), _SIDE)
        self.warp = emission.opaque(builder.binary("lshr", thread, integer(5)), _WARPS)
        name = f"tile.{found.kernel.name}"
        self.buffers = [
            grid.shared_array(
                builder,
                f"{name}.{number}",
                access.leaf.array.element_type,
                _SIDE * _pitch(access.leaf.array.element_type.size_bytes),
            )
            for number, access in enumerate(found.accesses)
        ]

    def fill(self) -> None:
        """Read the tile of every crossed leaf: lanes walk in order, warps go across."""
        builder = self.builder
        for row in range(0, _SIDE, _WARPS):
            inner = self.warp.plus(row)
            with self._inside(self.lane, inner) as (emission, counters):
                for access, buffer in zip(self.found.accesses, self.buffers, strict=True):
                    stored = element.storage_type(access.leaf.array.element_type)
                    pointer = arguments(self.found.kernel).inputs[dict(self.found.kernel.leaves)[access.leaf]]
                    source = builder.gep(stored, pointer, emission.value(access.at(counters)))
                    size = access.leaf.array.element_type.size_bytes
                    position = emission.value(inner.times(_pitch(size)) + self.lane)
                    builder.store(
                        builder.load(stored, source, align=size), builder.gep(stored, buffer, position), align=size
                    )

    def store(self) -> None:
        """Compute the tile: lanes walk along the result, warps across it."""
        for row in range(0, _SIDE, _WARPS):
            across = self.warp.plus(row)
            with self._inside(across, self.lane) as (emission, counters):
                found = {
                    (access.leaf, access.at(counters)): (
                        buffer,
                        self.lane.times(_pitch(access.leaf.array.element_type.size_bytes)) + across,
                    )
                    for access, buffer in zip(self.found.accesses, self.buffers, strict=True)
                }
                strided.store_point(self.found, emission, counters, found)

    @contextmanager
    def _inside(self, across: Index, inner: Index) -> Iterator[tuple[Emission, Sequence[Index]]]:
        """Code for an element of the tile, run where the element is one of the result."""
        builder, emission = self.builder, Emission(self.builder)
        counters = list(self.start)
        inside: Value | None = None
        for number, offset in ((self.across, across), (self.inner, inner)):
            index = self.start[number] + offset
            value = emission.value(index)
            if self.counts[number] % _SIDE:
                below = builder.compare("slt", value, integer(self.counts[number]))
                inside = below if inside is None else builder.binary("and", inside, below)
            counters[number] = emission.opaque(value, self.counts[number])
        if inside is None:
            yield emission, counters
            return
        with builder.when(inside, "inside"):
            yield emission, counters
