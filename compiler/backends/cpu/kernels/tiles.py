"""Loop kernels that read something across: transposes, and whatever is fused around them.

Where a leaf lies so that the kernel's innermost loop strides through it while another loop would walk it in order, the
two loops are cut into square tiles.  A tile of the leaf is read in order, row by row, transposed in registers and put
into a small buffer; the kernel's body then runs over the tile and finds its elements there.  So every cache line is
read once and whole.  What is left beside the tiles at the edges runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, parameters
from compiler.backends.cpu.kernels.gemm_pack import transpose
from compiler.codegen import crossing, nest
from compiler.codegen.crossing import Access, Crossing
from compiler.codegen.index import Emission, Index, Variable, constant, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import PTR, Builder, Module, Value, integer, keep_rolled, vector_type
from compiler.codegen.signature import arguments

_SIDE = 16
"""Rows and columns of a tile: a row of 4-byte elements is one cache line."""


def find(module: Module, kernel: Kernel, group: nest.Group) -> Crossing | None:
    """Whether a loop kernel should be tiled, and how."""
    return crossing.find(nest.scratch(module, parameters(kernel)), kernel, group, _SIDE)


def emit(builder: Builder, tiling: Crossing, *, parallel: bool) -> None:
    """Emit the whole kernel's loops."""
    _Tiled(builder, tiling).emit(parallel=parallel)


class _Tiled:
    """The loops of a tiled kernel; counters are one index per loop of the group."""

    def __init__(self, builder: Builder, tiling: Crossing) -> None:
        self.builder = builder
        self.tiling = tiling
        self.counts = tiling.group.loops
        self.across, self.inner = tiling.loop, len(self.counts) - 1
        # Bits are moved, not numbers, so that parts of complex ones stay together.
        types = [f"i{8 * access.leaf.array.element_type.size_bytes}" for access in tiling.accesses]
        self.buffers = [builder.emit(PTR, f"alloca [{_SIDE * _SIDE} x {type_}], align 64") for type_ in types]

    def emit(self, *, parallel: bool) -> None:
        """Loops outside, tiles of the two, then what is left at the edges."""
        outer = [n for n in range(len(self.counts)) if n not in (self.across, self.inner)]
        rows, columns = self.counts[self.across], self.counts[self.inner]
        strips = -(-rows // _SIDE)
        units = strips
        for number in outer:
            units *= self.counts[number]
        builder = self.builder
        part = nest.share(builder, units, THREAD, THREADS) if parallel else nest.all_of(units)
        with builder.loop(part.start, part.stop, name="strip") as loop:
            emission = Emission(builder)
            counters = self._unit(emission, loop.index, outer, strips, units)
            whole_strip = rows // _SIDE
            first = counters[self.across]
            if rows % _SIDE == 0:
                self._strip(counters, first, columns)
            else:
                row = emission.value(first)
                is_whole = builder.compare("sle", row, integer((whole_strip - 1) * _SIDE))
                if whole_strip:
                    with builder.when(is_whole, "whole"):
                        self._strip(counters, first, columns)
                is_last = builder.compare("sgt", row, integer((whole_strip - 1) * _SIDE))
                with builder.when(is_last, "last"):
                    self._plain(counters, first, (rows % _SIDE, constant(0), columns))

    def _unit(self, emission: Emission, index: Value, outer: Sequence[int], strips: int, units: int) -> list[Index]:
        """The loop counters at the start of a strip."""
        counters = [constant(0)] * len(self.counts)
        rest, strip = emission.divide(whole(Variable(index, units)), strips)
        counters[self.across] = emission.opaque(emission.value(strip), strips).times(_SIDE)
        for number in reversed(outer):
            rest, counter = emission.divide(rest, self.counts[number])
            counters[number] = emission.opaque(emission.value(counter), self.counts[number])
        return counters

    def _strip(self, counters: list[Index], first: Index, columns: int) -> None:
        """Rows of one tile's height: whole tiles, then the columns beside them."""
        builder, tiles = self.builder, columns // _SIDE
        with builder.loop(integer(0), integer(tiles), name="tile", nonempty=True) as tile:
            start = whole(Variable(tile.index, tiles)).times(_SIDE)
            emission = Emission(builder)
            for access, buffer in zip(self.tiling.accesses, self.buffers, strict=True):
                self._fill(emission, access, buffer, self._with(counters, first, start))
            self._each(_SIDE, _SIDE, lambda row, column: self._element(counters, first, start, row, column))
        if columns % _SIDE:
            self._plain(counters, first, (_SIDE, constant(tiles * _SIDE), columns % _SIDE))

    def _plain(self, counters: list[Index], first: Index, extent: tuple[int, Index, int]) -> None:
        """The body as it is, over some rows from `first` and columns from a start."""
        height, start, width = extent

        def element_at(row: Index, column: Index) -> None:
            emission = Emission(self.builder)
            at = self._at(emission, counters, first + row, start + column)
            crossing.store_point(self.tiling, emission, at, {})

        self._each(height, width, element_at)

    def _each(self, height: int, width: int, body: Callable[[Index, Index], None]) -> None:
        builder = self.builder
        with (
            builder.loop(
                integer(0), integer(height), name="row", nonempty=True, metadata=keep_rolled(builder.module)
            ) as row,
            builder.loop(integer(0), integer(width), name="column", nonempty=True) as column,
        ):
            body(whole(Variable(row.index, height)), whole(Variable(column.index, width)))

    def _element(self, counters: list[Index], first: Index, start: Index, row: Index, column: Index) -> None:
        emission = Emission(self.builder)
        at = self._at(emission, counters, first + row, start + column)
        place = row.times(_SIDE) + column
        found = {
            (access.leaf, access.at(at)): (buffer, place)
            for access, buffer in zip(self.tiling.accesses, self.buffers, strict=True)
        }
        crossing.store_point(self.tiling, emission, at, found)

    def _at(self, emission: Emission, counters: list[Index], across: Index, inner: Index) -> list[Index]:
        """The loop counters at a point, each one variable again, so that its digits are exact."""
        counts = self.counts[self.across], self.counts[self.inner]
        whole_again = [
            emission.opaque(emission.value(index), count) for index, count in zip((across, inner), counts, strict=True)
        ]
        return self._with(counters, *whole_again)

    def _with(self, counters: list[Index], across: Index, inner: Index) -> list[Index]:
        result = list(counters)
        result[self.across], result[self.inner] = across, inner
        return result

    def _fill(self, emission: Emission, access: Access, buffer: Value, counters: Sequence[Index]) -> None:
        """Read a tile of a leaf in order and lay it into the buffer the way the body walks."""
        builder = self.builder
        size = access.leaf.array.element_type.size_bytes
        type_ = f"i{8 * size}"
        number = dict(self.tiling.kernel.leaves)[access.leaf]
        pointer = arguments(self.tiling.kernel).inputs[number]
        base = builder.gep(type_, pointer, emission.value(access.at(counters)))
        vector = vector_type(type_, _SIDE)
        rows = [
            builder.load(vector, builder.gep(type_, base, integer(row * access.factors[self.inner])), align=size)
            for row in range(_SIDE)
        ]
        for row, values in enumerate(transpose(builder, rows)):
            builder.store(values, builder.gep(type_, buffer, integer(row * _SIDE)), align=size * _SIDE)
